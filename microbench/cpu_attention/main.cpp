#include "microbench/cpu_attention/cpu_attention.hpp"
#include "microbench/front/front.hpp"

int main(int argc, char** argv) {
  return roofcast::run_front(argc, argv, [](roofcast::CpuEnvironment& environment) {
    std::vector<roofcast::CpuBench> benches;
    using roofcast::KvCode;
    for (const KvCode code : {KvCode::bf16, KvCode::fp8_e4m3, KvCode::int8})
      for (const int n_kv_heads : {16, 8, 4, 2})
        for (const int sequences : {1, 8})
          for (const int context : {256, 1024, 4096, 16384})
            benches.push_back(roofcast::attention_bench(
                environment, {sequences, 16, n_kv_heads, 128, context, code}));
    for (const KvCode code : {KvCode::bf16, KvCode::fp8_e4m3, KvCode::int8})
      for (const int page_tokens : {16, 64, 256})
        benches.push_back(
            roofcast::attention_bench(environment, {8, 16, 8, 128, 4096, code, page_tokens}));
    return benches;
  });
}
