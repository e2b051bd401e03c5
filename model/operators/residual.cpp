#include "model/operators/residual.hpp"

#include <cmath>

#include "model/architecture/architecture_spec.hpp"
#include "model/operators/operator_builder.hpp"

namespace roofcast {
namespace {

constexpr double kFp32Bytes = 4.0;

/// Mean over layers of the representations that a layer's blocks attend to: the embedding, one for
/// each group of layers before, and the running sum.
double mean_residual_sources(const ArchitectureSpec& spec) {
  const auto layers = static_cast<double>(spec.layers.size());
  const auto group = static_cast<double>(spec.attention_residual_block);
  const double groups = std::floor(layers / group);
  const double rest = layers - groups * group;
  const double groups_before = group * groups * (groups - 1.0) / 2.0 + rest * groups;
  return groups_before / layers + 2.0;
}

void append_weighted_sum(double sources, OperatorBuilder& b) {
  Operator& op = b.elementwise("attention_residual", b.tokens() * b.hidden_dim() * (sources + 1.0));
  op.bytes.weights = {2.0 * b.hidden_dim() * b.activation_bytes()};
}

void append_stream_mix(double weights, double streams, OperatorBuilder& b) {
  Operator& op =
      b.gemm("hyper_connection_proj", Component::activations, weights, streams * b.hidden_dim());
  op.bytes.weights = {(weights * streams * b.hidden_dim() + weights) * kFp32Bytes};
}

}  // namespace

ResidualParameters residual_parameters(const ArchitectureSpec& spec) {
  const auto hidden = static_cast<double>(spec.hidden_dim);
  if (spec.hyper_streams > 0) {
    const auto n = static_cast<double>(spec.hyper_streams);
    const double mixing = 2.0 * n + n * n;
    return {mixing * (n * hidden + 1.0) + 3.0, n * (n * hidden + 1.0) + 1.0, kFp32Bytes};
  }
  if (spec.attention_residual_block > 0)
    return {2.0 * hidden, 2.0 * hidden, spec.formats[Component::activations].bytes_per_element()};
  return {};
}

void append_residual(const ArchitectureSpec& spec, OperatorBuilder& b) {
  if (spec.hyper_streams > 0) {
    const auto n = static_cast<double>(spec.hyper_streams);
    append_stream_mix(2.0 * n + n * n, n, b);
    // Writes the mixed input, reads the block's output, reads and writes all streams.
    b.elementwise("hyper_connection_mix", b.tokens() * b.hidden_dim() * (2.0 * n + 2.0));
  }
  if (spec.attention_residual_block > 0) append_weighted_sum(mean_residual_sources(spec), b);
}

void append_final_residual(const ArchitectureSpec& spec, OperatorBuilder& b) {
  if (spec.hyper_streams > 0) {
    const auto n = static_cast<double>(spec.hyper_streams);
    append_stream_mix(n, n, b);
    b.elementwise("hyper_connection_mix", b.tokens() * b.hidden_dim());
  }
  if (spec.attention_residual_block > 0) {
    const auto layers_before = static_cast<double>(spec.layers.size()) - 1.0;
    const auto group = static_cast<double>(spec.attention_residual_block);
    append_weighted_sum(std::floor(layers_before / group) + 2.0, b);
  }
}

}  // namespace roofcast
