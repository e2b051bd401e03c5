// Imports the configs of 34 published models, kept beside the repository, and compares them with
// what their publishers state and with the shipped specs. Skipped where that folder is absent.

#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>
#include <optional>
#include <string>

#include "model/architecture/model_import.hpp"
#include "tests/relative.hpp"

namespace {

using namespace roofcast;
using roofcast::test::relative;

constexpr double kGiB = 1024.0 * 1024.0 * 1024.0;

std::optional<ImportedModel> import_shared(const std::string& name) {
  const std::string path = std::string(ROOFCAST_SHARED_DIR) + "/configs/" + name + "_config.json";
  if (!std::filesystem::exists(path)) {
    MESSAGE("skipped: no config of " << name << " beside the repository");
    return std::nullopt;
  }
  return import_model_path(path);
}

/// What a publisher's figure counts beside the weights of the layers and the lm_head.
enum class Counts { language_model, with_resident, with_mtp, with_mtp_and_resident };
enum class Active { none, no_input_table, with_input_table, no_tables };

struct Published {
  const char* name;
  double total;  // billions of parameters
  Counts counts;
  double active;       // billions
  double active_unit;  // of the last digit that is given
  Active active_counts;
};

// Sources: the model cards on huggingface.co under the names below ("--" is "/"), and the parameter
// counts of their safetensors files on the same pages where the card rounds to whole billions.
constexpr Published kPublished[] = {
    {"MiniMaxAI--MiniMax-M2.5", 229, Counts::language_model, 10, 1, Active::no_input_table},
    {"MiniMaxAI--MiniMax-M3", 428, Counts::language_model, 23, 1, Active::no_tables},
    {"Qwen--Qwen3-0.6B", 0.596, Counts::language_model, 0, 0, Active::none},
    {"Qwen--Qwen3-235B-A22B-FP8", 235, Counts::language_model, 22, 1, Active::with_input_table},
    {"Qwen--Qwen3-235B-A22B", 235, Counts::language_model, 22, 1, Active::with_input_table},
    {"Qwen--Qwen3-30B-A3B", 30.5, Counts::language_model, 3.3, 0.1, Active::with_input_table},
    {"Qwen--Qwen3-32B-FP8", 32.8, Counts::language_model, 0, 0, Active::none},
    {"Qwen--Qwen3-32B", 32.8, Counts::language_model, 0, 0, Active::none},
    {"Qwen--Qwen3-8B", 8.2, Counts::language_model, 0, 0, Active::none},
    // 31,070,754,032 elements in the files: language model and vision tower
    {"Qwen--Qwen3-VL-30B-A3B-Instruct", 31.07, Counts::with_resident, 3.3, 0.1,
     Active::with_input_table},
    // 125B in the files: the 122B of the name, one MTP block and the vision tower
    {"Qwen--Qwen3.5-122B-A10B", 125, Counts::with_mtp_and_resident, 10, 1,
     Active::with_input_table},
    {"Qwen--Qwen3.5-35B-A3B", 36, Counts::with_mtp_and_resident, 3, 1, Active::with_input_table},
    {"deepseek-ai--DeepSeek-V3.2", 671, Counts::language_model, 37, 1, Active::no_input_table},
    {"deepseek-ai--DeepSeek-V3", 671, Counts::language_model, 37, 1, Active::no_input_table},
    {"deepseek-ai--DeepSeek-V4-Pro", 1600, Counts::with_mtp, 49, 1, Active::no_input_table},
    {"google--gemma-4-26B-A4B", 25.2, Counts::language_model, 3.8, 0.1, Active::no_input_table},
    {"meta-llama--Llama-4-Maverick-17B-128E-Instruct", 400, Counts::language_model, 17, 1,
     Active::with_input_table},
    {"meta-llama--Meta-Llama-3.1-70B", 70.553706496, Counts::language_model, 0, 0, Active::none},
    {"meta-llama--Meta-Llama-3.1-8B", 8.030261248, Counts::language_model, 0, 0, Active::none},
    {"mistralai--Mixtral-8x7B-v0.1", 46.702792704, Counts::language_model, 12.9, 0.1,
     Active::with_input_table},
    {"moonshotai--Kimi-K2-Instruct", 1030, Counts::language_model, 32, 1, Active::no_input_table},
    {"moonshotai--Kimi-K3", 2800, Counts::with_resident, 0, 0, Active::none},
    {"nvidia--DeepSeek-V3.1-NVFP4", 671, Counts::language_model, 37, 1, Active::no_input_table},
    // Kimi K2.6 keeps the text model of Kimi K2
    {"nvidia--Kimi-K2.6-NVFP4", 1030, Counts::language_model, 32, 1, Active::no_input_table},
    {"nvidia--Llama-3_3-Nemotron-Super-49B-v1", 49.9, Counts::language_model, 0, 0, Active::none},
    {"nvidia--NVIDIA-Nemotron-3-Nano-30B-A3B-BF16", 31.6, Counts::language_model, 3.2, 0.1,
     Active::no_input_table},
    {"nvidia--Nemotron-H-56B-Base-8K", 56, Counts::language_model, 0, 0, Active::none},
    // 27.8B in the files of Qwen3.6-27B
    {"nvidia--Qwen3.6-27B-NVFP4", 27.8, Counts::with_mtp_and_resident, 0, 0, Active::none},
    {"openai--gpt-oss-120b", 116.83, Counts::language_model, 5.13, 0.01, Active::no_input_table},
    {"zai-org--GLM-5-FP8", 744, Counts::language_model, 40, 1, Active::no_input_table},
    {"zai-org--GLM-5", 744, Counts::language_model, 40, 1, Active::no_input_table},
};

double counted(const ParameterCount& count, Counts what) {
  const bool mtp = what == Counts::with_mtp || what == Counts::with_mtp_and_resident;
  const bool resident = what == Counts::with_resident || what == Counts::with_mtp_and_resident;
  return count.total + (mtp ? count.mtp : 0.0) + (resident ? count.resident : 0.0);
}

double counted(const ParameterCount& count, Active what) {
  if (what == Active::with_input_table) return count.active + count.embedding;
  return what == Active::no_tables ? count.active - count.embedding : count.active;
}

struct Pair {
  const char* config;
  const char* spec;
};

constexpr Pair kPairs[] = {
    {"MiniMaxAI--MiniMax-M2.5", "minimax-m2"},
    {"MiniMaxAI--MiniMax-M3", "minimax-m3"},
    {"Qwen--Qwen3-0.6B", "qwen3-0.6b"},
    {"Qwen--Qwen3-235B-A22B", "qwen3-235b-a22b"},
    {"Qwen--Qwen3-30B-A3B", "qwen3-30b-a3b"},
    {"Qwen--Qwen3-32B", "qwen3-32b"},
    {"Qwen--Qwen3-8B", "qwen3-8b"},
    {"Qwen--Qwen3.5-122B-A10B", "qwen3.5-122b-a10b"},
    {"Qwen--Qwen3.5-35B-A3B", "qwen3.5-35b-a3b"},
    {"deepseek-ai--DeepSeek-V3.2", "deepseek-v3.2"},
    {"deepseek-ai--DeepSeek-V3", "deepseek-v3"},
    {"deepseek-ai--DeepSeek-V4-Pro", "deepseek-v4-pro"},
    {"google--gemma-4-26B-A4B", "gemma-4-26b-a4b"},
    {"meta-llama--Llama-4-Maverick-17B-128E-Instruct", "llama-4-maverick"},
    {"meta-llama--Meta-Llama-3.1-70B", "llama-3.1-70b"},
    {"meta-llama--Meta-Llama-3.1-8B", "llama-3.1-8b"},
    {"mistralai--Mixtral-8x7B-v0.1", "mixtral-8x7b"},
    {"moonshotai--Kimi-K2-Instruct", "kimi-k2"},
    {"moonshotai--Kimi-K3", "kimi-k3"},
    {"nvidia--Llama-3_3-Nemotron-Super-49B-v1", "nemotron-super-49b"},
    {"nvidia--NVIDIA-Nemotron-3-Nano-30B-A3B-BF16", "nemotron-3-nano-30b-a3b"},
    {"nvidia--Nemotron-H-56B-Base-8K", "nemotron-h-56b"},
    {"openai--gpt-oss-120b", "gpt-oss-120b"},
    {"zai-org--GLM-5", "glm-5"},
};

/// Names, titles and parts that only one side knows of do not count.
void check_same_model(const ArchitectureSpec& imported, const ArchitectureSpec& shipped) {
  CHECK(imported.hidden_dim == shipped.hidden_dim);
  CHECK(imported.vocab_size == shipped.vocab_size);
  CHECK(imported.tied_embeddings == shipped.tied_embeddings);
  CHECK(imported.max_context == shipped.max_context);
  CHECK(imported.norm == shipped.norm);
  CHECK(imported.block_order == shipped.block_order);
  CHECK(imported.norms_per_block == shipped.norms_per_block);
  CHECK(imported.mtp_layers == shipped.mtp_layers);
  CHECK(imported.formats == shipped.formats);
  REQUIRE(imported.layers.size() == shipped.layers.size());
  for (std::size_t i = 0; i < imported.layers.size(); ++i) {
    CAPTURE(i);
    REQUIRE(imported.mixers[static_cast<std::size_t>(imported.layers[i].mixer)].kind ==
            shipped.mixers[static_cast<std::size_t>(shipped.layers[i].mixer)].kind);
    REQUIRE(imported.ffns[static_cast<std::size_t>(imported.layers[i].ffn)].kind ==
            shipped.ffns[static_cast<std::size_t>(shipped.layers[i].ffn)].kind);
  }
}

}  // namespace

