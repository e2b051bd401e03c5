#include <doctest/doctest.h>

#include "model/architecture/gguf_import.hpp"
#include "model/base/error.hpp"
#include "tests/model/architecture/gguf_models.hpp"
#include "tests/relative.hpp"

using namespace roofcast;
using roofcast::test::relative;
using test::GgufModelBuilder;
using test::kF16;
using test::kF32;

namespace {

constexpr double kGiB = 1073741824.0;
constexpr double kMiB = 1048576.0;

const Mixer& mixer_of(const ArchitectureSpec& spec, int layer) {
  return spec.mixers[static_cast<std::size_t>(spec.layers[static_cast<std::size_t>(layer)].mixer)]
      .kind;
}

std::string error_of(const GgufModelBuilder& builder) {
  try {
    import_gguf(builder.read());
  } catch (const SpecError& error) {
    return error.what();
  }
  return {};
}

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

/// One block with DeepSeek-V3's attention and a small dense part, in the older form with whole
/// kv_b.
GgufModelBuilder expanded_mla(int layers) {
  GgufModelBuilder m("deepseek2");
  m.count("block_count", static_cast<std::uint32_t>(layers)).count("embedding_length", 7168);
  m.count("context_length", 163840).count("attention.head_count", 128);
  m.count("attention.q_lora_rank", 1536).count("attention.kv_lora_rank", 512);
  m.count("attention.key_length", 192).count("attention.value_length", 128);
  m.count("rope.dimension_count", 64).outside(7168, 1024, false);
  for (int i = 0; i < layers; ++i) {
    m.norms(i, 7168).matrix(m.block(i, "attn_q_a"), 7168, 1536);
    m.matrix(m.block(i, "attn_q_b"), 1536, 128 * 192)
        .matrix(m.block(i, "attn_kv_a_mqa"), 7168, 576);
    m.matrix(m.block(i, "attn_kv_b"), 512, 128 * 256)
        .matrix(m.block(i, "attn_output"), 16384, 7168);
    m.gated_ffn(i, 7168, 1024);
  }
  return m;
}

/// Block `i` of Qwen3.6 27B: gated delta rule, or gated attention in every fourth and in the
/// multi-token-prediction block 64.
void qwen35_block(GgufModelBuilder& m, int i) {
  m.vector(m.block(i, "attn_norm.weight"), 5120);
  m.vector(m.block(i, "post_attention_norm.weight"), 5120).gated_ffn(i, 5120, 17408);
  if (i % 4 == 3 || i == 64) {
    m.matrix(m.block(i, "attn_q"), 5120, 2 * 24 * 256).matrix(m.block(i, "attn_k"), 5120, 1024);
    m.matrix(m.block(i, "attn_v"), 5120, 1024).matrix(m.block(i, "attn_output"), 6144, 5120);
    m.vector(m.block(i, "attn_q_norm.weight"), 256).vector(m.block(i, "attn_k_norm.weight"), 256);
    return;
  }
  m.matrix(m.block(i, "attn_qkv"), 5120, 10240).matrix(m.block(i, "attn_gate"), 5120, 6144);
  m.matrix(m.block(i, "ssm_conv1d"), 4, 10240, kF32).matrix(m.block(i, "ssm_out"), 6144, 5120);
  m.matrix(m.block(i, "ssm_beta"), 5120, 48).matrix(m.block(i, "ssm_alpha"), 5120, 48);
  m.vector(m.block(i, "ssm_a"), 48).vector(m.block(i, "ssm_dt.bias"), 48);
  m.vector(m.block(i, "ssm_norm.weight"), 128);
}

GgufModelBuilder nemotron_3_nano(const std::string& pattern) {
  GgufModelBuilder m("nemotron_h_moe");
  std::vector<std::int32_t> kv;
  for (const char c : pattern) kv.push_back(c == '*' ? 2 : 0);
  m.count("block_count", static_cast<std::uint32_t>(pattern.size()))
      .count("embedding_length", 2688);
  m.count("context_length", 262144).count("attention.head_count", 32);
  m.list("attention.head_count_kv", kv).count("attention.key_length", 128);
  m.count("attention.value_length", 128).count("ssm.conv_kernel", 4).count("ssm.inner_size", 4096);
  m.count("ssm.state_size", 128).count("ssm.time_step_rank", 64).count("ssm.group_count", 8);
  m.count("expert_count", 128).count("expert_used_count", 6).count("expert_shared_count", 1);
  m.outside(2688, 131072, false);
  for (int i = 0; i < static_cast<int>(pattern.size()); ++i) {
    m.vector(m.block(i, "attn_norm.weight"), 2688);
    const char kind = pattern[static_cast<std::size_t>(i)];
    if (kind == '*') m.attention(i, 2688, 32, 2, 128);
    if (kind == 'M') {
      m.matrix(m.block(i, "ssm_in"), 2688, 2 * 4096 + 2 * 8 * 128 + 64);
      m.matrix(m.block(i, "ssm_conv1d"), 4, 6144, kF32).vector(m.block(i, "ssm_conv1d.bias"), 6144);
      m.vector(m.block(i, "ssm_dt.bias"), 64).vector(m.block(i, "ssm_norm.weight"), 4096);
      m.file.tensor(m.block(i, "ssm_a"), {1, 64}, kF32, 256);
      m.file.tensor(m.block(i, "ssm_d"), {1, 64}, kF32, 256);
      m.matrix(m.block(i, "ssm_out"), 4096, 2688);
    }
    if (kind != 'E') continue;
    m.matrix(m.block(i, "ffn_gate_inp"), 2688, 128, kF32)
        .vector(m.block(i, "exp_probs_b.bias"), 128);
    m.matrix(m.block(i, "ffn_up_exps"), 2688, 1856, kF16, 128);
    m.matrix(m.block(i, "ffn_down_exps"), 1856, 2688, kF16, 128);
    m.matrix(m.block(i, "ffn_up_shexp"), 2688, 3712)
        .matrix(m.block(i, "ffn_down_shexp"), 3712, 2688);
  }
  return m;
}

}  // namespace

