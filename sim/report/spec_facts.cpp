#include "sim/report/spec_facts.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/tensor_parallel.hpp"

namespace roofcast {
namespace {

/// "64 query heads share 8 KV heads: /8"; for kinds without both counts empty.
std::string sharing_text(const HeadCounts& heads) {
  if (heads.query <= 0 || heads.kv <= 0) return {};
  if (heads.query == heads.kv) return fmt::format("{} heads, each with its own KV", heads.query);
  return fmt::format("{} query heads share {} KV head{}: /{}", heads.query, heads.kv,
                     heads.kv == 1 ? "" : "s", heads.query / heads.kv);
}

double cache_bytes_of(const Mixer& mixer, const Formats& formats, double tokens) {
  const CacheElements e = std::visit([&](const auto& kind) { return kind.cache(tokens); }, mixer);
  return e.k * formats[Component::k].bytes_per_element() +
         e.v * formats[Component::v].bytes_per_element() +
         e.indexer * formats[Component::indexer].bytes_per_element();
}

}  // namespace

Section spec_section(const ArchitectureSpec& spec) {
  const ParameterCount count = count_parameters(spec);
  const WeightBytes weights = weight_bytes(spec);
  const CacheBytes cache = cache_bytes(spec, 1.0);
  using K = ValueKind;
  Section s{.title = "Model"};
  s.metrics = {
      {"spec/layers", "layers", K::count, static_cast<double>(spec.layers.size())},
      {"spec/hidden_dim", "hidden dim", K::count, static_cast<double>(spec.hidden_dim)},
      {"spec/vocab_size", "vocabulary", K::count, static_cast<double>(spec.vocab_size)},
      {"spec/max_context", "largest context", K::count, static_cast<double>(spec.max_context)},
      {"spec/parameters/total", "parameters", K::count, count.total},
      {"spec/parameters/active", "active per token", K::count, count.active},
      {"spec/weight_bytes/resident", "weights in memory", K::bytes, weights.resident.value},
      {"spec/weight_bytes/read_per_step_batch1", "weights read, batch 1", K::bytes,
       weights.read_per_step_batch1.value},
      {"spec/kv_bytes_per_token", "KV per token", K::bytes, kv_bytes_per_token(spec).value},
      {"spec/state_bytes_per_sequence", "state per sequence", K::bytes, cache.state.value}};
  if (spec.max_context == 0) s.metrics[3].audience = Audience::scripts;
  if (cache.state.value == 0.0) s.metrics.back().audience = Audience::scripts;
  return s;
}

Table attention_table(const ArchitectureSpec& spec) {
  Table table{.tag = "spec/attention",
              .title = "Attention and state",
              .columns = {{"name", "name"},
                          {"kind", "kind"},
                          {"layers", "layers", ValueKind::count},
                          {"kv_bytes_per_token", "KV/token/layer", ValueKind::bytes},
                          {"sharing", "sharing"},
                          {"fields", "fields"}}};
  for (std::size_t i = 0; i < spec.mixers.size(); ++i) {
    const NamedMixer& mixer = spec.mixers[i];
    const auto layers = std::count_if(spec.layers.begin(), spec.layers.end(), [i](const Layer& l) {
      return l.mixer == static_cast<int>(i);
    });
    const std::string fields =
        std::visit([](const auto& kind) { return fields_text(kind); }, mixer.kind);
    table.rows.push_back({mixer.name, std::string(kind_name(mixer.kind)),
                          static_cast<double>(layers),
                          cache_bytes_of(mixer.kind, spec.formats, 1.0),
                          sharing_text(head_counts(mixer.kind)), fields});
  }
  return table;
}

}  // namespace roofcast
