#include "microbench/cpu_gemm/cpu_gemm.hpp"
#include "microbench/front/front.hpp"

int main(int argc, char** argv) {
  return roofcast::run_front(argc, argv, [](roofcast::CpuEnvironment& environment) {
    std::vector<roofcast::CpuBench> benches;
    for (const char* name : {"bf16", "fp32", "fp8_e4m3", "int8", "q8_0", "int4_g128", "q4_0"}) {
      const roofcast::WeightFormat format = roofcast::find_weight_format(name).value();
      for (const auto& [n, k] : {std::pair{1024, 1024}, {4096, 4096}, {32768, 1536}})
        for (const int batch : {1, 2, 4, 8, 16, 32, 64})
          benches.push_back(roofcast::gemm_bench(environment, {n, k, batch, format}));
    }
    return benches;
  });
}
