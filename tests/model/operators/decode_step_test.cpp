#include "model/operators/decode_step.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "model/architecture/architecture_spec.hpp"

namespace {

using namespace roofcast;

/// Three layers, 64 wide: 4 heads of 16, 2 KV heads, a gated block 128 wide, 1000 tokens.
ArchitectureSpec small_model() {
  ArchitectureSpec spec;
  spec.hidden_dim = 64;
  spec.vocab_size = 1000;
  spec.mixers.push_back(
      {"gqa", GroupedQueryAttention{.shape = {.n_heads = 4, .n_kv_heads = 2, .head_dim = 16}}});
  spec.ffns.push_back({"dense", DenseFfn{.ffn_dim = 128}});
  spec.layers.assign(3, Layer{0, 0});
  finish_architecture(spec);
  return spec;
}

std::vector<std::string> names(const OperatorList& step) {
  std::vector<std::string> all;
  for (const Operator& op : step) all.emplace_back(op.name);
  return all;
}

/// How often a step runs the operators called `name`, layer counts included.
double times(const OperatorList& step, std::string_view name) {
  double sum = 0.0;
  for (const Operator& op : step)
    if (op.name == name) sum += op.count;
  return sum;
}

const Operator& find(const OperatorList& step, std::string_view name) {
  for (const Operator& op : step)
    if (op.name == name) return op;
  FAIL("no operator called " << name);
  return step.front();
}

}  // namespace

TEST_CASE("a step runs through the layers between embedding and sampling, equal layers once") {
  const OperatorList step = decode_step(small_model(), {.context = 100});
  CHECK(names(step) == std::vector<std::string>{"embedding", "attn_norm", "qkv_proj",
                                                "rope_kv_append", "attention", "attn_out_proj",
                                                "ffn_norm", "ffn_up_gate", "ffn_activation",
                                                "ffn_down", "final_norm", "lm_head", "sampling"});
  CHECK(times(step, "attention") == 3.0);
  CHECK(times(step, "lm_head") == 1.0);
  CHECK(find(step, "attention").layer_class == 0);
  CHECK(find(step, "lm_head").layer_class == -1);
}

TEST_CASE("a step reads one row of the input table per token and the whole output table") {
  const OperatorList step = decode_step(small_model(), {.sequences = 5, .context = 100});
  CHECK(find(step, "embedding").bytes.weights.value == 5.0 * 64 * 2);
  CHECK(find(step, "lm_head").bytes.weights.value == 1000.0 * 64 * 2);
  ArchitectureSpec tied = small_model();
  tied.tied_embeddings = true;
  CHECK(find(decode_step(tied, {.context = 100}), "lm_head").bytes.weights.value ==
        1000.0 * 64 * 2);
}

TEST_CASE("learned positions are one more row per token") {
  ArchitectureSpec spec = small_model();
  spec.position_embeddings = 2048;
  const OperatorList step = decode_step(spec, {.sequences = 5, .context = 100});
  CHECK(find(step, "embedding").bytes.weights.value == 5.0 * 2 * 64 * 2);
}

TEST_CASE("a prefill pass scores the last token of each sequence only") {
  const OperatorList step = decode_step(small_model(), {.sequences = 2, .query_len = 512});
  CHECK(find(step, "lm_head").flops.value == 2.0 * 2 * 1000 * 64);
  CHECK(find(step, "ffn_down").flops.value == 2.0 * 2 * 512 * 64 * 128);
}

TEST_CASE("norms read their weights: one vector, with a bias two, before and after a block") {
  ArchitectureSpec spec = small_model();
  spec.norm = NormKind::layer_no_bias;
  CHECK(find(decode_step(spec, {}), "attn_norm").bytes.weights.value == 64.0 * 2);
  spec.norm = NormKind::layer;
  CHECK(find(decode_step(spec, {}), "attn_norm").bytes.weights.value == 2 * 64.0 * 2);
  CHECK(times(decode_step(spec, {}), "ffn_post_norm") == 0.0);
  spec.norms_per_block = 2;
  CHECK(times(decode_step(spec, {}), "attn_post_norm") == 3.0);
  CHECK(times(decode_step(spec, {}), "ffn_post_norm") == 3.0);
}

