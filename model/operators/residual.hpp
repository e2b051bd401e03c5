#pragma once

namespace roofcast {

class OperatorBuilder;
struct ArchitectureSpec;

/// Weights by which blocks (attention or feed-forward parts of layers) read a residual that is more
/// than one stream, and by which the last norm does. All 0 for the plain residual.
struct ResidualParameters {
  double per_block = 0.0;
  double outside = 0.0;  // once, after the last layer
  double bytes_per_element = 2.0;

  double total(double blocks) const { return per_block * blocks + outside; }
};

/// Hyper-connections of n streams (DeepSeek-V4, arXiv:2606.19348, section 2.2): n + n + n^2 mixing
/// weights projected from all streams, with biases and 3 scales, in fp32; n at the end. Attention
/// residuals (Kimi K3, arXiv:2607.24653): a norm and a query of hidden_dim each.
ResidualParameters residual_parameters(const ArchitectureSpec& spec);

/// Appends what a block's residual costs beyond the residual add of its norm. With
/// hyper-connections all streams are read to mix the block's input, then read and written to take
/// its output. With attention residuals the input is a weighted sum of the block representations so
/// far; layers of a class stand anywhere in the model, so each reads the mean number of them.
void append_residual(const ArchitectureSpec& spec, OperatorBuilder& builder);

/// The same for the sum that the last norm reads.
void append_final_residual(const ArchitectureSpec& spec, OperatorBuilder& builder);

}  // namespace roofcast