TEST_CASE("LFM2 1.2B caches 384 MiB at 32,768 tokens: six of its sixteen layers attend") {
  const std::vector<std::int32_t> kv = {0, 0, 8, 0, 0, 8, 0, 0, 8, 0, 8, 0, 8, 0, 8, 0};
  GgufModelBuilder m("lfm2");
  m.count("block_count", 16).count("embedding_length", 2048).count("context_length", 128000);
  m.count("attention.head_count", 32).list("attention.head_count_kv", kv);
  m.count("shortconv.l_cache", 3).outside(2048, 65536, true);
  for (int i = 0; i < 16; ++i) {
    m.norms(i, 2048).gated_ffn(i, 2048, 8192);
    if (kv[static_cast<std::size_t>(i)] > 0) {
      m.attention(i, 2048, 32, 8, 64);
      m.vector(m.block(i, "attn_q_norm.weight"), 64).vector(m.block(i, "attn_k_norm.weight"), 64);
    } else {
      m.matrix(m.block(i, "shortconv.in_proj"), 2048, 6144);
      m.matrix(m.block(i, "shortconv.conv"), 3, 2048, kF32);
      m.matrix(m.block(i, "shortconv.out_proj"), 2048, 2048);
    }
  }
  const ImportedModel model = import_gguf(m.read());
  // 6 layers x 8 heads x 64 x (K and V) x 2 B = 12,288 B a token
  CHECK(cache_bytes(model.spec, 32768).kv.value == 384.0 * kMiB);
  // 10 layers x 2 inputs x 2048 channels x 4 B
  CHECK(cache_bytes(model.spec, 32768).state.value == 10.0 * 2 * 2048 * 4);
  // LiquidAI/LFM2-1.2B: 1,170,340,608 parameters
  CHECK(count_parameters(model.spec).total == 1170340608.0);
  CHECK(model.warnings.empty());
}

