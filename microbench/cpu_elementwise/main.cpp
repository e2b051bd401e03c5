#include "microbench/cpu_elementwise/cpu_elementwise.hpp"
#include "microbench/front/front.hpp"

int main(int argc, char** argv) {
  return roofcast::run_front(argc, argv, [](roofcast::CpuEnvironment& environment) {
    std::vector<roofcast::CpuBench> benches;
    for (const int batch : {1, 8, 64}) {
      for (const int width : {1024, 4096, 16384}) {
        benches.push_back(roofcast::norm_bench(environment, batch, width));
        benches.push_back(roofcast::activation_bench(environment, batch, width));
        benches.push_back(roofcast::rotary_bench(environment, batch, width / 128, 128));
      }
    }
    return benches;
  });
}
