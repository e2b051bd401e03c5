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

/// Decoders of all sequences with the engine's synthetic caches copied in.
inline std::vector<LatentTwin> latent_twins(const DecodeEngine& engine, const LatentRun& run) {
  const std::int64_t width = run.model.shape.kv_lora_rank + run.model.shape.qk_rope_head_dim;
  std::vector<LatentTwin> twins;
  for (std::int64_t s = 0; s < run.batch; ++s) {
    LatentTwin& twin = twins.emplace_back(make_twin(run.model));
    twin.decoder.set_position(run.context);
    for (int layer = 0; layer < run.model.model.n_layers; ++layer) {
      const MlaBlock& block = latent_block(engine, layer);
      for (std::int64_t t = 0; t < run.context; ++t) {
        NaiveLatent::Layer& own = twin.attention->layer(layer);
        own.latents.push_back(cached_row(block.cache(), width, s, t));
        if (block.indexer() != nullptr)
          own.index_keys.push_back(
              cached_row(block.indexer()->keys(), run.model.index_head_dim, s, t));
      }
    }
  }
  return twins;
}

/// Tells a decoder which tokens the engine's last step chose for its sequence.
inline void hint_tokens(const DecodeEngine& engine, const LatentRun& run, std::int64_t sequence,
                        NaiveLatent& twin) {
  for (int layer = 0; layer < run.model.model.n_layers; ++layer) {
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

inline void check_latents(const DecodeEngine& engine, const LatentRun& run, std::int64_t sequence,
                          LatentTwin& twin) {
  const std::int64_t width = run.model.shape.kv_lora_rank + run.model.shape.qk_rope_head_dim;
  for (int layer = 0; layer < run.model.model.n_layers; ++layer) {
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

}  // namespace roofcast
