#include "microbench/cpu_mla/cpu_mla.hpp"
#include "microbench/front/front.hpp"

int main(int argc, char** argv) {
  return roofcast::run_front(argc, argv, [](roofcast::CpuEnvironment& environment) {
    std::vector<roofcast::CpuBench> benches;
    for (const int heads : {16, 40, 128})
      for (const int sequences : {1, 8})
        for (const int context : {256, 1024, 4096})
          benches.push_back(roofcast::mla_bench(environment, {sequences, heads, 512, 64, context}));
    return benches;
  });
}
