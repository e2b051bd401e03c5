#include "sim/cli/sweep_grid.hpp"

#include <fmt/format.h>

#include "model/base/error.hpp"
#include "sim/cli/command_line.hpp"
#include "sim/cli/inputs.hpp"
#include "sim/make_cost_model.hpp"
#include "sim/memory_need.hpp"
#include "sim/report/prediction_report.hpp"
#include "sim/tensor_parallel.hpp"

namespace roofcast {
namespace {

/// Values of an optional axis of names; one empty name when it is not given.
std::vector<std::string> optional_names(const Options& options, const std::string& name) {
  return options.has(name) ? options.names(name) : std::vector<std::string>{""};
}

void add_models(const Options& options, const std::vector<Override>& overrides, SweepGrid& grid) {
  for (const std::string& name : options.names("model")) {
    const ModelInput input = load_model(name, overrides);
    for (const std::string& weights : optional_names(options, "weight-format")) {
      for (const std::string& kv : optional_names(options, "kv-format")) {
        SweepModel model{.spec = input.spec};
        apply_formats({weights, kv}, model.spec);
        model.weight_format = weights.empty() ? weight_format_text(model.spec) : weights;
        model.kv_format = kv.empty() ? kv_format_text(model.spec) : kv;
        grid.models.push_back(std::move(model));
      }
    }
  }
}

void add_machines(const Options& options, const std::vector<Override>& overrides,
                  const std::vector<std::int64_t>& ranks, SweepGrid& grid) {
  for (const std::string& name : options.names("hardware")) {
    const HardwareInput hardware = load_hardware_input(name, overrides);
    for (const std::string& engine_name : options.names("engine")) {
      const EngineInput engine = load_engine(engine_name, overrides);
      for (const std::int64_t tp : ranks) {
        SweepMachine machine{.name = hardware.name,
                             .engine = engine.profile.name,
                             .tp = static_cast<int>(tp),
                             .capacity = hardware.machine.spec.memory.front().usable().value};
        try {
          machine.cost_model = make_cost_model(hardware.machine, engine.profile, machine.tp);
        } catch (const UnsupportedError& error) {
          machine.problem = error.what();
        }
        grid.machines.push_back(std::move(machine));
      }
    }
  }
}

std::string problem_of(const SweepModel& model, const SweepMachine& machine) {
  if (!machine.problem.empty()) return machine.problem;
  return tensor_parallel_problem(model.spec, machine.tp).empty() ? ""
                                                                 : "tp does not divide the heads";
}

SweepCombination combination(const SweepGrid& grid, std::size_t model, std::size_t machine) {
  SweepCombination result{.model = model,
                          .machine = machine,
                          .problem = problem_of(grid.models[model], grid.machines[machine])};
  if (result.problem.empty())
    result.resident_bytes =
        resident_bytes_per_rank(grid.models[model].spec, grid.machines[machine].tp);
  return result;
}

/// Models come in runs of one per pair of formats, machines in runs of one per number of ranks: in
/// the order of output the formats stand between machine and ranks.
void add_combinations(std::size_t formats, std::size_t ranks, SweepGrid& grid) {
  for (std::size_t first = 0; first < grid.models.size(); first += formats)
    for (std::size_t devices = 0; devices < grid.machines.size(); devices += ranks)
      for (std::size_t model = first; model < first + formats; ++model)
        for (std::size_t machine = devices; machine < devices + ranks; ++machine)
          grid.combinations.push_back(combination(grid, model, machine));
}

}  // namespace

std::vector<OptionRow> sweep_axes() {
  return {{"model", "LIST", "models: catalogue names or paths, separated by commas"},
          {"hardware", "LIST", "machines: catalogue names or paths"},
          {"engine", "LIST", "engine profiles", "reference"},
          {"batch", "LIST", "sequences: 1,2,8 or 1..64 (doubling), 1..99:x3, 1..64:+1", "1"},
          {"context", "LIST", "cached tokens, likewise; k = 1000, Ki = 1024: 1Ki..128Ki", "4096"},
          {"tp", "LIST", "tensor-parallel ranks, likewise", "1"},
          {"weight-format", "LIST", "formats of attention, feed-forward and expert matrices"},
          {"kv-format", "LIST", "formats of the KV cache, or K/V for one each"},
          {"set", "KEY=VALUE", "overrides a field of every model, machine or engine", "", true}};
}

SweepGrid read_sweep_grid(const Options& options) {
  const std::vector<Override> overrides = parse_overrides(options.all("set"));
  SweepGrid grid;
  grid.batches = options.integers("batch", 1, kLargestBatch);
  grid.contexts = options.integers("context", 0, kLargestContext);
  const std::vector<std::int64_t> ranks = options.integers("tp", 1, kLargestTp);
  const std::size_t formats =
      optional_names(options, "weight-format").size() * optional_names(options, "kv-format").size();
  // Before anything is loaded: the grid itself grows with the product of its lists.
  double points = static_cast<double>(formats) * static_cast<double>(ranks.size()) *
                  static_cast<double>(grid.batches.size()) *
                  static_cast<double>(grid.contexts.size());
  for (const char* axis : {"model", "hardware", "engine"})
    points *= static_cast<double>(options.names(axis).size());
  if (points > static_cast<double>(kMaxSweepPoints))
    throw UsageError(fmt::format("sweep: expected at most {} points, got {:.3g}: use larger steps",
                                 kMaxSweepPoints, points));
  add_models(options, overrides, grid);
  add_machines(options, overrides, ranks, grid);
  add_combinations(formats, ranks.size(), grid);
  return grid;
}

SweepPoint point_at(const SweepGrid& grid, std::uint64_t index) {
  const std::size_t contexts = grid.contexts.size();
  const std::size_t batches = grid.batches.size();
  const SweepCombination& combination =
      grid.combinations[static_cast<std::size_t>(index / (batches * contexts))];
  const SweepMachine& machine = grid.machines[combination.machine];
  return {.model = grid.models[combination.model],
          .machine = machine,
          .combination = combination,
          .load = {.batch = grid.batches[static_cast<std::size_t>(index / contexts % batches)],
                   .context = grid.contexts[static_cast<std::size_t>(index % contexts)],
                   .output_tokens = 1,
                   .tp = machine.tp}};
}

}  // namespace roofcast
