#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hardware/src/machine.hpp"
#include "model/architecture/architecture_spec.hpp"
#include "sim/cli/options.hpp"
#include "sim/cost_model.hpp"
#include "sim/workload.hpp"

namespace roofcast {

/// A model in one pair of formats, with what its points share.
struct SweepModel {
  ArchitectureSpec spec;
  std::string weight_format = {};
  std::string kv_format = {};
};

/// A number of devices of a machine under one engine.
struct SweepMachine {
  std::string name;
  std::string engine;
  int tp = 1;
  double capacity = 0.0;  // bytes per device
  CostModel cost_model = {};
  std::string problem = {};  // why so many devices cannot work together; empty when they can
};

/// What stays the same over batch and context.
struct SweepCombination {
  std::size_t model = 0;
  std::size_t machine = 0;
  double resident_bytes = 0.0;  // of weights, per rank
  std::string problem = {};     // why these ranks cannot run this model; empty when they can
};

/// The cross product of all axes. Points are numbered in the order of output: model, machine,
/// engine, weight format, KV format, ranks, batch, context, the last one fastest.
struct SweepGrid {
  std::vector<SweepModel> models;
  std::vector<SweepMachine> machines;
  std::vector<SweepCombination> combinations;
  std::vector<std::int64_t> batches;
  std::vector<std::int64_t> contexts;

  std::uint64_t size() const {
    return std::uint64_t{combinations.size()} * batches.size() * contexts.size();
  }
};

/// Larger sweeps are refused as typing errors.
inline constexpr std::uint64_t kMaxSweepPoints = 1'000'000'000;

/// Options that are axes.
std::vector<OptionRow> sweep_axes();

/// Reads the axes and prepares everything that points share. Throws UsageError, SpecError, IoError.
SweepGrid read_sweep_grid(const Options& options);

/// One point of the grid.
struct SweepPoint {
  const SweepModel& model;
  const SweepMachine& machine;
  const SweepCombination& combination;
  Workload load;
};
SweepPoint point_at(const SweepGrid& grid, std::uint64_t index);

}  // namespace roofcast
