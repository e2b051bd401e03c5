#include "model/reference/checkpoint/hf_semantics.hpp"

#include <cmath>
#include <initializer_list>

#include "model/base/error.hpp"
#include "model/base/spec_reader.hpp"

namespace roofcast {
namespace {

constexpr double kMaxTheta = 1e12;

/// What a model class fixes, or assumes where its config is silent.
struct ClassDefaults {
  std::string_view model_type;
  double norm_epsilon = 1e-6;
  double theta = 10000.0;
  double local_theta = 0.0;  // of layers with a window; 0: as `theta`
  double rotary_share = 1.0;
  float norm_offset = 0.0F;
  bool scales_embedding = false;  // by sqrt(hidden_size)
};

constexpr ClassDefaults kClasses[] = {
    {.model_type = "llama"},
    {.model_type = "mistral"},
    {.model_type = "qwen2"},
    {.model_type = "qwen3"},
    {.model_type = "gemma3_text",
     .theta = 1e6,
     .local_theta = 1e4,
     .norm_offset = 1.0F,
     .scales_embedding = true},
    {.model_type = "mixtral", .norm_epsilon = 1e-5, .theta = 1e6},
    {.model_type = "qwen3_moe"},
    {.model_type = "gpt_oss", .norm_epsilon = 1e-5, .theta = 150000.0},
    {.model_type = "deepseek_v3"},
    {.model_type = "qwen3_next", .rotary_share = 0.25, .norm_offset = 1.0F},
    {.model_type = "nemotron_h", .norm_epsilon = 1e-5, .rotary_share = 0.0},
};

[[noreturn]] void refuse(const SpecReader& reader, std::string_view key, const std::string& what) {
  const Value* const value = reader.node().find(key);
  const std::string path =
      reader.path().empty() ? std::string(key) : reader.path() + "." + std::string(key);
  throw UnsupportedError(
      place_message(reader.file(), value == nullptr ? reader.node().at : value->at, path, what));
}

double number_or(SpecReader& reader, std::initializer_list<std::string_view> keys, double fallback,
                 double min, double max) {
  for (const std::string_view key : keys)
    if (const auto value = reader.optional_number(key, min, max)) return *value;
  return fallback;
}

/// One set of rotary parameters: of the config itself, or of a map in it.
RotarySemantics read_rotary_map(SpecReader& reader, RotarySemantics fallback) {
  for (const std::string_view key : {"rope_type", "type"}) {
    const auto type = reader.optional_string(key);
    if (type && *type != "default")
      refuse(reader, key, "the reference engine has no rotary scaling of kind " + in_quotes(*type));
  }
  return {.theta = number_or(reader, {"rope_theta"}, fallback.theta, 1.0, kMaxTheta),
          .share = number_or(reader, {"partial_rotary_factor"}, fallback.share, 0.01, 1.0)};
}

void read_rotary(SpecReader& config, const ClassDefaults& defaults, ModelSemantics& semantics) {
  RotarySemantics all = read_rotary_map(config, {defaults.theta, defaults.rotary_share});
  RotarySemantics local = all;
  if (defaults.local_theta > 0.0)
    local.theta = number_or(config, {"rope_local_base_freq"}, defaults.local_theta, 1.0, kMaxTheta);
  if (auto scaling = config.optional_child("rope_scaling")) read_rotary_map(*scaling, all);
  if (auto parameters = config.optional_child("rope_parameters")) {
    auto whole_layers = parameters->optional_child("full_attention");
    auto window_layers = parameters->optional_child("sliding_attention");
    if (whole_layers) all = read_rotary_map(*whole_layers, all);
    if (window_layers) local = read_rotary_map(*window_layers, local);
    if (!whole_layers && !window_layers) {
      all = read_rotary_map(*parameters, all);
      if (defaults.local_theta == 0.0) local = all;
    }
  }
  semantics.rotary = all;
  if (local != all) semantics.local_rotary = local;
}

void read_activation(SpecReader& config, ModelSemantics& semantics) {
  for (const std::string_view key : {"hidden_activation", "hidden_act", "mlp_hidden_act"}) {
    const auto name = config.optional_string(key);
    if (!name) continue;
    if (*name == "silu")
      semantics.activation = Activation::silu;
    else if (*name == "gelu_pytorch_tanh" || *name == "gelu_new")
      semantics.activation = Activation::gelu;
    else if (*name == "relu2")
      semantics.activation = Activation::relu_squared;
    else
      refuse(config, key, "the reference engine has no activation " + in_quotes(*name));
    return;
  }
}

void refuse_numbers(SpecReader& config, std::initializer_list<std::string_view> keys) {
  for (const std::string_view key : keys)
    if (config.has(key)) refuse(config, key, "the reference engine does not compute this");
}

void read_gemma(SpecReader& config, ModelSemantics& semantics) {
  semantics.activation = semantics.activation.value_or(Activation::gelu);
  const double scalar = number_or(config, {"query_pre_attn_scalar"}, 256.0, 1e-3, 1e6);
  semantics.query_scale = static_cast<float>(1.0 / std::sqrt(scalar));
  semantics.logit_softcap =
      static_cast<float>(number_or(config, {"final_logit_softcapping"}, 0.0, 1e-3, 1e6));
  refuse_numbers(config, {"attn_logit_softcapping"});
  if (config.boolean_or("use_bidirectional_attention", false))
    refuse(config, "use_bidirectional_attention", "the reference engine decodes causally");
}

void read_gpt_oss(SpecReader& config, ModelSemantics& semantics) {
  semantics.activation = Activation::clamped_swiglu;
  semantics.swiglu.alpha =
      static_cast<float>(number_or(config, {"swiglu_alpha"}, 1.702, 1e-3, 1e3));
  semantics.swiglu.limit = static_cast<float>(number_or(config, {"swiglu_limit"}, 7.0, 1e-3, 1e6));
}

/// DeepSeek-V3's router: sigmoid scores, a bias that only chooses, groups.
void read_sigmoid_router(SpecReader& config, std::int64_t groups, std::int64_t open, double scale,
                         RouterSemantics& router) {
  const auto scoring = config.optional_string("scoring_func");
  if (scoring && *scoring != "sigmoid")
    refuse(config, "scoring_func", "the reference engine routes by sigmoid scores here");
  router = {
      .scoring = RouterSemantics::Scoring::sigmoid,
      .normalize = config.boolean_or("norm_topk_prob", true),
      .scale = static_cast<float>(number_or(config, {"routed_scaling_factor"}, scale, 1e-6, 1e6)),
      .bias_only_chooses = true,
      .groups = config.integer_or("n_group", groups, 1, kMaxRouterGroups),
      .groups_per_token = config.integer_or("topk_group", open, 1, kMaxRouterGroups)};
}

void read_deepseek(SpecReader& config, ModelSemantics& semantics) {
  read_sigmoid_router(config, 8, 4, 2.5, semantics.router);
  if (!config.boolean_or("rope_interleave", true))
    refuse(config, "rope_interleave",
           "the reference engine reads latent attention whose rotary pairs are neighbours");
}

void read_nemotron(SpecReader& config, ModelSemantics& semantics) {
  semantics.activation = semantics.activation.value_or(Activation::relu_squared);
  read_sigmoid_router(config, 1, 1, 1.0, semantics.router);
}

void read_class(SpecReader& config, std::string_view type, ModelSemantics& semantics) {
  if (type == "gemma3_text") read_gemma(config, semantics);
  if (type == "gpt_oss") read_gpt_oss(config, semantics);
  if (type == "deepseek_v3") read_deepseek(config, semantics);
  if (type == "nemotron_h") read_nemotron(config, semantics);
  if (type == "qwen3_next") semantics.router.normalize = config.boolean_or("norm_topk_prob", true);
  if (type == "qwen3_moe") semantics.router.normalize = config.boolean_or("norm_topk_prob", false);
}

const ClassDefaults& defaults_of(const SpecReader& config, const std::string& type) {
  std::vector<std::string> known;
  for (const ClassDefaults& row : kClasses) {
    if (row.model_type == type) return row;
    known.emplace_back(row.model_type);
  }
  refuse(
      config, "model_type",
      "the reference engine computes the values of " + list_of(known) + ", got " + in_quotes(type));
}

}  // namespace

std::string model_type_of(const Document& config) {
  return SpecReader(config.root, config.file).string("model_type");
}

ModelSemantics read_semantics(const Document& document) {
  SpecReader config(document.root, document.file);
  const std::string type = config.string("model_type");
  const ClassDefaults& defaults = defaults_of(config, type);
  ModelSemantics semantics;
  semantics.norm_epsilon = static_cast<float>(number_or(
      config, {"rms_norm_eps", "norm_eps", "layer_norm_epsilon"}, defaults.norm_epsilon, 0.0, 1.0));
  semantics.norm_offset = defaults.norm_offset;
  if (defaults.scales_embedding)
    semantics.embedding_scale =
        static_cast<float>(std::sqrt(static_cast<double>(config.integer("hidden_size"))));
  read_rotary(config, defaults, semantics);
  read_activation(config, semantics);
  read_class(config, type, semantics);
  return semantics;
}

}  // namespace roofcast
