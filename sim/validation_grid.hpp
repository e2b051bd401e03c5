#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/architecture/architecture_spec.hpp"

namespace roofcast {

/// One decode step of the grid.
struct GridPoint {
  std::int64_t batch = 1;
  std::int64_t context = 0;
  bool operator==(const GridPoint&) const = default;
};

/// A small model made for validation, and the steps that are measured of it.
struct GridCase {
  std::string_view name;
  std::string_view spec;  // YAML of an architecture, without schema and name
  std::span<const GridPoint> points;
};

/// What `validate` measures when no model is named: one row per kind of attention, feed-forward and
/// format that the reference engine runs. Weights and caches come from memory, as those of large
/// models do, and no shape is one that calibration uses.
std::span<const GridCase> validation_grid();

/// The case's architecture. Throws SpecError for a row that is none.
ArchitectureSpec grid_spec(const GridCase& row);

/// Bytes of weights, and of the largest cache and state of any of its points.
struct GridMemory {
  double weights = 0.0;
  double cache = 0.0;
  double total() const { return weights + cache; }
};
GridMemory grid_memory(const ArchitectureSpec& spec, std::span<const GridPoint> points);

}  // namespace roofcast
