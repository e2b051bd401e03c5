#pragma once

#include <doctest/doctest.h>

#include <memory>
#include <optional>
#include <vector>

#include "tests/reference/compare_decoders.hpp"
#include "tests/reference/naive_latent.hpp"

namespace roofcast {

/// A tiny model with latent attention: `model` says the rest.
struct LatentModel {
  TinyModel model;
  MlaShape shape;
  LatentForm form = LatentForm::absorbed;
  std::int64_t index_n_heads = 0, index_head_dim = 0, index_topk = 0;
  bool shared_choice = false;  // layers after the first take its choice

  SparseLatentAttention sparse() const {
    return {.shape = shape,
            .index_n_heads = index_n_heads,
            .index_head_dim = index_head_dim,
            .index_topk = index_topk};
  }
};

inline ArchitectureSpec spec_of(const LatentModel& m) {
  ArchitectureSpec spec = spec_of(m.model);
  if (m.form == LatentForm::absorbed)
    spec.mixers[0].kind = MultiHeadLatentAttention{m.shape};
  else if (m.form == LatentForm::expanded)
    spec.mixers[0].kind = ExpandedLatentAttention{m.shape};
  else
    spec.mixers[0].kind = m.sparse();
  if (m.shared_choice) {
    SparseLatentAttention reader = m.sparse();
    reader.index_owner = KvOwner::earlier_layer;
    spec.mixers.push_back({"reader", reader});
    for (std::size_t i = 1; i < spec.layers.size(); ++i) spec.layers[i].mixer = 1;
  }
  finish_architecture(spec);
  return spec;
}

struct LatentRun {
  LatentModel model;
  std::int64_t batch;
  std::int64_t context;
  int threads;
};

inline const MlaBlock& latent_block(const DecodeEngine& engine, int layer) {
  return std::get<MlaBlock>(engine.mixer(static_cast<std::size_t>(layer)));
}

inline const KvCache& expanded_cache(const DecodeEngine& engine, int layer) {
  return std::get<MlaExpandedBlock>(engine.mixer(static_cast<std::size_t>(layer))).cache();
}

/// Cached vector of `width` of all heads of one sequence; `pick` reads one element of an item.
template <typename Pick>
std::vector<double> of_all_heads(const MlaShape& s, std::int64_t width, std::int64_t sequence,
                                 Pick pick) {
  std::vector<double> out;
  for (std::int64_t h = 0; h < s.n_heads; ++h)
    for (std::int64_t d = 0; d < width; ++d)
      out.push_back(static_cast<double>(pick(sequence * s.n_heads + h, d)));
  return out;
}

inline std::vector<double> expanded_keys(const KvCache& cache, const MlaShape& s,
                                         std::int64_t sequence, std::int64_t token) {
  return of_all_heads(
      s, s.qk_nope_head_dim + s.qk_rope_head_dim, sequence,
      [&](std::int64_t item, std::int64_t d) { return cache.key_at(item, token, d); });
}

inline std::vector<double> expanded_values(const KvCache& cache, const MlaShape& s,
                                           std::int64_t sequence, std::int64_t token) {
  return of_all_heads(s, s.v_head_dim, sequence, [&](std::int64_t item, std::int64_t d) {
    return cache.value_at(item, token, d);
  });
}

inline std::vector<double> cached_row(const LatentCache& cache, std::int64_t width,
                                      std::int64_t sequence, std::int64_t token) {
  std::vector<double> out;
  for (std::int64_t d = 0; d < width; ++d)
    out.push_back(static_cast<double>(cache.at(sequence, token, d)));
  return out;
}

/// A plain decoder with latent attention, and that attention by itself.
struct LatentTwin {
  std::shared_ptr<NaiveLatent> attention;
  NaiveDecoder decoder;
};

inline LatentTwin make_twin(const LatentModel& m) {
  LatentTwin twin{
      std::make_shared<NaiveLatent>(m.sparse(), m.form, m.shared_choice, m.model.n_layers,
                                    m.model.hidden_dim, synthetic_weights(7)),
      NaiveDecoder(m.model, synthetic_weights(7))};
  twin.decoder.replace_attention(
      [attention = twin.attention](int layer, std::int64_t position, const std::vector<double>& x) {
        return attention->attend(layer, position, x);
      });
  return twin;
}

/// Copies what the engine cached for a sequence in a layer.
inline void copy_cache(const DecodeEngine& engine, const LatentRun& run, std::int64_t sequence,
                       int layer, NaiveLatent::Layer& own) {
  const MlaShape& s = run.model.shape;
  for (std::int64_t t = 0; t < run.context; ++t) {
    if (run.model.form == LatentForm::expanded) {
      const KvCache& cache = expanded_cache(engine, layer);
      own.keys.push_back(expanded_keys(cache, s, sequence, t));
      own.values.push_back(expanded_values(cache, s, sequence, t));
      continue;
    }
    const MlaBlock& block = latent_block(engine, layer);
    own.latents.push_back(
        cached_row(block.cache(), s.kv_lora_rank + s.qk_rope_head_dim, sequence, t));
    if (block.indexer() != nullptr)
      own.index_keys.push_back(
          cached_row(block.indexer()->keys(), run.model.index_head_dim, sequence, t));
  }
}

/// Decoders of all sequences with the engine's synthetic caches copied in.
inline std::vector<LatentTwin> latent_twins(const DecodeEngine& engine, const LatentRun& run) {
  std::vector<LatentTwin> twins;
  for (std::int64_t s = 0; s < run.batch; ++s) {
    LatentTwin& twin = twins.emplace_back(make_twin(run.model));
    twin.decoder.set_position(run.context);
    for (int layer = 0; layer < run.model.model.n_layers; ++layer)
      copy_cache(engine, run, s, layer, twin.attention->layer(layer));
  }
  return twins;
}

/// Tells a decoder which tokens the engine's last step chose for its sequence.
inline void hint_tokens(const DecodeEngine& engine, const LatentRun& run, std::int64_t sequence,
                        NaiveLatent& twin) {
  for (int layer = 0; layer < run.model.model.n_layers; ++layer) {
    if (run.model.form != LatentForm::sparse) continue;
    const LightningIndexer* const indexer = latent_block(engine, layer).indexer();
    if (indexer == nullptr) continue;
    const std::int64_t top = std::min(run.model.index_topk, engine.position());
    const auto first = indexer->chosen().begin() + sequence * top;
    twin.hint_choice(layer, {first, first + top});
  }
}

/// Latent attention stores three values more between a layer's blocks than grouped-query attention
/// does: queries in the latent space, their mean latents, and the query's own latent.
inline double latent_tolerance(const TinyModel& m, const std::vector<double>& exact) {
  return 2.0 * kBf16Epsilon * static_cast<double>(5 * m.n_layers + 1) * largest(exact);
}

inline void check_expanded(const DecodeEngine& engine, const LatentRun& run, std::int64_t sequence,
                           int layer, const NaiveLatent::Layer& own) {
  const KvCache& cache = expanded_cache(engine, layer);
  for (const std::size_t t : {own.keys.size() - 1, own.keys.size() / 2}) {
    const auto token = static_cast<std::int64_t>(t);
    CHECK(distance(expanded_keys(cache, run.model.shape, sequence, token), own.keys[t]) <=
          latent_tolerance(run.model.model, own.keys[t]));
    CHECK(distance(expanded_values(cache, run.model.shape, sequence, token), own.values[t]) <=
          latent_tolerance(run.model.model, own.values[t]));
  }
}

inline void check_latents(const DecodeEngine& engine, const LatentRun& run, std::int64_t sequence,
                          LatentTwin& twin) {
  const std::int64_t width = run.model.shape.kv_lora_rank + run.model.shape.qk_rope_head_dim;
  for (int layer = 0; layer < run.model.model.n_layers; ++layer) {
    if (run.model.form == LatentForm::expanded) {
      check_expanded(engine, run, sequence, layer, twin.attention->layer(layer));
      continue;
    }
    const auto& latents = twin.attention->layer(layer).latents;
    const MlaBlock& block = latent_block(engine, layer);
    // The newest, and one that must be untouched.
    for (const std::size_t t : {latents.size() - 1, latents.size() / 2}) {
      const auto own = cached_row(block.cache(), width, sequence, static_cast<std::int64_t>(t));
      CHECK(distance(own, latents[t]) <= latent_tolerance(run.model.model, latents[t]));
    }
    if (block.indexer() == nullptr) continue;
    const auto& keys = twin.attention->layer(layer).index_keys;
    const auto own = cached_row(block.indexer()->keys(), run.model.index_head_dim, sequence,
                                static_cast<std::int64_t>(keys.size()) - 1);
    CHECK(distance(own, keys.back()) <= latent_tolerance(run.model.model, keys.back()));
  }
}

/// Steps both decoders on the engine's tokens; returns how often the plain one took a hint.
inline int check_latent_run(const LatentRun& run, IsaLevel isa, int steps) {
  DecodeEngine engine(spec_of(run.model), {.threads = run.threads, .isa = isa, .seed = 7});
  engine.start(run.batch, run.context, steps);
  std::vector<LatentTwin> twins = latent_twins(engine, run);
  for (int step = 0; step < steps; ++step) {
    const std::vector<std::int64_t> tokens = engine.tokens();
    engine.step();
    for (std::int64_t s = 0; s < run.batch; ++s) {
      LatentTwin& twin = twins[static_cast<std::size_t>(s)];
      hint_tokens(engine, run, s, *twin.attention);
      const auto exact = twin.decoder.step(tokens[static_cast<std::size_t>(s)]);
      CHECK(distance(logits_of(engine, s), exact) <= latent_tolerance(run.model.model, exact));
      check_latents(engine, run, s, twin);
    }
  }
  int hints = 0;
  for (const LatentTwin& twin : twins) hints += twin.attention->hints_needed();
  return hints;
}

/// Whether counted bytes are those of the list. Each thread reads the inputs of its rows, and the
/// first norm of a step adds nothing to the residual.
inline void check_latent_bytes(const LatentModel& m, std::int64_t batch, std::int64_t context,
                               int threads) {
  CAPTURE(batch);
  CAPTURE(context);
  CAPTURE(threads);
  const Counted c = count_bytes(spec_of(m), batch, context, threads);
  CHECK(c.engine.weights.value == c.model.weights.value);
  CHECK(c.engine.kv_read.value == c.model.kv_read.value);
  CHECK(c.engine.kv_write.value == c.model.kv_write.value);
  const std::int64_t norms = 1 + (m.model.post_norms ? 2 * m.model.n_layers : 0);
  const double no_add =
      2.0 * static_cast<double>(norms * batch * m.model.hidden_dim) * sizeof(Bf16);
  CHECK(c.engine.activations.value >= c.model.activations.value - no_add);
  CHECK(c.engine.activations.value <= threads * c.model.activations.value);
  if (threads == 1) CHECK(c.engine.activations.value == c.model.activations.value - no_add);
}

}  // namespace roofcast
