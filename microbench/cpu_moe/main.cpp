#include "microbench/cpu_moe/cpu_moe.hpp"
#include "microbench/front/front.hpp"

int main(int argc, char** argv) {
  return roofcast::run_front(argc, argv, [](roofcast::CpuEnvironment& environment) {
    std::vector<roofcast::CpuBench> benches;
    for (const auto& [experts, per_token] : {std::pair{8, 2}, {64, 8}})
      for (const int batch : {1, 4, 16, 64})
        benches.push_back(roofcast::moe_bench(environment, {experts, per_token, 1024, 512, batch}));
    return benches;
  });
}
