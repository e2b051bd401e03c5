#include "model/attention/recurrence.hpp"

namespace roofcast {

void append_recurrence(std::string_view name, const RecurrenceWork& w, OperatorBuilder& b) {
  const StepShape& step = b.step();
  Operator& op = b.append(name, OperatorKind::state);
  op.shape.sequences = step.sequences;
  op.shape.m = b.tokens();
  op.shape.heads = w.heads;
  op.format = b.formats()[Component::state].format;
  op.flops = {b.tokens() * (step.is_decode() ? w.decode_flops : w.chunk_flops)};
  op.bytes.weights = {w.parameters * b.activation_bytes()};
  op.bytes.state = {2.0 * step.sequences * w.state_elements *
                    b.formats()[Component::state].bytes_per_element()};
  double elements = b.tokens() * w.io_elements;
  if (!step.is_decode() && w.chunk > 0.0) elements += 2.0 * b.tokens() / w.chunk * w.state_elements;
  op.bytes.activations = {elements * b.activation_bytes()};
}

void append_short_convolution(std::string_view name, double channels, double kernel, double taps,
                              OperatorBuilder& b) {
  Operator& op = b.append(name, OperatorKind::state);
  op.shape.sequences = b.step().sequences;
  op.shape.m = b.tokens();
  op.format = b.formats()[Component::conv_state].format;
  op.flops = {2.0 * b.tokens() * channels * kernel};
  op.bytes.weights = {taps * b.activation_bytes()};
  op.bytes.state = {2.0 * b.step().sequences * convolution_state(channels, kernel) *
                    b.formats()[Component::conv_state].bytes_per_element()};
  op.bytes.activations = {2.0 * b.tokens() * channels * b.activation_bytes()};
}

double delta_step_flops(double key_dim, double value_dim) { return 7.0 * key_dim * value_dim; }

double delta_chunk_flops(double key_dim, double value_dim, double chunk) {
  return 6.0 * key_dim * value_dim + chunk * (6.0 * key_dim + 4.0 * value_dim) + chunk * chunk;
}

double linear_step_flops(double key_dim, double value_dim) { return 5.0 * key_dim * value_dim; }

double linear_chunk_flops(double key_dim, double value_dim, double chunk) {
  return 4.0 * key_dim * value_dim + 2.0 * chunk * (key_dim + value_dim);
}

}  // namespace roofcast
