/// Published worked calculations, recomputed. Each case names its source, the inputs it states, and
/// the arithmetic; where the source slips, the comment says how.

#include <doctest/doctest.h>

#include <cmath>

#include "model/architecture/architecture_yaml.hpp"
#include "model/architecture/catalogue.hpp"
#include "sim/step_estimate.hpp"
#include "tests/relative.hpp"
#include "tests/sim/ideal_model.hpp"

using namespace roofcast;
using roofcast::test::ideal_model;
using roofcast::test::relative;

namespace {

/// A decode step given as the sources give it: bytes of weights, KV bytes per sequence, parameters.
double step_ms(double weight_bytes, double kv_bytes_per_sequence, double params, double batch,
               const CostModel& model) {
  Operator matrices;
  matrices.kind = OperatorKind::gemm;
  matrices.shape.m = batch;
  matrices.bytes.weights = {weight_bytes};
  matrices.flops = {2.0 * batch * params};
  Operator attention;
  attention.kind = OperatorKind::attention;
  attention.shape.sequences = batch;
  attention.shape.tokens_read = 8192;
  attention.bytes.kv_read = {batch * kv_bytes_per_sequence};
  return 1e3 * estimate_step({matrices, attention}, model).seconds;
}

ArchitectureSpec shipped(const std::string& name) {
  return read_architecture(find_architecture(name));
}

}  // namespace

// Scaling book, inference chapter, github.com/jax-ml/scaling-book (inference.md).
TEST_CASE("W1: a 30B int8 model on 16 TPU v5e takes 2.57 ms at batch 4 and 21.05 ms at 256") {
  // 16 x 8.1e11 B/s and 16 x 1.97e14 FLOP/s; KV 100 kB x 8192 tokens a sequence.
  const CostModel pod = ideal_model(16 * 8.1e11, 16 * 1.97e14);
  // 4: 3.277e9 / 1.296e13 = 0.253 ms KV + 30e9 / 1.296e13 = 2.315 ms weights.
  CHECK(step_ms(30e9, 100e3 * 8192, 30e9, 4, pod) == relative(2.57).epsilon(0.002));
  // 256: 16.18 ms KV + 2 * 256 * 30e9 / 3.152e15 = 4.87 ms FLOPs, which exceed the weight reads.
  CHECK(step_ms(30e9, 100e3 * 8192, 30e9, 256, pod) == relative(21.05).epsilon(0.001));
}

TEST_CASE("W2: LLaMA-2-13B on 8 TPU v5e, by batch") {
  const CostModel pod = ideal_model(6.56e12, 1e18);
  const double expected_ms[][2] = {{1, 4.98},   {8, 12.13},  {16, 20.30},
                                   {32, 36.65}, {64, 69.33}, {240, 249.09}};
  for (const auto& [batch, ms] : expected_ms)
    CHECK(step_ms(26e9, 6.7e9, 13e9, batch, pod) == relative(ms).epsilon(0.002));
  CHECK(64e3 / step_ms(26e9, 6.7e9, 13e9, 64, pod) == relative(923.1).epsilon(0.001));
  CHECK(240e3 / step_ms(26e9, 6.7e9, 13e9, 240, pod) == relative(963.5).epsilon(0.001));
  // The inputs from the architecture: 2 x 40 layers x 40 heads x 128 x 2 B x 8192 tokens = 6.71e9.
  const ArchitectureSpec spec = shipped("llama-2-13b");
  CHECK(cache_bytes(spec, 8192).kv.value == 6710886400.0);
  // "Out of memory beyond 16" holds in GiB (8 x 16 GiB = 128 GiB), not in GB: the unit decides.
  const double at_16 = 26e9 + 16 * 6710886400.0;
  CHECK(at_16 < 128 * 1073741824.0);
  CHECK(at_16 > 128e9);
}

TEST_CASE("W3: the same model with one KV head per five query heads") {
  const CostModel pod = ideal_model(6.56e12, 1e18);
  const double expected_ms[][2] = {{1, 4.17},   {8, 5.60},   {16, 7.23},
                                   {32, 10.50}, {64, 17.04}, {240, 52.99}};
  for (const auto& [batch, ms] : expected_ms)
    CHECK(step_ms(26e9, 1.34e9, 13e9, batch, pod) == relative(ms).epsilon(0.002));
}

