#include "model/operators/residual.hpp"

#include <doctest/doctest.h>

#include "model/architecture/architecture_spec.hpp"
#include "model/operators/decode_step.hpp"
#include "tests/model/attention/layer_operators.hpp"

namespace {

using namespace roofcast;

/// 24 layers of attention and feed-forward, 64 wide.
ArchitectureSpec small_model() {
  ArchitectureSpec spec;
  spec.hidden_dim = 64;
  spec.vocab_size = 1000;
  spec.mixers.push_back(
      {"gqa", GroupedQueryAttention{.shape = {.n_heads = 4, .n_kv_heads = 2, .head_dim = 16}}});
  spec.ffns.push_back({"dense", DenseFfn{.ffn_dim = 128}});
  spec.layers.assign(24, Layer{0, 0});
  finish_architecture(spec);
  return spec;
}

double bytes_of(const OperatorList& ops, std::string_view name) {
  double sum = 0.0;
  for (const Operator& op : ops)
    if (op.name == name) sum += op.count * op.bytes.memory().value;
  return sum;
}

}  // namespace

TEST_CASE("a plain residual has no weights and no operators of its own") {
  const ArchitectureSpec spec = small_model();
  CHECK(residual_parameters(spec).total(48.0) == 0.0);
  const OperatorList ops = decode_step(spec, {.context = 10.0});
  CHECK_FALSE(has_operator(ops, "hyper_connection_proj"));
  CHECK_FALSE(has_operator(ops, "attention_residual"));
}

TEST_CASE("hyper-connections mix n streams by n + n + n^2 weights projected from all of them") {
  ArchitectureSpec spec = small_model();
  const double plain = count_parameters(spec).total;
  spec.hyper_streams = 4;
  // 24 rows of 4 x 64 with a bias each and three scales in each of 48 blocks; at the end four rows,
  // four biases and one scale.
  const double each = 24.0 * 256.0 + 24.0 + 3.0;
  CHECK(residual_parameters(spec).per_block == each);
  CHECK(residual_parameters(spec).outside == 4.0 * 256.0 + 4.0 + 1.0);
  CHECK(count_parameters(spec).total - plain == 48.0 * each + 1029.0);
  CHECK(count_parameters(spec).active - count_parameters(small_model()).active ==
        48.0 * each + 1029.0);
  // They are fp32.
  CHECK(weight_bytes(spec).resident.value - weight_bytes(small_model()).resident.value ==
        4.0 * (48.0 * each + 1029.0));
}

TEST_CASE("hyper-connections move all streams in and out of every block") {
  ArchitectureSpec spec = small_model();
  spec.hyper_streams = 4;
  const OperatorList ops = decode_step(spec, {.sequences = 2, .context = 10.0});
  // Per block and token: 4 streams in for the weights (24 out), one stream out; then one in, four
  // in and four out. Weights 24 x 256 + 24 in fp32.
  CHECK(bytes_of(ops, "hyper_connection_proj") ==
        48.0 * (2.0 * 2.0 * (256.0 + 24.0) + 4.0 * 24.0 * 257.0) +
            (2.0 * 2.0 * (256.0 + 4.0) + 4.0 * 4.0 * 257.0));
  CHECK(bytes_of(ops, "hyper_connection_mix") == 48.0 * 2.0 * 2.0 * 10.0 * 64.0 + 2.0 * 2.0 * 64.0);
}

TEST_CASE("attention residuals weigh the block sums so far") {
  ArchitectureSpec spec = small_model();
  const double plain = count_parameters(spec).total;
  spec.attention_residual_block = 12;
  // A norm and a query of 64 in each of 48 blocks and at the end.
  CHECK(count_parameters(spec).total - plain == 49.0 * 128.0);
  const OperatorList ops = decode_step(spec, {.context = 10.0});
  // Layers 0-11 see the embedding and the running sum, layers 12-23 one block more: 2.5 on average,
  // and one vector is written. At the end three are summed.
  CHECK(bytes_of(ops, "attention_residual") ==
        48.0 * 2.0 * (64.0 * 3.5 + 128.0) + 2.0 * (64.0 * 4.0 + 128.0));
}
