#include "microbench/cpu_state/cpu_state.hpp"
#include "microbench/front/front.hpp"

int main(int argc, char** argv) {
  return roofcast::run_front(argc, argv, [](roofcast::CpuEnvironment& environment) {
    using roofcast::StateFormat;
    using roofcast::StateRule;
    std::vector<roofcast::CpuBench> benches;
    for (const int sequences : {1, 4, 16}) {
      for (const StateFormat format : {StateFormat::fp32, StateFormat::bf16}) {
        benches.push_back(roofcast::state_bench(
            environment, {sequences, 32, 16, 128, 128, StateRule::delta, format}));
        benches.push_back(roofcast::state_bench(
            environment, {sequences, 64, 8, 128, 64, StateRule::linear, format}));
      }
      benches.push_back(roofcast::convolution_bench(environment, {sequences, 8192, 4}));
    }
    return benches;
  });
}
