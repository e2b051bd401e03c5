#include "microbench/cpu_read/cpu_read.hpp"
#include "microbench/front/front.hpp"

int main(int argc, char** argv) {
  return roofcast::run_front(argc, argv, [](roofcast::CpuEnvironment& environment) {
    std::vector<roofcast::CpuBench> benches;
    for (double bytes = 262144.0; bytes <= 1073741824.0; bytes *= 2.0) {
      benches.push_back(roofcast::cold_read_bench(environment, bytes));
      benches.push_back(roofcast::hot_read_bench(environment, bytes));
    }
    return benches;
  });
}
