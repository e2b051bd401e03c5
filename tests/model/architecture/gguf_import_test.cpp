#include "model/architecture/gguf_import.hpp"

#include <doctest/doctest.h>

#include "model/architecture/architecture_yaml.hpp"
#include "model/base/error.hpp"
#include "tests/model/architecture/gguf_models.hpp"
#include "tests/relative.hpp"

using namespace roofcast;
using roofcast::test::relative;
using test::GgufModelBuilder;
using test::kF32;
using test::kMxfp4;
using test::kQ4_K;
using test::kQ6_K;
using test::kQ8_0;

namespace {

constexpr double kGiB = 1073741824.0;

/// Layers to which llama-quant gives more bits in Q4_K_M: the first and last eighth, and every
/// third in between.
bool more_bits(int i, int n) { return i < n / 8 || i >= 7 * n / 8 || (i - n / 8) % 3 == 2; }

GgufModelBuilder qwen25_7b() {
  GgufModelBuilder m("qwen2");
  m.file.set("general.name", "Qwen2.5 7B Instruct");
  m.count("block_count", 28).count("context_length", 32768).count("embedding_length", 3584);
  m.count("feed_forward_length", 18944);
  m.count("attention.head_count", 28).count("attention.head_count_kv", 4);
  m.outside(3584, 152064, false, kQ4_K, kQ6_K);
  for (int i = 0; i < 28; ++i) {
    const std::uint32_t better = more_bits(i, 28) ? kQ6_K : kQ4_K;
    m.norms(i, 3584).attention(i, 3584, 28, 4, 128, kQ4_K, better);
    m.gated_ffn(i, 3584, 18944, kQ4_K, better);
    m.vector(m.block(i, "attn_q.bias"), 3584);
    m.vector(m.block(i, "attn_k.bias"), 512).vector(m.block(i, "attn_v.bias"), 512);
  }
  return m;
}

GgufModelBuilder gpt_oss_20b() {
  GgufModelBuilder m("gpt-oss");
  m.count("block_count", 24).count("context_length", 131072).count("embedding_length", 2880);
  m.count("attention.head_count", 64).count("attention.head_count_kv", 8);
  m.count("attention.key_length", 64).count("attention.value_length", 64);
  m.count("attention.sliding_window", 128);
  m.count("expert_count", 32).count("expert_used_count", 4);
  m.count("expert_feed_forward_length", 2880);
  m.outside(2880, 201088, false, kQ8_0, kQ8_0);
  for (int i = 0; i < 24; ++i) {
    m.norms(i, 2880).attention(i, 2880, 64, 8, 64, kQ8_0, kQ8_0);
    m.experts(i, 2880, 2880, 32, kMxfp4).vector(m.block(i, "attn_sinks.weight"), 64);
    m.vector(m.block(i, "ffn_gate_inp.bias"), 32);
    for (const char* bias : {"attn_q.bias", "attn_k.bias", "attn_v.bias", "attn_output.bias"})
      m.vector(m.block(i, bias), bias[5] == 'q' ? 4096 : bias[5] == 'o' ? 2880 : 512);
    for (const char* bias : {"ffn_gate_exps.bias", "ffn_up_exps.bias", "ffn_down_exps.bias"})
      m.file.tensor(m.block(i, bias), {2880, 32}, kF32, 2880 * 32 * 4);
  }
  return m;
}

enum class Conversion { absorbed, expanded };

/// DeepSeek-V3's dimensions with `layers` of its 61 layers, the first three of them dense.
GgufModelBuilder deepseek_v3(int layers, Conversion conversion) {
  GgufModelBuilder m("deepseek2");
  m.count("block_count", static_cast<std::uint32_t>(layers)).count("embedding_length", 7168);
  m.count("context_length", 163840).count("attention.head_count", 128);
  m.count("attention.q_lora_rank", 1536).count("attention.kv_lora_rank", 512);
  m.count("rope.dimension_count", 64).count("leading_dense_block_count", 3);
  m.count("expert_count", 256).count("expert_used_count", 8).count("expert_shared_count", 1);
  const bool absorbed = conversion == Conversion::absorbed;
  m.count("attention.head_count_kv", absorbed ? 1 : 128);
  m.count("attention.key_length", absorbed ? 576 : 192);
  m.count("attention.value_length", absorbed ? 512 : 128);
  if (absorbed) m.count("attention.key_length_mla", 192).count("attention.value_length_mla", 128);
  m.outside(7168, 129280, false);
  for (int i = 0; i < layers; ++i) {
    m.norms(i, 7168).matrix(m.block(i, "attn_q_a"), 7168, 1536);
    m.matrix(m.block(i, "attn_q_b"), 1536, 128 * 192)
        .matrix(m.block(i, "attn_kv_a_mqa"), 7168, 576);
    m.vector(m.block(i, "attn_q_a_norm.weight"), 1536)
        .vector(m.block(i, "attn_kv_a_norm.weight"), 512);
    if (absorbed)
      m.matrix(m.block(i, "attn_k_b"), 128, 512, test::kF16, 128)
          .matrix(m.block(i, "attn_v_b"), 512, 128, test::kF16, 128);
    else
      m.matrix(m.block(i, "attn_kv_b"), 512, 128 * 256);
    m.matrix(m.block(i, "attn_output"), 128 * 128, 7168);
    if (i < 3) {
      m.gated_ffn(i, 7168, 18432);
      continue;
    }
    m.experts(i, 7168, 2048, 256).vector(m.block(i, "exp_probs_b.bias"), 256);
    m.matrix(m.block(i, "ffn_gate_shexp"), 7168, 2048)
        .matrix(m.block(i, "ffn_up_shexp"), 7168, 2048);
    m.matrix(m.block(i, "ffn_down_shexp"), 2048, 7168);
  }
  return m;
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

FieldStatus status_of(const ImportedModel& model, std::string_view key) {
  for (const ImportField& field : model.fields)
    if (field.key == key) return field.status;
  FAIL("no field " << key);
  return FieldStatus::ignored;
}

}  // namespace

TEST_CASE("Qwen2.5 7B in Q4_K_M has the bytes and parameters that llama-bench prints") {
  // llama-bench README: "qwen2 7B Q4_K - Medium", model_size 4677120000, model_n_params 7615616512.
  const GgufModel file = qwen25_7b().read();
  const TensorCensus census = gguf_census(file, 28);
  CHECK(census.bytes() == 4677120000);
  CHECK(census.elements() == 7615616512);
  const ImportedModel model = import_gguf(file);
  CHECK(model.warnings.empty());
  CHECK(count_parameters(model.spec).total == 7615616512.0);
  const WeightBytes bytes = weight_bytes(model.spec);
  CHECK(bytes.resident.value == relative(4677120000.0).epsilon(1e-9));
  // A step reads one row of the table's 152064 rows of 3584 elements in Q4_K (306,561,024 B).
  CHECK(bytes.read_per_step_batch1.value ==
        relative(4677120000.0 - 306561024.0 + 306561024.0 / 152064.0).epsilon(1e-9));
  // 28 layers x 4 heads x 128 x (K and V) x 2 B
  CHECK(kv_bytes_per_token(model.spec).value == 57344.0);
  CHECK(model.spec.formats[Component::lm_head].format.name() == "q6_K");
  CHECK(model.spec.formats[Component::attention].format.name() == "q4_K");
  CHECK(model.spec.formats[Component::embedding].bits == 4.5);
  CHECK(model.spec.name == "qwen2.5-7b-instruct");
  CHECK(status_of(model, "qwen2.attention.head_count_kv") == FieldStatus::read);
  CHECK(status_of(model, "qwen2.attention.key_length") == FieldStatus::defaulted);
  CHECK(status_of(model, "qwen2.feed_forward_length") == FieldStatus::ignored);
}

TEST_CASE("an imported spec written as YAML reads back equal") {
  for (const GgufModelBuilder& builder :
       {qwen25_7b(), gpt_oss_20b(), deepseek_v3(4, Conversion::absorbed)}) {
    ArchitectureSpec spec = import_gguf(builder.read()).spec;
    const Document document = parse_yaml(write_architecture_yaml(spec), "x.yaml");
    ArchitectureSpec back = read_architecture(document);
    // Mean bits are printed with enough digits to read back exactly.
    CHECK(back == spec);
  }
}

TEST_CASE("gpt-oss 20B caches 3 GiB at 131,072 tokens, half of its layers see 128 only") {
  const ImportedModel model = import_gguf(gpt_oss_20b().read());
  // 12 layers x 131072 x 2048 B = 3 GiB, 12 layers x 128 x 2048 B = 3 MiB.
  CHECK(cache_bytes(model.spec, 131072).kv.value == 3.0 * kGiB + 3.0 * 1048576.0);
  CHECK(std::holds_alternative<SlidingWindowAttention>(
      model.spec.mixers[static_cast<std::size_t>(model.spec.layers[0].mixer)].kind));
  const auto& moe = std::get<MoeFfn>(model.spec.ffns[0].kind);
  CHECK(moe.n_experts == 32);
  CHECK(moe.n_experts_per_token == 4);
  CHECK(moe.expert_bias);
  CHECK(moe.router_bias);
  // llama-bench prints "gpt-oss 20B MXFP4 MoE | 11.27 GiB | 20.91 B" (llama.cpp discussion 15396).
  const TensorCensus census = gguf_census(gpt_oss_20b().read(), 24);
  CHECK(static_cast<double>(census.bytes()) / kGiB == relative(11.27).epsilon(0.0005));
  CHECK(count_parameters(model.spec).total == relative(20.91e9).epsilon(0.0005));
  CHECK(weight_bytes(model.spec).resident.value ==
        relative(static_cast<double>(census.bytes())).epsilon(1e-6));
  CHECK(model.spec.formats[Component::routed_experts].format.name() == "mxfp4");
}

TEST_CASE("DeepSeek-V3 caches one latent of 576 per token and layer") {
  const ImportedModel model = import_gguf(deepseek_v3(61, Conversion::absorbed).read());
  CHECK(kv_bytes_per_token(model.spec).value == 61.0 * 576.0 * 2.0);
  // 671 B without the multi-token-prediction block (model card).
  CHECK(count_parameters(model.spec).total == relative(671.0e9).epsilon(0.005));
  CHECK(model.spec.mtp_layers == 0);
  const auto& moe = std::get<MoeFfn>(model.spec.ffns[1].kind);
  CHECK(moe.n_shared_experts == 1);
  CHECK(moe.shared_expert_dim == 2048);
  CHECK(moe.router_bias);
  CHECK(weight_bytes(model.spec).resident.value ==
        relative(static_cast<double>(
                     gguf_census(deepseek_v3(61, Conversion::absorbed).read(), 61).bytes()))
            .epsilon(1e-6));
}

TEST_CASE("multi-token-prediction blocks hold no cache and are counted apart") {
  // GLM-4.5-Air: block_count 47 with one block of prediction behind 46 layers.
  GgufModelBuilder m("glm4moe");
  m.count("block_count", 47).count("embedding_length", 4096).count("context_length", 131072);
  m.count("attention.head_count", 96).count("attention.head_count_kv", 8);
  m.count("attention.key_length", 128).count("attention.value_length", 128);
  m.count("nextn_predict_layers", 1).count("leading_dense_block_count", 1);
  m.count("expert_count", 128).count("expert_used_count", 8).count("expert_shared_count", 1);
  m.outside(4096, 151552, false);
  for (int i = 0; i < 47; ++i) {
    m.norms(i, 4096).attention(i, 4096, 96, 8, 128);
    if (i == 0)
      m.gated_ffn(i, 4096, 10944);
    else
      m.experts(i, 4096, 1408, 128);
    if (i == 46) m.matrix(m.block(i, "nextn.eh_proj"), 8192, 4096);
  }
  const ImportedModel model = import_gguf(m.read());
  CHECK(model.spec.layers.size() == 46);
  CHECK(model.spec.mtp_layers == 1);
  CHECK(kv_bytes_per_token(model.spec).value == 46.0 * 8 * 128 * 2 * 2);
}

TEST_CASE("Gemma 3 27B caches 10.41 GiB at 131,072 tokens") {
  GgufModelBuilder m("gemma3");
  m.count("block_count", 62).count("embedding_length", 5376).count("context_length", 131072);
  m.count("attention.head_count", 32).count("attention.head_count_kv", 16);
  m.count("attention.key_length", 128).count("attention.value_length", 128);
  m.count("attention.sliding_window", 1024);
  m.outside(5376, 262208, true);
  for (int i = 0; i < 62; ++i) {
    m.norms(i, 5376).attention(i, 5376, 32, 16, 128).gated_ffn(i, 5376, 21504);
    m.vector(m.block(i, "post_attention_norm.weight"), 5376);
    m.vector(m.block(i, "post_ffw_norm.weight"), 5376);
    m.vector(m.block(i, "attn_q_norm.weight"), 128).vector(m.block(i, "attn_k_norm.weight"), 128);
  }
  const ImportedModel model = import_gguf(m.read());
  // Every sixth layer sees everything: 10 layers; 52 see 1024. (10 x 131072 + 52 x 1024) x 8192 B.
  CHECK(cache_bytes(model.spec, 131072).kv.value == (10.0 * 131072 + 52.0 * 1024) * 8192.0);
  CHECK(model.spec.tied_embeddings);
  CHECK(model.spec.norms_per_block == 2);
  // google/gemma-3-27b-it: 27.0 B in the language model.
  CHECK(count_parameters(model.spec).total == relative(27.009e9).epsilon(0.001));
}

TEST_CASE("Gemma 4 with windows, head sizes and key-value heads by layer caches 1.23 GiB in q8_0") {
  // 48 layers, every sixth of them full with one key-value head of 512 whose keys serve as values;
  // the others have windows of 1024, 8 key-value heads of 256.
  GgufModelBuilder m("gemma4");
  m.count("block_count", 48).count("embedding_length", 3840).count("context_length", 131072);
  m.count("attention.head_count", 16).count("attention.sliding_window", 1024);
  m.count("attention.key_length", 512).count("attention.value_length", 512);
  m.count("attention.key_length_swa", 256).count("attention.value_length_swa", 256);
  std::vector<std::int32_t> kv;
  std::vector<bool> windows;
  m.outside(3840, 262144, true);
  for (int i = 0; i < 48; ++i) {
    const bool full = i % 6 == 5;
    kv.push_back(full ? 1 : 8);
    windows.push_back(!full);
    m.norms(i, 3840).gated_ffn(i, 3840, 15360);
    if (full)
      m.matrix(m.block(i, "attn_q"), 3840, 16 * 512)
          .matrix(m.block(i, "attn_k"), 3840, 512)
          .matrix(m.block(i, "attn_output"), 16 * 512, 3840);
    else
      m.attention(i, 3840, 16, 8, 256);
  }
  m.list("attention.head_count_kv", kv).list("attention.sliding_window_pattern", windows);
  ImportedModel model = import_gguf(m.read());
  model.spec.formats[Component::k] = model.spec.formats[Component::v] =
      storage_of(*find_format("q8_0"));
  // (8 x 131072 x 1 x 1024 + 40 x 1024 x 8 x 512) elements x 34/32 B = 1.228 GiB
  CHECK(cache_bytes(model.spec, 131072).kv.value ==
        (8.0 * 131072 * 1024 + 40.0 * 1024 * 8 * 512) * 34 / 32);
}

TEST_CASE("Mixtral reads alike with merged experts and with one tensor each") {
  for (const bool merged : {true, false}) {
    GgufModelBuilder m("llama");
    m.count("block_count", 2).count("embedding_length", 4096).count("context_length", 32768);
    m.count("attention.head_count", 32).count("attention.head_count_kv", 8);
    m.count("expert_count", 8).count("expert_used_count", 2);
    m.outside(4096, 32000, false);
    for (int i = 0; i < 2; ++i) {
      m.norms(i, 4096).attention(i, 4096, 32, 8, 128);
      if (merged) m.experts(i, 4096, 14336, 8);
      if (!merged) m.matrix(m.block(i, "ffn_gate_inp"), 4096, 8, kF32);
      for (int e = 0; e < 8 && !merged; ++e) {
        const std::string number = std::to_string(e);
        m.matrix(m.block(i, "ffn_gate." + number), 4096, 14336);
        m.matrix(m.block(i, "ffn_up." + number), 4096, 14336);
        m.matrix(m.block(i, "ffn_down." + number), 14336, 4096);
      }
    }
    const ImportedModel model = import_gguf(m.read());
    const auto& moe = std::get<MoeFfn>(model.spec.ffns[0].kind);
    CHECK(moe.n_experts == 8);
    CHECK(moe.n_experts_per_token == 2);
    CHECK(moe.expert_dim == 14336);
    CHECK(moe.form == FfnForm::gated);
    CHECK(model.warnings.empty());
  }
}

TEST_CASE("Phi-3's fused matrices are taken apart and its window is not used") {
  GgufModelBuilder m("phi3");
  m.count("block_count", 1).count("embedding_length", 3072).count("context_length", 4096);
  m.count("attention.head_count", 32).count("attention.head_count_kv", 32);
  m.count("attention.sliding_window", 2047);
  m.outside(3072, 32064, false).norms(0, 3072);
  m.matrix("blk.0.attn_qkv", 3072, 3 * 3072).matrix("blk.0.attn_output", 3072, 3072);
  m.matrix("blk.0.ffn_up", 3072, 2 * 8192).matrix("blk.0.ffn_down", 8192, 3072);
  const ImportedModel model = import_gguf(m.read());
  CHECK(std::get<DenseFfn>(model.spec.ffns[0].kind).form == FfnForm::gated);
  CHECK(std::get<DenseFfn>(model.spec.ffns[0].kind).ffn_dim == 8192);
  CHECK(std::holds_alternative<GroupedQueryAttention>(model.spec.mixers[0].kind));
  CHECK(status_of(model, "phi3.attention.sliding_window") == FieldStatus::ignored);
}

TEST_CASE("Llama 4 sees chunks of 8192 in three of four layers") {
  GgufModelBuilder m("llama4");
  m.count("block_count", 4).count("embedding_length", 5120).count("context_length", 1048576);
  m.count("attention.head_count", 40).count("attention.head_count_kv", 8);
  m.count("attention.key_length", 128).count("attention.value_length", 128);
  m.count("interleave_moe_layer_step", 2).count("expert_count", 128).count("expert_used_count", 1);
  m.outside(5120, 202048, false);
  for (int i = 0; i < 4; ++i) {
    m.norms(i, 5120).attention(i, 5120, 40, 8, 128);
    if (i % 2 == 0) m.gated_ffn(i, 5120, 16384);
    if (i % 2 == 0) continue;
    m.experts(i, 5120, 8192, 128);
    for (const char* name : {"ffn_gate_shexp", "ffn_up_shexp"})
      m.matrix(m.block(i, name), 5120, 8192);
    m.matrix(m.block(i, "ffn_down_shexp"), 8192, 5120);
  }
  const ArchitectureSpec spec = import_gguf(m.read()).spec;
  const auto& first = spec.mixers[static_cast<std::size_t>(spec.layers[0].mixer)].kind;
  CHECK(std::get<ChunkedAttention>(first).chunk == 8192);
  CHECK(std::holds_alternative<GroupedQueryAttention>(
      spec.mixers[static_cast<std::size_t>(spec.layers[3].mixer)].kind));
  CHECK(std::holds_alternative<DenseFfn>(
      spec.ffns[static_cast<std::size_t>(spec.layers[2].ffn)].kind));
  CHECK(std::get<MoeFfn>(spec.ffns[static_cast<std::size_t>(spec.layers[3].ffn)].kind)
            .shared_expert_dim == 8192);
}

TEST_CASE("unknown architectures are refused with the nearest known name") {
  GgufModelBuilder m("qwen3moee");
  CHECK_THROWS_AS(import_gguf(m.read()), UnsupportedError);
  CHECK(error_of(m) ==
        "qwen3moee.gguf: general.architecture: expected an architecture that Roofcast knows, got "
        "\"qwen3moee\", did you mean \"qwen3moe\"?");
  CHECK(contains(error_of(GgufModelBuilder("rwkv7")), "got \"rwkv7\""));
}

TEST_CASE("metadata and tensors that contradict each other are refused by name") {
  const auto model = [](std::uint32_t heads, std::uint32_t kv, std::int64_t hidden) {
    GgufModelBuilder m("llama");
    m.count("block_count", 1).count("embedding_length", 4096).count("context_length", 8192);
    m.count("attention.head_count", heads).count("attention.head_count_kv", kv);
    m.outside(hidden, 1000, false).norms(0, 4096).attention(0, 4096, 32, 8, 128);
    m.gated_ffn(0, 4096, 11008);
    return m;
  };
  CHECK(error_of(model(32, 8, 4096)).empty());
  CHECK(contains(error_of(model(32, 32, 4096)),
                 "blk.0.attn_k.weight: expected 4096 rows (32 heads of 128), got 1024"));
  CHECK(contains(error_of(model(16, 8, 4096)), "blk.0.attn_k.weight: expected 2048 rows"));
  CHECK(contains(error_of(model(32, 8, 4000)),
                 "token_embd.weight: expected rows of 4096 (embedding_length), got 4000"));
  CHECK(contains(error_of(model(0, 0, 4096)), "expected attention heads, got 0 heads"));
}

TEST_CASE("metadata of the wrong type or out of range are refused with their byte") {
  GgufModelBuilder text("llama");
  text.file.set("llama.embedding_length", "4096");
  CHECK(contains(error_of(text), "llama.embedding_length: expected a whole number, got \"4096\""));
  GgufModelBuilder huge("llama");
  huge.file.set("llama.embedding_length", std::uint64_t{1} << 40);
  CHECK(contains(error_of(huge), "byte "));
  CHECK(contains(error_of(huge), "llama.embedding_length: expected a whole number from 1 to"));
  CHECK(contains(error_of(GgufModelBuilder("llama")),
                 "llama.embedding_length: expected a whole number, got no such key"));
  GgufModelBuilder blocks("llama");
  blocks.count("embedding_length", 64).count("block_count", 4000000U);
  CHECK(contains(error_of(blocks), "llama.block_count: expected at most 1024, got 4000000"));
}