TEST_CASE("Qwen3.6 27B caches 65,536 bytes a token and 149.625 MiB whatever the context") {
  GgufModelBuilder m("qwen35");
  m.count("block_count", 65).count("embedding_length", 5120).count("context_length", 262144);
  m.count("attention.head_count", 24).count("attention.head_count_kv", 4);
  m.count("attention.key_length", 256).count("attention.value_length", 256);
  m.count("ssm.conv_kernel", 4).count("ssm.state_size", 128).count("ssm.group_count", 16);
  m.count("ssm.time_step_rank", 48)
      .count("ssm.inner_size", 6144)
      .count("full_attention_interval", 4);
  m.count("nextn_predict_layers", 1).outside(5120, 248320, false);
  for (int i = 0; i < 65; ++i) qwen35_block(m, i);
  const ImportedModel model = import_gguf(m.read());
  CHECK(model.spec.layers.size() == 64);
  // 16 layers x 4 heads x 256 x (K and V) x 2 B
  CHECK(kv_bytes_per_token(model.spec).value == 65536.0);
  // 48 layers x (3 x (2 x 16 x 128 + 48 x 128) + 48 x 128 x 128) x 4 B, as llama.cpp logs it
  CHECK(cache_bytes(model.spec, 4096).state.value == 149.625 * kMiB);
  CHECK(std::get<GroupedQueryAttention>(mixer_of(model.spec, 3)).shape.output_gate ==
        OutputGate::elementwise);
  CHECK(model.spec.block_order == BlockOrder::serial);
}

TEST_CASE("Nemotron 3 Nano has one kind of part in each of its layers") {
  const std::string pattern = "MEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEMEM*EMEMEMEME";
  const ImportedModel model = import_gguf(nemotron_3_nano(pattern).read());
  // 6 attention layers x 2 heads x 128 x (K and V) x 2 B
  CHECK(kv_bytes_per_token(model.spec).value == 6.0 * 2 * 128 * 2 * 2);
  CHECK(std::get<Mamba2>(mixer_of(model.spec, 0)).head_dim == 64);
  CHECK(std::holds_alternative<NoMixer>(mixer_of(model.spec, 1)));
  // 31.6 B in all (model card).
  CHECK(count_parameters(model.spec).total == relative(31.58e9).epsilon(0.002));
  CHECK(model.warnings.empty());
}

TEST_CASE(
    "older DeepSeek files make llama.cpp cache full keys and values: 305 GiB at 65,536 tokens") {
  const ImportedModel model = import_gguf(expanded_mla(2).read());
  REQUIRE(std::holds_alternative<ExpandedLatentAttention>(mixer_of(model.spec, 0)));
  // 61 x 128 x (192 + 128) x 2 B x 65536 = 305.0 GiB; here 2 of the 61 layers.
  CHECK(cache_bytes(model.spec, 65536).kv.value * 61.0 / 2.0 == 305.0 * kGiB);
  CHECK(cache_bytes_per_rank(model.spec, 65536, 8).kv.value ==
        cache_bytes(model.spec, 65536).kv.value / 8.0);
  REQUIRE(model.warnings.size() == 1);
  CHECK(contains(model.warnings.front(), "lacks the absorbed form"));
}

namespace {

/// `layers` blocks of DeepSeek-V3.2, of which only the first has an indexer.
GgufModelBuilder one_indexer(int layers) {
  GgufModelBuilder m("deepseek32");
  m.count("block_count", layers).count("embedding_length", 7168).count("context_length", 163840);
  m.count("attention.head_count", 128).count("attention.head_count_kv", 1);
  m.count("attention.q_lora_rank", 1536).count("attention.kv_lora_rank", 512);
  m.count("attention.key_length", 576).count("attention.value_length", 512);
  m.count("attention.key_length_mla", 192).count("attention.value_length_mla", 128);
  m.count("attention.indexer.head_count", 64).count("attention.indexer.key_length", 128);
  m.count("attention.indexer.top_k", 2048).count("rope.dimension_count", 64);
  m.outside(7168, 1024, false);
  for (int i = 0; i < layers; ++i) {
    const std::string block = "blk." + std::to_string(i);
    m.norms(i, 7168).matrix(block + ".attn_q_a", 7168, 1536);
    m.matrix(block + ".attn_q_b", 1536, 128 * 192).matrix(block + ".attn_kv_a_mqa", 7168, 576);
    m.matrix(block + ".attn_k_b", 128, 512, kF16, 128);
    m.matrix(block + ".attn_v_b", 512, 128, kF16, 128).matrix(block + ".attn_output", 16384, 7168);
    m.gated_ffn(i, 7168, 18432);
  }
  m.matrix("blk.0.indexer.attn_k", 7168, 128).matrix("blk.0.indexer.proj", 7168, 64);
  m.matrix("blk.0.indexer.attn_q_b", 1536, 8192);
  return m;
}

}  // namespace

