#include "microbench/cpu_write/cpu_write.hpp"
#include "microbench/front/front.hpp"

int main(int argc, char** argv) {
  return roofcast::run_front(argc, argv, [](roofcast::CpuEnvironment& environment) {
    std::vector<roofcast::CpuBench> benches;
    for (double bytes = 262144.0; bytes <= 268435456.0; bytes *= 4.0) {
      benches.push_back(roofcast::write_bench(environment, bytes));
      benches.push_back(roofcast::streaming_write_bench(environment, bytes));
      benches.push_back(roofcast::copy_bench(environment, bytes));
      benches.push_back(roofcast::streaming_copy_bench(environment, bytes));
    }
    return benches;
  });
}