TEST_CASE("ranks sum up after attention and after the feed-forward part") {
  const OperatorList alone = decode_step(small_model(), {.context = 100});
  CHECK(times(alone, "attn_all_reduce") == 0.0);
  const OperatorList two = decode_step(small_model(), {.sequences = 5, .context = 100, .tp = 2});
  CHECK(times(two, "attn_all_reduce") == 3.0);
  CHECK(times(two, "ffn_all_reduce") == 3.0);
  CHECK(find(two, "ffn_all_reduce").bytes.collective.value == 5.0 * 64 * 2);
}

TEST_CASE("parallel blocks sum up once a layer, and share a norm where the model has one") {
  // Falcon-40B normalises twice and Falcon-7B and Cohere once:
  // https://huggingface.co/docs/transformers/model_doc/falcon
  ArchitectureSpec spec = small_model();
  const double serial = count_parameters(spec).total;
  spec.block_order = BlockOrder::parallel_two_norms;
  OperatorList step = decode_step(spec, {.context = 100, .tp = 2});
  CHECK(times(step, "attn_all_reduce") == 0.0);
  CHECK(times(step, "ffn_all_reduce") == 3.0);
  CHECK(times(step, "ffn_norm") == 3.0);
  CHECK(count_parameters(spec).total == serial);
  spec.block_order = BlockOrder::parallel_one_norm;
  step = decode_step(spec, {.context = 100, .tp = 2});
  CHECK(times(step, "attn_all_reduce") == 0.0);
  CHECK(times(step, "ffn_all_reduce") == 3.0);
  CHECK(times(step, "attn_norm") == 3.0);
  CHECK(times(step, "ffn_norm") == 0.0);
  CHECK(count_parameters(spec).total == serial - 3 * 64);
}

TEST_CASE("a layer with attention alone sums up after it, whatever the block order") {
  ArchitectureSpec spec = small_model();
  spec.block_order = BlockOrder::parallel_one_norm;
  spec.ffns[0].kind = NoFfn{};
  const OperatorList step = decode_step(spec, {.context = 100, .tp = 2});
  CHECK(times(step, "attn_all_reduce") == 3.0);
  CHECK(times(step, "attn_norm") == 3.0);
}

TEST_CASE("per-layer embeddings cost a row and two small projections a layer, not their table") {
  ArchitectureSpec spec = small_model();
  const double plain = count_parameters(spec).total;
  spec.per_layer_embedding = PerLayerEmbedding{.vocab_size = 1000, .dim = 8};
  const OperatorList step = decode_step(spec, {.sequences = 5, .context = 100});
  CHECK(find(step, "embedding").bytes.weights.value == 5.0 * (64 + 3 * 8) * 2);
  CHECK(find(step, "per_layer_model_proj").bytes.weights.value == 3.0 * 8 * 64 * 2);
  CHECK(find(step, "per_layer_gate").bytes.weights.value == 8.0 * 64 * 2);
  CHECK(times(step, "per_layer_proj") == 3.0);
  // table, model projection, and per layer two projections and a norm
  CHECK(count_parameters(spec).total - plain ==
        3.0 * 8 * 1000 + 3.0 * 8 * 64 + 3.0 * (2 * 8 * 64 + 64));
  CHECK(count_parameters(spec).total - count_parameters(spec).active == 3.0 * 8 * 1000 + 64000);
}

TEST_CASE("the sum over a step counts every layer") {
  const ArchitectureSpec spec = small_model();
  const StepWork work = total_work(decode_step(spec, {.context = 100}));
  // Per layer q, k, v 64 x 64 x 2, o 64 x 64, three of 64 x 128, two norms; then norm and head.
  const double layer = 64.0 * (64 + 2 * 32) + 64 * 64 + 3.0 * 64 * 128 + 2 * 64;
  CHECK(work.bytes.weights.value == 2.0 * (3 * layer + 64 + 64000 + 64));
  // 100 cached tokens x 2 x 2 heads x 16, 16 bits, three layers; one token appended
  CHECK(work.bytes.kv_read.value == 3.0 * 100 * 64 * 2);
  CHECK(work.bytes.kv_write.value == 3.0 * 64 * 2);
  CHECK(work.bytes.memory() == work.bytes.weights + work.bytes.kv_read + work.bytes.kv_write +
                                   work.bytes.state + work.bytes.activations);
}