TEST_CASE("W4: an invented 18.4B model and its int8 cache") {
  // Layer: 4096 x (32 x 256 + 2 x 8 x 256) + 32 x 256 x 4096 = 83.9e6 attention,
  // 3 x 4096 x 16384 = 201.3e6 feed-forward; 64 layers + 32128 x 4096 tied embedding.
  ArchitectureSpec spec;
  spec.hidden_dim = 4096;
  spec.vocab_size = 32128;
  spec.tied_embeddings = true;
  GroupedQueryAttention gqa;
  gqa.shape = {.n_heads = 32, .n_kv_heads = 8, .head_dim = 256};
  DenseFfn dense;
  dense.ffn_dim = 16384;
  spec.mixers = {{"gqa", gqa}};
  spec.ffns = {{"dense", dense}};
  spec.layers.assign(64, Layer{0, 0});
  spec.formats[Component::k] = spec.formats[Component::v] = storage_of(*find_format("int8"));
  finish_architecture(spec);
  CHECK(count_parameters(spec).total == relative(18.4e9).epsilon(0.002));
  CHECK(kv_bytes_per_token(spec).value == 262144.0);
}

// Scaling book, applied-inference.md.
TEST_CASE("W5: Llama-3-70B in int8 at batch 32 and 8192 tokens takes 17.4 ms on eight v5e") {
  ArchitectureSpec spec = shipped("llama-3.1-70b");
  spec.formats[Component::k] = spec.formats[Component::v] = storage_of(*find_format("int8"));
  CHECK(kv_bytes_per_token(spec).value == 163840.0);  // 2 x 80 x 8 x 128
  const double kv = cache_bytes(spec, 8192).kv.value;
  CHECK(70e9 + 32 * kv == relative(112.9e9).epsilon(0.001));
  const double ms = step_ms(70e9, kv, 70e9, 32, ideal_model(8 * 8.1e11, 1e18));
  CHECK(ms == relative(17.4).epsilon(0.003));
  // The source rounds the step to 17 ms before dividing: 32 / 17 ms = 1882 tok/s.
  CHECK(32.0 / 0.017 == relative(1882).epsilon(0.001));
  // Twice the chips halve the step.
  CHECK(step_ms(70e9, kv, 70e9, 32, ideal_model(16 * 8.1e11, 1e18)) ==
        relative(ms / 2).epsilon(1e-9));
}

TEST_CASE("W6: 43 sequences of 8192 tokens fit, whatever the format, when chips shrink with it") {
  // 16 GB chips: bf16 on 16, int8 on 8, int4 on 4. The source prints 43 / 52 / 67 because it leaves
  // 68 GB (58) and counts 45 GB of int4 weights (35).
  const struct {
    const char* format;
    int chips;
    double weight_bytes;
  } rows[] = {{"bf16", 16, 140e9}, {"int8", 8, 70e9}, {"int4", 4, 35e9}};
  for (const auto& row : rows) {
    ArchitectureSpec spec = shipped("llama-3.1-70b");
    Storage kv = storage_of(*find_format(row.format));
    if (std::string_view(row.format) == "int4") kv.bits = 4.0;  // the source has no scales
    spec.formats[Component::k] = spec.formats[Component::v] = kv;
    const double room = row.chips * 16e9 - row.weight_bytes;
    CHECK(std::floor(room / cache_bytes(spec, 8192).kv.value) == 43.0);
  }
}

// baseten.co/blog/llm-transformer-inference-guide.
TEST_CASE("W7: Llama-2-7B on an A10") {
  CHECK(125e12 / 600e9 == relative(208.3).epsilon(0.001));  // ops per byte
  CHECK(step_ms(14e9, 0.0, 7e9, 1, ideal_model(600e9, 125e12)) == relative(23.3).epsilon(0.002));
  const ArchitectureSpec spec = shipped("llama-2-7b");
  CHECK(kv_bytes_per_token(spec).value == 524288.0);  // 2 x 32 x 32 x 128 x 2 B
  // 10 GB of cache: 19,073 tokens, four sequences of 4096 (4.66).
  const double tokens = std::floor(10e9 / kv_bytes_per_token(spec).value);
  CHECK(tokens == 19073.0);
  CHECK(std::floor(tokens / 4096) == 4.0);
}

