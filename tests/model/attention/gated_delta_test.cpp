#include "model/attention/gated_delta.hpp"

#include <doctest/doctest.h>

#include "tests/model/attention/layer_operators.hpp"

namespace {

using namespace roofcast;

constexpr double kHidden = 5120.0;
constexpr double kState = 48.0 * 128.0 * 128.0;
constexpr double kConvChannels = 2.0 * 16.0 * 128.0 + 48.0 * 128.0;  // q, k and v: 10240

/// One linear layer of Qwen3.5-27B.
GatedDeltaNet qwen() {
  return {.n_key_heads = 16,
          .n_value_heads = 48,
          .key_head_dim = 128,
          .value_head_dim = 128,
          .conv_kernel = 4};
}

}  // namespace

TEST_CASE("gated delta has q, k, v, gate, decay, strength and output matrices") {
  // In: 10240 + 6144 (gate) + 2 x 48; out: 6144.
  CHECK(qwen().parameters(kHidden).matrices == 5120.0 * (10240.0 + 6144.0 + 96.0 + 6144.0));
  // Four taps per channel, decay and step bias per head, one norm of a head.
  CHECK(qwen().parameters(kHidden).vectors == 40960.0 + 96.0 + 128.0);
}

TEST_CASE(
    "gated delta keeps a matrix per value head and three inputs per channel, at any context") {
  for (const double context : {1.0, 262144.0}) {
    CHECK(qwen().cache(context).state == kState);
    CHECK(qwen().cache(context).conv_state == 30720.0);
    CHECK(qwen().cache(context).k == 0.0);
  }
}

TEST_CASE("a decode step reads and writes the state of every sequence") {
  const OperatorList ops = layer_operators(qwen(), kHidden, {.sequences = 3, .context = 5000.0});
  // Twice 786,432 elements in fp32; twice 30,720 in 16 bits.
  CHECK(operator_named(ops, "delta_recurrence").bytes.state.value == 2.0 * 3.0 * kState * 4.0);
  CHECK(operator_named(ops, "delta_conv").bytes.state.value == 2.0 * 3.0 * 30720.0 * 2.0);
  // Decay, prediction, update, output: 1 + 2 + 2 + 2 per element of the state.
  CHECK(operator_named(ops, "delta_recurrence").flops.value == 3.0 * 7.0 * kState);
  CHECK(total_work(ops).bytes.kv_read.value == 0.0);
  CHECK(weight_bytes_of(ops) == 2.0 * qwen().parameters(kHidden).total());
}

TEST_CASE("the formats of recurrent and convolution state are apart") {
  Formats formats;
  formats[Component::state] = storage_of(*find_format("bf16"));
  formats[Component::conv_state] = storage_of(*find_format("fp32"));
  const OperatorList ops = layer_operators(qwen(), kHidden, {.context = 1.0}, formats);
  CHECK(operator_named(ops, "delta_recurrence").bytes.state.value == 2.0 * kState * 2.0);
  CHECK(operator_named(ops, "delta_conv").bytes.state.value == 2.0 * 30720.0 * 4.0);
}

TEST_CASE("a prefill is linear in its tokens and moves the state once") {
  const auto recurrence = [](double tokens) {
    return operator_named(layer_operators(qwen(), kHidden, {.query_len = tokens, .context = 0.0}),
                          "delta_recurrence");
  };
  CHECK(recurrence(8192.0).flops.value == 2.0 * recurrence(4096.0).flops.value);
  CHECK(recurrence(8192.0).bytes.state.value == 2.0 * kState * 4.0);
  // Per token and head with chunks of 64: 6 x 128 x 128 for the products with the state,
  // 64 x (6 + 4) x 128 for those inside the chunk, 64 x 64 for the triangular inverse.
  CHECK(recurrence(4096.0).flops.value == 4096.0 * 48.0 * (98304.0 + 81920.0 + 4096.0));
}

TEST_CASE("a prefill stores the state of every chunk of 64 tokens") {
  const OperatorList ops = layer_operators(qwen(), kHidden, {.query_len = 640.0, .context = 0.0});
  // In and out per token: 10240 + 6144 + 96; ten chunk states written and read in 16 bits.
  CHECK(operator_named(ops, "delta_recurrence").bytes.activations.value ==
        2.0 * (640.0 * 16480.0 + 2.0 * 10.0 * kState));
}

TEST_CASE("tensor parallelism splits gated delta by key heads") {
  CHECK(qwen().cache_shards(8.0).state == 8.0);
  CHECK(qwen().cache_shards(32.0).state == 16.0);
  const OperatorList ops = layer_operators(qwen(), kHidden, {.context = 1.0, .tp = 8});
  CHECK(operator_named(ops, "delta_recurrence").bytes.state.value == 2.0 * kState * 4.0 / 8.0);
  CHECK(operator_named(ops, "delta_conv").bytes.state.value ==
        2.0 * 3.0 * kConvChannels * 2.0 / 8.0);
  CHECK(operator_named(ops, "delta_qkvz_proj").bytes.weights.value == 2.0 * 5120.0 * 16384.0 / 8.0);
}
