#pragma once

#include <string_view>

#include "model/operators/operator_builder.hpp"

namespace roofcast {

/// One layer's recurrence over a matrix state per head, as one rank sees it.
struct RecurrenceWork {
  double heads = 0.0;           // of this rank
  double state_elements = 0.0;  // per sequence, all heads of this rank
  double io_elements = 0.0;     // inputs and outputs per token
  double parameters = 0.0;      // decay, step and skip vectors
  double decode_flops = 0.0;    // per token, stepping the state
  double chunk_flops = 0.0;     // per token, in the chunked form of a prefill
  double chunk = 64.0;          // tokens per chunk; 0: states are not stored between chunks
};

/// Appends the recurrence. A pass reads and writes the state of every sequence once. A pass of many
/// tokens works in chunks (linear in tokens) whose states go through memory in the activation
/// format, written once and read once.
void append_recurrence(std::string_view name, const RecurrenceWork& work, OperatorBuilder& builder);

/// Appends a depthwise causal convolution of `kernel` taps over `channels` channels of this rank;
/// its last kernel - 1 inputs are state (conv_state). `taps` are its weights and biases.
void append_short_convolution(std::string_view name, double channels, double kernel, double taps,
                              OperatorBuilder& builder);

/// Elements of conv_state of one sequence.
inline double convolution_state(double channels, double kernel) { return channels * (kernel - 1); }

/// FLOPs per token and head of a delta rule S = decay S + beta k (v - S^T k)^T, o = S^T q with a
/// d_k x d_v state: decay 1, two products and the update 2 each per state element when stepping; in
/// chunks of C the three state products and five C x C ones with triangular inverse (FLA kernels).
double delta_step_flops(double key_dim, double value_dim);
double delta_chunk_flops(double key_dim, double value_dim, double chunk);

/// The same of plain linear attention or state space duality S = decay S + k v^T, o = S^T q.
double linear_step_flops(double key_dim, double value_dim);
double linear_chunk_flops(double key_dim, double value_dim, double chunk);

}  // namespace roofcast
