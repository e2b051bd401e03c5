#include "microbench/front/front.hpp"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <exception>
#include <iostream>
#include <memory>

namespace roofcast {
namespace {

constexpr int kIterations = 50;
constexpr double kIterationSeconds = 1e-3;
constexpr std::size_t kSlabBytes = std::size_t{1} << 30;

/// Nodes of all iterations follow each other, so that windows rotate on.
struct Running {
  CpuBench bench;
  std::size_t next = 0;
  std::size_t nodes = 1;
};

void run_iterations(benchmark::State& state, CpuEnvironment& environment, Running& running) {
  const double pilot = seconds_per_node(environment.pool, running.next++, 1, running.bench.work);
  running.nodes =
      std::max<std::size_t>(1, static_cast<std::size_t>(kIterationSeconds / std::max(pilot, 1e-7)));
  for ([[maybe_unused]] auto _ : state) {
    state.SetIterationTime(
        seconds_per_node(environment.pool, running.next, running.nodes, running.bench.work));
    running.next += running.nodes;
  }
  using benchmark::Counter;
  const auto rate = [](double amount) {
    return Counter(amount, Counter::kIsIterationInvariantRate, Counter::OneK::kIs1000);
  };
  if (running.bench.bytes > 0.0) state.counters["B/s"] = rate(running.bench.bytes);
  if (running.bench.flops > 0.0) state.counters["FLOP/s"] = rate(running.bench.flops);
  state.counters["nodes"] = static_cast<double>(running.nodes);
}

}  // namespace

int run_front(int argc, char** argv, const MakeBenches& make) try {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  CpuEnvironment environment(0, std::nullopt, kSlabBytes);
  for (CpuBench& bench : make(environment)) {
    const auto running = std::make_shared<Running>();
    running->bench = std::move(bench);
    const std::string name = running->bench.benchmark + " " + running->bench.label;
    benchmark::RegisterBenchmark(name.c_str(),
                                 [&environment, running](benchmark::State& state) {
                                   run_iterations(state, environment, *running);
                                 })
        ->UseManualTime()
        ->Iterations(kIterations)
        ->Unit(benchmark::kMicrosecond);
  }
  const Reference reference = environment.look();
  benchmark::AddCustomContext("reference read B/s", std::to_string(reference.read_bandwidth));
  benchmark::AddCustomContext("reference dot FLOP/s", std::to_string(reference.dot_rate));
  benchmark::RunSpecifiedBenchmarks();
  return 0;
} catch (const std::exception& error) {
  std::cerr << error.what() << '\n';
  return 4;
}

}  // namespace roofcast