TEST_CASE("parameter counts of imported configs are the published ones") {
  for (const Published& row : kPublished) {
    CAPTURE(row.name);
    const auto model = import_shared(row.name);
    if (!model) return;
    const ParameterCount count = count_parameters(model->spec);
    CHECK(counted(count, row.counts) / 1e9 == relative(row.total).epsilon(0.01));
    if (row.active_counts == Active::none) continue;
    const double active = counted(count, row.active_counts) / 1e9;
    CHECK(std::abs(active - row.active) < row.active_unit);
  }
}

TEST_CASE("an imported config gives the same model as the shipped spec") {
  for (const Pair& pair : kPairs) {
    CAPTURE(pair.config);
    const auto imported = import_shared(pair.config);
    if (!imported) return;
    const ImportedModel shipped = import_model_path(std::string(ROOFCAST_SOURCE_DIR) +
                                                    "/architectures/" + pair.spec + ".yaml");
    check_same_model(imported->spec, shipped.spec);
  }
}

TEST_CASE("KV caches at the longest context are those of the checked cases") {
  const auto kv_gib = [](const char* name, double context, double bits) {
    auto model = import_shared(name);
    if (!model) return 0.0;
    for (const Component c : {Component::k, Component::v})
      model->spec.formats[c] = Storage{FormatId{}, bits};
    return cache_bytes(model->spec, context).kv.value / kGiB;
  };
  if (!import_shared("Qwen--Qwen3-0.6B")) return;
  // 28 layers x 2 x 8 heads x 128 x 2 B x 40960
  CHECK(kv_gib("Qwen--Qwen3-0.6B", 40960, 16) == relative(4.375));
  // 61 layers x 576 x 2 B x 163840
  CHECK(kv_gib("nvidia--DeepSeek-V3.1-NVFP4", 163840, 16) == relative(10.72).epsilon(1e-3));
  // 61 layers x 576 x 2 B x 262144
  CHECK(kv_gib("nvidia--Kimi-K2.6-NVFP4", 262144, 16) == relative(17.16).epsilon(1e-3));
  // 16 of 64 layers x 2 x 4 heads x 256 x 2 B x 262144
  CHECK(kv_gib("nvidia--Qwen3.6-27B-NVFP4", 262144, 16) == relative(16.0));
}

