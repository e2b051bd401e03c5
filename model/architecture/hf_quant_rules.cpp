#include "model/architecture/hf_quant_rules.hpp"

#include <fmt/format.h>

#include <array>

namespace roofcast::detail {
namespace {

Storage named(std::string_view format) { return storage_of(*find_format(format)); }

constexpr std::int64_t kMaxGroup = 1 << 16;

/// Integers of 4 or 8 bits with one fp16 scale, and for asymmetric ones a zero point, per group; a
/// group of 0 elements is a whole channel.
Storage integer_storage(const HfReader& at, std::int64_t bits, std::int64_t group, bool zero_point,
                        std::string_view zero_point_format) {
  if (bits == 8 && (group == 0 || group >= 4096)) return named("int8");
  if (bits != 4 && bits != 8)
    at.refuse("bits", fmt::format("{}-bit integers are not represented", bits));
  Storage storage = named(bits == 8     ? "int8"
                          : zero_point  ? zero_point_format
                          : group == 32 ? "int4_g32"
                                        : "int4_g128");
  const double per_group = 16.0 + (zero_point ? static_cast<double>(bits) : 0.0);
  storage.bits =
      static_cast<double>(bits) + (group > 0 ? per_group / static_cast<double>(group) : 0.0);
  return storage;
}

Storage float_storage(const HfReader& at, std::int64_t bits, std::int64_t group, bool block) {
  if (bits == 8) return named(block ? "fp8_block128" : group == 32 ? "mxfp8" : "fp8_e4m3");
  if (bits == 4 && group == 16) return named("nvfp4");
  if (bits == 4 && group == 32) return named("mxfp4");
  at.refuse("num_bits",
            fmt::format("floats of {} bits in groups of {} are not represented", bits, group));
}

/// `weights` of a compressed-tensors or ModelOpt group, or a kv_cache_scheme.
Storage read_scheme(HfReader scheme) {
  const std::int64_t bits = scheme.integer("num_bits", 16);
  const std::string type = scheme.optional_string("type").value_or("int");
  const std::int64_t group =
      std::max<std::int64_t>(0, scheme.optional_integer("group_size", kMaxGroup, -1).value_or(0));
  const std::string strategy = scheme.optional_string("strategy").value_or("");
  const bool block = strategy == "block" || scheme.has("block_structure");
  const bool symmetric = scheme.boolean_or("symmetric", true);
  if (type == "float") return float_storage(scheme, bits, group, block);
  if (type != "int")
    scheme.refuse("type", fmt::format("expected int or float, got {}", in_quotes(type)));
  return integer_storage(scheme, bits, group, !symmetric, "awq_g128");
}

/// Every matrix of every layer is matched against each pattern; real lists have a few.
constexpr std::size_t kMaxPatterns = 1024;

void add_module(ModuleSet& set, const HfReader& at, std::string_view key, std::string_view entry) {
  if (!set.add(entry))
    at.refuse(key, fmt::format("the expression {} is not understood", in_quotes(entry)));
  if (set.n_patterns() > kMaxPatterns)
    at.fail(key, fmt::format("expected at most {} patterns, got more", kMaxPatterns));
}

void add_all(ModuleSet& set, HfReader& at, std::string_view key) {
  for (const std::string& entry : at.strings(key)) add_module(set, at, key, entry);
}

struct Algorithm {
  std::string_view name;
  std::string_view format;
};
/// Names of NVIDIA ModelOpt (modelopt/torch/export/model_config.py).
constexpr std::array kAlgorithms = {
    Algorithm{"FP8", "fp8_e4m3"},
    Algorithm{"FP8_PB_REAL", "fp8_block128"},
    Algorithm{"FP8_PB_WO", "fp8_block128"},
    Algorithm{"FP8_PER_CHANNEL_PER_TOKEN", "fp8_e4m3"},
    Algorithm{"INT8", "int8"},
    Algorithm{"MXFP4", "mxfp4"},
    Algorithm{"MXFP8", "mxfp8"},
    Algorithm{"NVFP4", "nvfp4"},
    Algorithm{"NVFP4_AWQ", "nvfp4"},
    Algorithm{"W4A16_AWQ", "int4_g128"},
    Algorithm{"W4A16_NVFP4", "nvfp4"},
    Algorithm{"W4A8_AWQ", "int4_g128"},
    Algorithm{"W4A8_MXFP4_FP8", "mxfp4"},
    Algorithm{"W4A8_NVFP4_FP8", "nvfp4"},
    Algorithm{"W8A16", "int8"},
    Algorithm{"W8A8_SQ_PER_CHANNEL", "int8"},
};

Storage algorithm_storage(const HfReader& at, std::string_view key, const std::string& name) {
  std::vector<std::string> names;
  for (const Algorithm& algorithm : kAlgorithms) {
    if (algorithm.name == name) return named(algorithm.format);
    names.emplace_back(algorithm.name);
  }
  at.refuse(key, fmt::format("{} is not a known quantisation{}", in_quotes(name),
                             did_you_mean(name, names)));
}

/// Map from module name to {quant_algo, group_size}: one group per algorithm.
void read_quantized_layers(HfReader& config, QuantRules& rules) {
  constexpr std::string_view kKey = "quantized_layers";
  HfReport layers_report;  // the map counts as one key
  const HfReader layers(*config.node().find(kKey), config.file(), config.dotted(kKey),
                        layers_report);
  std::vector<std::string> algorithms;
  for (const auto& [module, value] : layers.node().members) {
    HfReader entry(value, config.file(), layers.dotted(module), layers_report);
    const std::string algorithm = entry.string("quant_algo");
    std::size_t index = 0;
    while (index < algorithms.size() && algorithms[index] != algorithm) ++index;
    if (index == algorithms.size()) {
      algorithms.push_back(algorithm);
      rules.groups.push_back({{}, algorithm_storage(entry, "quant_algo", algorithm)});
    }
    add_module(rules.groups[index].modules, layers, module, module);
  }
  config.read(kKey, fmt::format("map of {}", layers.node().members.size()));
}

constexpr std::size_t kMaxGroups = 256;

/// Groups whose targets are classes ("Linear") set the base; others list modules.
void read_config_groups(HfReader& config, QuantRules& rules) {
  HfReader groups = *config.optional_child("config_groups");
  if (groups.node().members.size() > kMaxGroups)
    config.fail("config_groups", fmt::format("expected at most {} groups, got {}", kMaxGroups,
                                             groups.node().members.size()));
  std::size_t patterns = 0;
  for (const auto& member : groups.node().members) {
    HfReader group = *groups.optional_child(member.first);
    auto weights = group.optional_child("weights");
    if (!weights) continue;
    QuantGroup read{{}, read_scheme(*weights)};
    for (const std::string& target : group.strings("targets")) {
      if (target == "Linear") {
        rules.base = read.storage;
        rules.base_reaches_lm_head = true;
      } else {
        add_module(read.modules, group, "targets", target);
      }
    }
    patterns += read.modules.n_patterns();
    if (patterns > kMaxPatterns)
      group.fail("targets",
                 fmt::format("expected at most {} patterns in all groups, got more", kMaxPatterns));
    if (!read.modules.empty()) rules.groups.push_back(std::move(read));
  }
}

void read_kv_scheme(HfReader& config, QuantRules& rules) {
  if (auto scheme = config.optional_child("kv_cache_scheme")) rules.kv = read_scheme(*scheme);
}

/// Elements that share one scale: rows times columns of a block; none without blocks.
std::optional<double> read_block_elements(HfReader& config) {
  constexpr std::string_view kKey = "weight_block_size";
  const auto sides = config.integers(kKey, kMaxGroup, 1);
  if (!config.has(kKey)) return std::nullopt;
  if (sides.size() != 2)
    config.fail(kKey,
                fmt::format("expected two whole numbers, rows and columns, got {}", sides.size()));
  // With fewer elements a block the scales would outweigh what they scale.
  constexpr std::int64_t kFewest = 16;
  if (sides[0] * sides[1] < kFewest)
    config.fail(kKey, fmt::format("expected blocks of at least {} elements, got {} x {}", kFewest,
                                  sides[0], sides[1]));
  return static_cast<double>(sides[0] * sides[1]);
}

QuantRules read_fp8(HfReader& config) {
  QuantRules rules;
  const std::optional<double> block = read_block_elements(config);
  rules.base = named(block ? "fp8_block128" : "fp8_e4m3");
  if (block) rules.base->bits = 8.0 + 32.0 / *block;
  add_all(rules.excluded, config, config.first_of({"modules_to_not_convert", "ignored_layers"}));
  return rules;
}

QuantRules read_weight_only(HfReader& config, std::string_view format, bool zero_point_default) {
  QuantRules rules;
  const std::int64_t bits = config.integer(config.first_of({"bits", "w_bit"}), 16);
  const std::int64_t group = std::max<std::int64_t>(
      0, config.optional_integer(config.first_of({"group_size", "q_group_size"}), kMaxGroup, -1)
             .value_or(128));
  // GPTQ files hold zero points even where the scheme is symmetric.
  const bool zero_point = zero_point_default || config.boolean_or("zero_point", true);
  rules.base = integer_storage(config, bits, group, zero_point, format);
  rules.base_reaches_lm_head = config.boolean_or("lm_head", false);
  add_all(rules.excluded, config, "modules_to_not_convert");
  if (auto dynamic = config.optional_child("dynamic")) {
    for (const auto& [entry, value] : dynamic->node().members) {
      if (!entry.starts_with("-:"))
        dynamic->refuse(entry, "only exclusions (\"-:\") are understood here");
      add_module(rules.excluded, *dynamic, entry, "re:" + entry.substr(2));
    }
    config.read("dynamic", fmt::format("map of {}", dynamic->node().members.size()));
  }
  return rules;
}

QuantRules read_bitsandbytes(HfReader& config) {
  QuantRules rules;
  if (config.boolean_or("load_in_8bit", false)) {
    rules.base = named("int8");
  } else if (config.boolean_or("load_in_4bit", false)) {
    // 64 elements share an fp32 scale; nested quantisation stores that in 8 bits and an fp32 scale
    // per 256 of them (arXiv:2305.14314, section 3).
    const bool nested = config.boolean_or("bnb_4bit_use_double_quant", false);
    rules.base = named("int4_g128");
    rules.base->bits = 4.0 + (nested ? 8.0 / 64.0 + 32.0 / (64.0 * 256.0) : 32.0 / 64.0);
  } else {
    config.refuse("quant_method", "expected load_in_4bit or load_in_8bit");
  }
  add_all(rules.excluded, config, "llm_int8_skip_modules");
  return rules;
}

QuantRules read_mxfp4(HfReader& config) {
  QuantRules rules;
  rules.base = named("mxfp4");
  rules.reach = QuantReach::experts;
  add_all(rules.excluded, config, "modules_to_not_convert");
  return rules;
}

QuantRules read_compressed_tensors(HfReader& config) {
  QuantRules rules;
  if (config.has("config_groups")) read_config_groups(config, rules);
  add_all(rules.excluded, config, "ignore");
  read_kv_scheme(config, rules);
  return rules;
}

}  // namespace

QuantRules read_modelopt(HfReader config) {
  QuantRules rules;
  rules.method = "modelopt";
  const std::string algorithm = config.optional_string("quant_algo").value_or("");
  if (config.has("quantized_layers"))
    read_quantized_layers(config, rules);
  else if (!algorithm.empty())
    rules.base = algorithm_storage(config, "quant_algo", algorithm);
  else if (config.has("config_groups"))
    read_config_groups(config, rules);
  if (config.has("config_groups"))
    config.ignored("config_groups", "the same as quant_algo and quantized_layers say");
  rules.base_reaches_lm_head = true;
  const std::string_view excluded = config.first_of({"exclude_modules", "ignore"});
  add_all(rules.excluded, config, excluded);
  if (const auto kv = config.optional_string("kv_cache_quant_algo"))
    rules.kv = algorithm_storage(config, "kv_cache_quant_algo", *kv);
  read_kv_scheme(config, rules);
  return rules;
}

QuantRules read_quantization_config(HfReader config) {
  using Read = QuantRules (*)(HfReader&);
  struct Method {
    std::string_view name;
    Read read;
  };
  constexpr std::array kMethods = {
      Method{"awq", [](HfReader& c) { return read_weight_only(c, "awq_g128", false); }},
      Method{"bitsandbytes", read_bitsandbytes},
      Method{"compressed-tensors", read_compressed_tensors},
      Method{"fbgemm_fp8", read_fp8},
      Method{"fp8", read_fp8},
      Method{"gptq", [](HfReader& c) { return read_weight_only(c, "gptq_g128", true); }},
      Method{"modelopt", [](HfReader& c) { return read_modelopt(c); }},
      Method{"mxfp4", read_mxfp4},
  };
  const std::string name = config.string("quant_method");
  std::vector<std::string> names;
  for (const Method& method : kMethods) {
    names.emplace_back(method.name);
    if (method.name != name) continue;
    QuantRules rules = method.read(config);
    rules.method = name;
    return rules;
  }
  config.refuse("quant_method", fmt::format("{} is not a known quantisation{}", in_quotes(name),
                                            did_you_mean(name, names)));
}

}  // namespace roofcast::detail
