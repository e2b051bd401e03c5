#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hardware/src/primitive.hpp"
#include "model/base/document.hpp"
#include "model/base/quantity.hpp"

namespace roofcast {

/// Default constants of one primitive: attainable shares of the data sheet's peaks, and the times
/// of its named linear terms (see `Ceiling`). `origin` tells where the row comes from.
struct PrimitiveDefaults {
  double bandwidth = 1.0;
  std::optional<double> bandwidth_fp8;  // where operands of one byte or less differ
  double flops = 1.0;
  std::optional<double> flops_fp8;
  std::optional<double> low, high;  // quantiles, where they differ from the generation's
  std::optional<double> low_fp8, high_fp8;
  Seconds c_k, c1, c2, c_mla;
  double io_bandwidth = 1.0;
  std::string origin;
};

/// min(a1 + b1 (n - 1) + S (n - 1) / w1, a2 + b2 (n - 1) + 2 S (n - 1) / n / w2) for an all-reduce
/// of S bytes over n devices; w1 and w2 as shares of the link's bandwidth in one direction.
struct AllReduceDefaults {
  Seconds a1, b1;
  double w1 = 1.0;
  Seconds a2, b2;
  double w2 = 1.0;
  std::string origin;
};

/// An architecture generation: what to assume of a machine that nobody calibrated.
struct Generation {
  std::string name;
  std::string title;
  std::array<PrimitiveDefaults, kPrimitives> primitives;
  Seconds launch_stream;              // smallest time of one kernel launched on a stream
  Seconds launch_graph;               // the same as a node of a graph
  AllReduceDefaults all_reduce_node;  // over the node link
  AllReduceDefaults all_reduce_host;  // over the host link
  double low = 1.0;                   // 10 % and 90 % quantiles of measured / predicted time
  double high = 1.0;
};

/// Reads a generations file. A generation that is `like` another takes from it what it doesn't
/// list, labelled "assumed as ...". Throws SpecError, for circles too.
std::vector<Generation> read_generations(const Document& document);

/// The shipped generations, or those of $ROOFCAST_DATA/hardware/generations.yaml.
std::vector<Generation> load_generations();

std::vector<std::string> generation_names(const std::vector<Generation>& generations);

}  // namespace roofcast