TEST_CASE("fixed state of Qwen3.6-27B is 149.625 MiB in fp32") {
  // 48 layers x (48 heads x 128 x 128 + 3 inputs x 10240 channels) x 4 B
  auto model = import_shared("nvidia--Qwen3.6-27B-NVFP4");
  if (!model) return;
  model->spec.formats[Component::conv_state] = storage_of(*find_format("fp32"));
  CHECK(cache_bytes(model->spec, 4096).state.value / (1024.0 * 1024.0) == relative(149.625));
}

TEST_CASE("ignore lists of published checkpoints are honoured") {
  if (const auto model = import_shared("nvidia--Kimi-K2.6-NVFP4")) {
    const Formats& f = model->spec.formats;
    CHECK(f[Component::routed_experts].format.name() == "nvfp4");
    CHECK(f[Component::attention].bits == 16.0);
    CHECK(f[Component::shared_experts].bits == 16.0);
    CHECK(f[Component::lm_head].bits == 16.0);
    CHECK(f[Component::k].format.name() == "fp8_e4m3");
  }
  if (const auto model = import_shared("openai--gpt-oss-120b")) {
    const Formats& f = model->spec.formats;
    CHECK(f[Component::routed_experts].format.name() == "mxfp4");
    CHECK(f[Component::attention].bits == 16.0);
    CHECK(f[Component::router].bits == 16.0);
    // 65.25 GB in the published safetensors files, whose experts are padded nowhere
    CHECK(weight_bytes(model->spec).resident.value / 1e9 == relative(65.25).epsilon(0.01));
  }
  if (const auto model = import_shared("nvidia--DeepSeek-V3.1-NVFP4")) {
    // Of the attention only o_proj is quantised: 16384 x 7168 of 187,105,280 weights a layer at 4.5
    // bits, the others at 16.
    CHECK(model->spec.formats[Component::attention].bits ==
          relative(16.0 - 11.5 * 16384.0 * 7168.0 / 187105280.0));
  }
}
