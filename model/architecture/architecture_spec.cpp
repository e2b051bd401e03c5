#include "model/architecture/architecture_spec.hpp"

#include <algorithm>
#include <stdexcept>

#include "model/operators/decode_step.hpp"
#include "model/operators/residual.hpp"

namespace roofcast {
namespace {

double norm_elements(const ArchitectureSpec& spec) {
  const double per_norm = spec.norm == NormKind::layer ? 2.0 : 1.0;
  return per_norm * static_cast<double>(spec.hidden_dim);
}

bool is_none(const Mixer& mixer) { return std::holds_alternative<NoMixer>(mixer); }
bool is_none(const FeedForward& ffn) { return std::holds_alternative<NoFfn>(ffn); }

MixerParameters mixer_parameters(const ArchitectureSpec& spec, const Layer& layer) {
  return std::visit(
      [&](const auto& kind) { return kind.parameters(static_cast<double>(spec.hidden_dim)); },
      spec.mixers[static_cast<std::size_t>(layer.mixer)].kind);
}

FfnParameters ffn_parameters(const ArchitectureSpec& spec, const Layer& layer) {
  return std::visit(
      [&](const auto& kind) { return kind.parameters(static_cast<double>(spec.hidden_dim)); },
      spec.ffns[static_cast<std::size_t>(layer.ffn)].kind);
}

/// Attention and feed-forward parts that a layer has: 0 to 2.
double blocks_of(const ArchitectureSpec& spec, const Layer& layer) {
  return (is_none(spec.mixers[static_cast<std::size_t>(layer.mixer)].kind) ? 0.0 : 1.0) +
         (is_none(spec.ffns[static_cast<std::size_t>(layer.ffn)].kind) ? 0.0 : 1.0);
}

double residual_elements(const ArchitectureSpec& spec) {
  double blocks = 0.0;
  for (const LayerClass& c : spec.classes) blocks += c.count * blocks_of(spec, c.layer);
  return residual_parameters(spec).total(blocks);
}

double layer_norm_elements(const ArchitectureSpec& spec, const Layer& layer) {
  const bool mixer = !is_none(spec.mixers[static_cast<std::size_t>(layer.mixer)].kind);
  const bool ffn = !is_none(spec.ffns[static_cast<std::size_t>(layer.ffn)].kind);
  const bool shared = spec.block_order == BlockOrder::parallel_one_norm && mixer && ffn;
  const double blocks = (mixer ? 1.0 : 0.0) + (ffn ? 1.0 : 0.0) - (shared ? 1.0 : 0.0);
  return blocks * static_cast<double>(spec.norms_per_block) * norm_elements(spec);
}

double per_layer_projection_elements(const ArchitectureSpec& spec) {
  if (!spec.per_layer_embedding) return 0.0;
  return 2.0 * static_cast<double>(spec.per_layer_embedding->dim * spec.hidden_dim) +
         static_cast<double>(spec.hidden_dim);
}

/// Table and model-level projection of per-layer embeddings.
double per_layer_table_elements(const ArchitectureSpec& spec) {
  if (!spec.per_layer_embedding) return 0.0;
  return static_cast<double>(spec.per_layer_embedding->vocab_size * spec.per_layer_embedding->dim) *
         static_cast<double>(spec.layers.size());
}
double per_layer_model_projection_elements(const ArchitectureSpec& spec) {
  if (!spec.per_layer_embedding) return 0.0;
  return static_cast<double>(spec.hidden_dim * spec.per_layer_embedding->dim) *
         static_cast<double>(spec.layers.size());
}

double embedding_elements(const ArchitectureSpec& spec) {
  return static_cast<double>(spec.vocab_size * spec.hidden_dim);
}

/// One MTP block: a layer like the last, two norms, and the (2 hidden -> hidden) projection that
/// joins hidden state and embedding (DeepSeek-V3 report, section 2.2). Embedding and head are
/// shared.
double mtp_elements(const ArchitectureSpec& spec) {
  if (spec.mtp_layers == 0) return 0.0;
  const Layer& last = spec.layers.back();
  const double hidden = static_cast<double>(spec.hidden_dim);
  const double one = mixer_parameters(spec, last).total() + ffn_parameters(spec, last).total() +
                     layer_norm_elements(spec, last) + 2.0 * hidden * hidden + 3.0 * hidden;
  return one * static_cast<double>(spec.mtp_layers);
}

CacheElements cache_elements(const Mixer& mixer, double context) {
  return std::visit([&](const auto& kind) { return kind.cache(context); }, mixer);
}

CacheBytes to_bytes(const CacheElements& e, const Formats& f) {
  return {
      .kv = {e.k * f[Component::k].bytes_per_element() + e.v * f[Component::v].bytes_per_element() +
             e.indexer * f[Component::indexer].bytes_per_element()},
      .state = {e.state * f[Component::state].bytes_per_element() +
                e.conv_state * f[Component::conv_state].bytes_per_element()}};
}

}  // namespace

void finish_architecture(ArchitectureSpec& spec) {
  if (spec.layers.empty()) throw std::invalid_argument("an architecture needs layers");
  spec.classes.clear();
  for (const Layer& layer : spec.layers) {
    if (layer.mixer < 0 || layer.mixer >= static_cast<int>(spec.mixers.size()) || layer.ffn < 0 ||
        layer.ffn >= static_cast<int>(spec.ffns.size()))
      throw std::invalid_argument("a layer names a kind that the architecture lacks");
    const auto same = std::find_if(spec.classes.begin(), spec.classes.end(),
                                   [&](const LayerClass& c) { return c.layer == layer; });
    if (same == spec.classes.end())
      spec.classes.push_back({layer, 1});
    else
      ++same->count;
  }
}

ParameterCount count_parameters(const ArchitectureSpec& spec) {
  ParameterCount count;
  const double table = embedding_elements(spec);
  count.embedding = table;
  for (const LayerClass& c : spec.classes) {
    const FfnParameters ffn = ffn_parameters(spec, c.layer);
    const double shared = mixer_parameters(spec, c.layer).total() +
                          layer_norm_elements(spec, c.layer) + per_layer_projection_elements(spec);
    count.total += c.count * (shared + ffn.total());
    count.active += c.count * (shared + ffn.active());
  }
  const double head = table + (spec.lm_head_bias ? static_cast<double>(spec.vocab_size) : 0.0);
  const double outside =
      norm_elements(spec) + per_layer_model_projection_elements(spec) + residual_elements(spec);
  const double positions = static_cast<double>(spec.position_embeddings * spec.hidden_dim);
  count.total += head + outside + positions + per_layer_table_elements(spec) +
                 (spec.tied_embeddings ? 0.0 : table);
  count.active += head + outside;
  count.mtp = mtp_elements(spec);
  for (const ResidentPart& part : spec.resident) count.resident += part.params;
  return count;
}

WeightBytes weight_bytes(const ArchitectureSpec& spec) {
  const Formats& f = spec.formats;
  const double vector_bytes = f[Component::activations].bytes_per_element();
  const auto bytes_of = [&](Component c) { return f[c].bytes_per_element(); };
  double resident = 0.0;
  double mtp_ratio_bytes = 0.0;
  for (const LayerClass& c : spec.classes) {
    const MixerParameters mixer = mixer_parameters(spec, c.layer);
    const FfnParameters ffn = ffn_parameters(spec, c.layer);
    const double one =
        mixer.matrices * bytes_of(Component::attention) +
        (mixer.vectors + ffn.vectors + layer_norm_elements(spec, c.layer)) * vector_bytes +
        ffn.dense * bytes_of(Component::dense_ffn) +
        ffn.routed * bytes_of(Component::routed_experts) +
        ffn.shared * bytes_of(Component::shared_experts) +
        ffn.router * bytes_of(Component::router) +
        per_layer_projection_elements(spec) * bytes_of(Component::dense_ffn);
    resident += c.count * one;
    if (c.layer == spec.layers.back()) mtp_ratio_bytes = one;
  }
  const double table = embedding_elements(spec);
  const double hidden = static_cast<double>(spec.hidden_dim);
  const double untied_table = spec.tied_embeddings ? 0.0 : table;
  resident += table * bytes_of(Component::lm_head) + untied_table * bytes_of(Component::embedding);
  resident +=
      (per_layer_table_elements(spec) + static_cast<double>(spec.position_embeddings) * hidden) *
          bytes_of(Component::embedding) +
      per_layer_model_projection_elements(spec) * bytes_of(Component::dense_ffn) +
      (norm_elements(spec) + (spec.lm_head_bias ? static_cast<double>(spec.vocab_size) : 0.0)) *
          vector_bytes;
  resident += static_cast<double>(spec.mtp_layers) *
              (mtp_ratio_bytes + (2.0 * hidden * hidden + 3.0 * hidden) * vector_bytes);
  resident += residual_elements(spec) * residual_parameters(spec).bytes_per_element;
  for (const ResidentPart& part : spec.resident) resident += part.params * vector_bytes;
  const StepWork step = total_work(decode_step(spec, StepShape{}));
  return {.resident = {resident}, .read_per_step_batch1 = step.bytes.weights};
}

CacheBytes cache_bytes(const ArchitectureSpec& spec, double context) {
  return cache_bytes_per_rank(spec, context, 1);
}

CacheBytes cache_bytes_per_rank(const ArchitectureSpec& spec, double context, int tp) {
  CacheElements total;
  for (const LayerClass& c : spec.classes) {
    const Mixer& mixer = spec.mixers[static_cast<std::size_t>(c.layer.mixer)].kind;
    const CacheShards shards = std::visit(
        [&](const auto& kind) { return kind.cache_shards(static_cast<double>(tp)); }, mixer);
    total += cache_elements(mixer, context) / shards * c.count;
  }
  return to_bytes(total, spec.formats);
}

Bytes kv_bytes_per_token(const ArchitectureSpec& spec) { return cache_bytes(spec, 1.0).kv; }

bool stores(const ArchitectureSpec& spec, Component component) {
  ArchitectureSpec wider = spec;
  wider.formats[component].bits += 8.0;
  const CacheBytes cache = cache_bytes(spec, 1.0);
  const CacheBytes wider_cache = cache_bytes(wider, 1.0);
  return weight_bytes(wider).resident != weight_bytes(spec).resident ||
         wider_cache.kv != cache.kv || wider_cache.state != cache.state;
}

}  // namespace roofcast
