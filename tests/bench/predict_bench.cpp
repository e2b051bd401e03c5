#include <benchmark/benchmark.h>

#include "hardware/src/machine.hpp"
#include "model/architecture/architecture_yaml.hpp"
#include "model/architecture/catalogue.hpp"
#include "sim/make_cost_model.hpp"
#include "sim/step_estimate.hpp"

namespace {

using namespace roofcast;

/// Full step predictions per second of one core: operators of every layer class, their costs,
/// shares and range. Batch and context change from call to call, as in a sweep.
void predict_decode(benchmark::State& state, const char* model, const char* hardware) {
  const ArchitectureSpec spec = read_architecture(find_architecture(model));
  const CostModel cost_model =
      make_cost_model(load_hardware(hardware), read_engine(find_engine("reference")));
  OperatorList scratch;
  Workload load;
  std::int64_t step = 0;
  for (auto _ : state) {
    load.batch = 1 + step % 64;
    load.context = 1024 + 16 * (step % 1024);
    ++step;
    benchmark::DoNotOptimize(estimate_decode(spec, load, cost_model, scratch).step.seconds);
  }
  state.SetItemsProcessed(state.iterations());
}

BENCHMARK_CAPTURE(predict_decode, dense_llama_70b, "llama-3.1-70b", "h100-sxm");
BENCHMARK_CAPTURE(predict_decode, moe_deepseek_v3, "deepseek-v3", "h100-sxm");

/// What `predict` does before the first estimate: finds, parses and checks its three files.
void read_inputs(benchmark::State& state, const char* model, const char* hardware) {
  for (auto _ : state) {
    benchmark::DoNotOptimize(read_architecture(find_architecture(model)));
    benchmark::DoNotOptimize(
        make_cost_model(load_hardware(hardware), read_engine(find_engine("reference"))));
  }
}
BENCHMARK_CAPTURE(read_inputs, llama_70b_h100, "llama-3.1-70b", "h100-sxm")
    ->Unit(benchmark::kMillisecond);

}  // namespace