// kipply, "Transformer Inference Arithmetic", 2022.
TEST_CASE("W8: a 52B MHA model on four A100 40 GB") {
  GqaShape shape{.n_heads = 64, .n_kv_heads = 64, .head_dim = 128};
  const CacheElements per_layer = stored_per_token(shape);
  const double kv_per_token = 64 * (per_layer.k + per_layer.v) * 2;
  CHECK(kv_per_token == 2097152.0);
  CHECK(56e9 / kv_per_token == relative(26.7e3).epsilon(0.001));
  const CostModel four = ideal_model(4 * 1.5e12, 4 * 312e12);
  CHECK(step_ms(104e9, 0.0, 52e9, 1, four) == relative(17.3).epsilon(0.003));
  CHECK(step_ms(104e9, 0.0, 52e9, 512, four) == relative(42.7).epsilon(0.002));
}

// DeepSeek-V3/R1 inference system overview (day 6), github.com/deepseek-ai/open-infra-index.
TEST_CASE("W9: DeepSeek's published serving economics close") {
  const double dollars_per_day = 226.75 * 8 * 2.0 * 24;
  CHECK(dollars_per_day == relative(87072).epsilon(1e-6));
  CHECK((562027.0 - dollars_per_day) / dollars_per_day == relative(5.45).epsilon(0.002));
  CHECK(dollars_per_day / 168e9 * 1e6 == relative(0.518).epsilon(0.001));
  // 14.8k tok/s is per decode node; over all nodes it is 8,575.
  CHECK(168e9 / 86400 / 226.75 == relative(8575).epsilon(0.001));
  // At 21 tok/s a user a decode node serves 705 at once; with 4,989 cached tokens each that is
  // 705 x 4989 x 70,272 B / 8 GPUs = 31 GB of bf16 latents.
  const double users = 14.8e3 / 21.0;
  CHECK(users == relative(705).epsilon(0.001));
  const ArchitectureSpec spec = shipped("deepseek-v3");
  CHECK(users * cache_bytes(spec, 4989).kv.value / 8 == relative(31e9).epsilon(0.005));
}

// zeux.io/2024/03/15/llm-inference-sol.
TEST_CASE("W12: the speed of light of decode is weight reads plus KV reads over bandwidth") {
  // Mistral 7B, 1008 GB/s: all matrices but the embedding table.
  // Layer: 4096 x (4096 + 2 x 1024) + 4096 x 4096 = 41.9e6, 3 x 4096 x 14336 = 176.2e6; 32 layers
  // + 32768 x 4096 lm_head = 7.114e9 elements, 14.23 GB; KV 131,072 B/token x 4096 = 0.537 GB.
  const double weights =
      2.0 *
      (32.0 * (4096.0 * (4096 + 2 * 1024) + 4096.0 * 4096 + 3.0 * 4096 * 14336) + 32768.0 * 4096);
  const double kv = 131072.0 * 4096;
  OperatorList scratch;
  const double seconds = estimate_decode(shipped("mistral-7b-v0.3"), {.batch = 1, .context = 4096},
                                         ideal_model(1008e9, 330e12), scratch)
                             .step.seconds;
  CHECK(seconds >= (weights + kv) / 1008e9);
  // What is more is activations, norms and one embedding row.
  CHECK(seconds == relative((weights + kv) / 1008e9).epsilon(0.002));
}

// github.com/kvcache-ai/ktransformers/issues/797.
TEST_CASE("W13: 37B active at 4 bits per weight has a ceiling of 66.4 tok/s at 1228 GB/s") {
  const double ms = step_ms(37e9 * 0.5, 0.0, 37e9, 1, ideal_model(1228e9, 1e18));
  CHECK(1e3 / ms == relative(66.4).epsilon(0.001));
}