TEST_CASE("DeepSeek-V3.2's indexer adds 128 elements a token beside the latent") {
  const ImportedModel model = import_gguf(one_indexer(1).read());
  CHECK(kv_bytes_per_token(model.spec).value == (576.0 + 128.0) * 2.0);
  CHECK(std::get<SparseLatentAttention>(mixer_of(model.spec, 0)).index_topk == 2048);
  CHECK(model.warnings.empty());
}

TEST_CASE(
    "a block without an indexer in a file that has one takes the choice of an earlier block") {
  const ImportedModel model = import_gguf(one_indexer(2).read());
  CHECK(std::get<SparseLatentAttention>(mixer_of(model.spec, 0)).index_owner == KvOwner::self);
  CHECK(std::get<SparseLatentAttention>(mixer_of(model.spec, 1)).index_owner ==
        KvOwner::earlier_layer);
  CHECK(kv_bytes_per_token(model.spec).value == (2.0 * 576.0 + 128.0) * 2.0);
}

TEST_CASE("Command-R runs attention and feed-forward in parallel on one norm without bias") {
  GgufModelBuilder m("command-r");
  m.count("block_count", 1).count("embedding_length", 8192).count("context_length", 131072);
  m.count("attention.head_count", 64).count("attention.head_count_kv", 64);
  m.file.set("command-r.attention.layer_norm_epsilon", 1e-5F);
  m.outside(8192, 256000, true).vector("blk.0.attn_norm.weight", 8192);
  m.attention(0, 8192, 64, 64, 128).gated_ffn(0, 8192, 22528);
  const ArchitectureSpec spec = import_gguf(m.read()).spec;
  CHECK(spec.block_order == BlockOrder::parallel_one_norm);
  CHECK(spec.norm == NormKind::layer_no_bias);
}

TEST_CASE("Falcon 40B has two norms in front of its parallel parts, Falcon 7B one") {
  const auto falcon = [](bool two_norms) {
    GgufModelBuilder m("falcon");
    m.count("block_count", 1).count("embedding_length", 4544).count("context_length", 2048);
    m.count("attention.head_count", 71).count("attention.head_count_kv", 1);
    m.outside(4544, 65024, false).vector("output_norm.bias", 4544);
    m.vector("blk.0.attn_norm.weight", 4544);
    if (two_norms) m.vector("blk.0.attn_norm_2.weight", 4544);
    m.matrix("blk.0.attn_qkv", 4544, 73 * 64).matrix("blk.0.attn_output", 4544, 4544);
    m.matrix("blk.0.ffn_up", 4544, 4 * 4544).matrix("blk.0.ffn_down", 4 * 4544, 4544);
    return import_gguf(m.read()).spec;
  };
  CHECK(falcon(false).block_order == BlockOrder::parallel_one_norm);
  CHECK(falcon(true).block_order == BlockOrder::parallel_two_norms);
  CHECK(falcon(false).norm == NormKind::layer);
  CHECK(std::get<DenseFfn>(falcon(false).ffns[0].kind).form == FfnForm::plain);
}

TEST_CASE("blocks that Roofcast does not represent are refused by name") {
  const auto block = [](std::initializer_list<const char*> names) {
    GgufModelBuilder m("llama");
    m.count("block_count", 1).count("embedding_length", 64).count("attention.head_count", 1);
    m.outside(64, 32, true).norms(0, 64);
    for (const char* name : names) m.matrix(std::string("blk.0.") + name, 64, 64);
    return m;
  };
  CHECK(contains(error_of(block({"time_mix_key"})), "blk.0: an RWKV state"));
  CHECK(contains(error_of(block({"attn_q", "ssm_in", "ssm_out"})),
                 "blk.0: attention and a state side by side"));
  CHECK(contains(error_of(block({"ssm_strange"})), "blk.0: a recurrent state of an unknown form"));
  CHECK(contains(error_of(block({"attn_output"})), "blk.0: attention of an unknown form"));
  CHECK(contains(error_of(block({"attn_q", "attn_output"})), "blk.0: attention without keys"));
  CHECK(contains(error_of(block({"attn_q", "attn_k", "attn_v", "attn_output", "ffn_up"})),
                 "blk.0: a feed-forward part without its down projection"));
}
