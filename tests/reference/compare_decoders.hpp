#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "model/operators/decode_step.hpp"
#include "model/reference/decode_engine.hpp"
#include "tests/reference/cpu/random_values.hpp"
#include "tests/reference/tiny_spec.hpp"

namespace roofcast {

inline const KvCache& cache_of(const DecodeEngine& engine, int layer) {
  return std::get<GqaBlock>(engine.mixer(static_cast<std::size_t>(layer))).cache();
}

/// Where a layer's cache keeps the token at `position`.
inline std::int64_t slot_of(const TinyModel& m, int layer, std::int64_t position) {
  return m.is_local(layer) ? position % std::max(m.window, m.chunk) : position;
}

/// The cached vector of all heads of one sequence; `pick` reads one element.
template <typename Pick>
std::vector<double> cached(const TinyModel& m, std::int64_t sequence, Pick pick) {
  std::vector<double> out;
  for (std::int64_t h = 0; h < m.n_kv_heads; ++h) {
    for (std::int64_t d = 0; d < m.head_dim; ++d)
      out.push_back(static_cast<double>(pick(sequence * m.n_kv_heads + h, d)));
  }
  return out;
}

inline std::vector<double> cached_key(const DecodeEngine& engine, const TinyModel& m, int layer,
                                      std::int64_t sequence, std::int64_t position) {
  return cached(m, sequence, [&](std::int64_t item, std::int64_t d) {
    return cache_of(engine, layer).key_at(item, slot_of(m, layer, position), d);
  });
}

inline std::vector<double> cached_value(const DecodeEngine& engine, const TinyModel& m, int layer,
                                        std::int64_t sequence, std::int64_t position) {
  return cached(m, sequence, [&](std::int64_t item, std::int64_t d) {
    return cache_of(engine, layer).value_at(item, slot_of(m, layer, position), d);
  });
}

inline double largest(const std::vector<double>& values) {
  double top = 0.0;
  for (const double x : values) top = std::max(top, std::fabs(x));
  return top;
}

inline double distance(const std::vector<double>& a, const std::vector<double>& b) {
  double top = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) top = std::max(top, std::fabs(a[i] - b[i]));
  return top;
}

/// Both decoders round at the same places, so they differ only where sums in fp32 and double fall
/// on different sides of a tie, or a softmax weight was rounded. Such a flip is one bf16 step,
/// twice epsilon of the value; each of the two blocks of a layer, and the end, may add one.
inline double tolerance(const TinyModel& m, const std::vector<double>& exact) {
  return 2.0 * kBf16Epsilon * static_cast<double>(2 * m.n_layers + 1) * largest(exact);
}

struct Run {
  TinyModel model;
  std::int64_t batch;
  std::int64_t context;
  int threads;
  KvOptions kv = {};
};

/// Calls `use` with the state layer of the engine and its twin's values, element by element: what
/// the engine holds, and where the twin keeps the same.
template <typename Use>
void walk_state(const DecodeEngine& engine, int layer, std::int64_t sequence, NaiveStateLayer& twin,
                Use use) {
  const auto walk_inputs = [&](const CausalConvolution& convolution) {
    const auto kept = static_cast<std::int64_t>(twin.inputs.size());
    for (std::int64_t i = 0; i < kept; ++i)
      for (std::int64_t c = 0; c < convolution.channels(); ++c)
        use(convolution.input_at(sequence, kept - i, c),
            twin.inputs[static_cast<std::size_t>(i)][static_cast<std::size_t>(c)]);
  };
  const auto walk_heads = [&](const RecurrentState& state) {
    for (std::int64_t h = 0; h < twin.heads(); ++h) {
      auto& rows = twin.state[static_cast<std::size_t>(h)];
      for (std::size_t i = 0; i < rows.size(); ++i)
        for (std::size_t j = 0; j < rows[i].size(); ++j)
          use(state.at(sequence * twin.heads() + h, static_cast<std::int64_t>(i),
                       static_cast<std::int64_t>(j)),
              rows[i][j]);
    }
  };
  std::visit(
      [&](const auto& block) {
        if constexpr (requires { block.convolution(); }) walk_inputs(block.convolution());
        if constexpr (requires { block.state(); }) walk_heads(block.state());
        if constexpr (requires { block.state_at(0, 0, 0); }) {
          auto& rows = twin.state.front();
          for (std::size_t i = 0; i < rows.size(); ++i)
            for (std::size_t c = 0; c < rows[i].size(); ++c)
              use(block.state_at(sequence, static_cast<std::int64_t>(c),
                                 static_cast<std::int64_t>(i)),
                  rows[i][c]);
        }
      },
      engine.mixer(static_cast<std::size_t>(layer)));
}

inline void copy_state(const DecodeEngine& engine, int layer, std::int64_t sequence,
                       NaiveStateLayer& twin) {
  walk_state(engine, layer, sequence, twin,
             [](float own, double& other) { other = static_cast<double>(own); });
}

inline void check_state(const DecodeEngine& engine, const TinyModel& m, int layer,
                        std::int64_t sequence, NaiveStateLayer& twin) {
  std::vector<double> own;
  std::vector<double> exact;
  walk_state(engine, layer, sequence, twin, [&](float value, double& other) {
    own.push_back(static_cast<double>(value));
    exact.push_back(other);
  });
  CHECK(!exact.empty());
  CHECK(distance(own, exact) <= tolerance(m, exact));
}

/// Half the distance of the numbers that a cache can hold around `exact`.
inline double half_step(const KvPlane& plane, double exact) {
  const auto scale = static_cast<double>(plane.scale);
  if (plane.code == KvCode::bf16) return 0.0;
  if (plane.code == KvCode::int8) return scale / 2.0;
  // E4M3: 3 bits of mantissa, and none of the exponents below -6.
  const double magnitude = std::max(std::fabs(exact) / scale, std::ldexp(1.0, -6));
  return scale * std::ldexp(1.0, std::ilogb(magnitude) - 4);
}

/// Makes a decoder take what the engine's cache holds of the newest token, which has to be a
/// nearest number to what it found itself: next to a tie, two decoders may round to different
/// sides, and the numbers of a byte are far apart.
inline void follow_cache(const DecodeEngine& engine, const Run& run, std::int64_t sequence,
                         NaiveDecoder& twin) {
  const KvLayout layout = kv_layout(engine.spec().formats, run.kv);
  if (layout.keys.code == KvCode::bf16 && layout.values.code == KvCode::bf16) return;
  twin.set_store([&engine, &model = run.model, sequence, layout](
                     int layer, CacheHalf half, const NaiveDecoder::Vector& exact) {
    const bool keys = half == CacheHalf::keys;
    const KvPlane& plane = keys ? layout.keys : layout.values;
    if (plane.code == KvCode::bf16) return exact;
    const std::int64_t newest = engine.position() - 1;
    const auto stored = keys ? cached_key(engine, model, layer, sequence, newest)
                             : cached_value(engine, model, layer, sequence, newest);
    const double rounding = tolerance(model, exact);
    const double largest = static_cast<double>(largest_code(plane.code) * plane.scale);
    for (std::size_t i = 0; i < exact.size(); ++i) {
      const double wanted = std::clamp(exact[i], -largest, largest);
      CHECK(std::fabs(stored[i] - wanted) <=
            half_step(plane, std::fabs(wanted) + rounding) + rounding);
    }
    return stored;
  });
}

/// Decoders of all sequences with the engine's synthetic cache copied in. What no step may see is
/// not in the engine's cache; large values there would show in the result.
inline std::vector<NaiveDecoder> naive_twins(const DecodeEngine& engine, const Run& run) {
  std::vector<NaiveDecoder> twins;
  for (std::int64_t s = 0; s < run.batch; ++s) {
    NaiveDecoder& twin = twins.emplace_back(run.model, synthetic_weights(7));
    follow_cache(engine, run, s, twin);
    twin.set_position(run.context);
    for (int layer = 0; layer < run.model.n_layers; ++layer) {
      if (run.model.has_state(layer)) copy_state(engine, layer, s, twin.state(layer));
      if (!run.model.attends(layer)) continue;
      const std::int64_t first = run.model.first_seen(layer, run.context);
      const std::vector<double> unseen(
          static_cast<std::size_t>(run.model.n_kv_heads * run.model.head_dim), 1e3);
      for (std::int64_t t = 0; t < first; ++t) twin.append_cached(layer, unseen, unseen);
      for (std::int64_t t = first; t < run.context; ++t)
        twin.append_cached(layer, cached_key(engine, run.model, layer, s, t),
                           cached_value(engine, run.model, layer, s, t));
    }
  }
  return twins;
}

inline std::vector<double> logits_of(const DecodeEngine& engine, std::int64_t sequence) {
  std::vector<double> logits;
  for (std::int64_t i = 0; i < engine.spec().vocab_size; ++i)
    logits.push_back(static_cast<double>(engine.logit(sequence, i)));
  return logits;
}

/// Whether no admissible error of two logits can change which is the largest.
inline bool has_clear_winner(const TinyModel& m, std::vector<double> exact) {
  const double margin = 2.0 * tolerance(m, exact);
  std::sort(exact.rbegin(), exact.rend());
  return exact[0] - exact[1] > margin;
}

inline void check_cache(const DecodeEngine& engine, const Run& run, std::int64_t sequence,
                        NaiveDecoder& twin) {
  for (int layer = 0; layer < run.model.n_layers; ++layer) {
    if (run.model.has_state(layer))
      check_state(engine, run.model, layer, sequence, twin.state(layer));
    if (!run.model.attends(layer)) continue;
    const auto& keys = twin.keys(layer);
    const auto& values = twin.values(layer);
    const auto newest = static_cast<std::int64_t>(keys.size()) - 1;
    const auto key = cached_key(engine, run.model, layer, sequence, newest);
    const auto value = cached_value(engine, run.model, layer, sequence, newest);
    CHECK(distance(key, keys.back()) <= tolerance(run.model, keys.back()));
    CHECK(distance(value, values.back()) <= tolerance(run.model, values.back()));
    // What was there before, and is still seen, must be untouched.
    const std::int64_t first = run.model.first_seen(layer, newest);
    for (const std::int64_t older : {first, std::max(first, newest - 1)}) {
      const auto& expected = keys[static_cast<std::size_t>(older)];
      CHECK(distance(cached_key(engine, run.model, layer, sequence, older), expected) <=
            tolerance(run.model, expected));
    }
  }
}

/// Tells a decoder which experts the engine's last step chose for its sequence.
inline void hint_choices(const DecodeEngine& engine, const TinyModel& m, std::int64_t sequence,
                         NaiveDecoder& twin) {
  for (int layer = 0; layer < m.n_layers; ++layer) {
    if (!m.has_experts(layer) || !m.has_ffn(layer)) continue;
    const auto& all = std::get<MoeBlock>(engine.ffn(static_cast<std::size_t>(layer))).choices();
    std::vector<std::int64_t> experts;
    for (std::int64_t i = 0; i < m.n_experts_per_token; ++i)
      experts.push_back(all[static_cast<std::size_t>(sequence * m.n_experts_per_token + i)].expert);
    twin.hint_choice(layer, std::move(experts));
  }
}

/// Steps both decoders on the engine's tokens; returns how many argmaxes were beyond doubt.
inline int check_run(const Run& run, IsaLevel isa, int steps) {
  DecodeEngine engine(spec_of(run.model),
                      {.threads = run.threads, .isa = isa, .seed = 7, .kv = run.kv});
  engine.start(run.batch, run.context, steps);
  std::vector<NaiveDecoder> twins = naive_twins(engine, run);
  int clear_winners = 0;
  for (int step = 0; step < steps; ++step) {
    const std::vector<std::int64_t> tokens = engine.tokens();
    engine.step();
    for (std::int64_t s = 0; s < run.batch; ++s) {
      const auto at = static_cast<std::size_t>(s);
      hint_choices(engine, run.model, s, twins[at]);
      const std::vector<double> exact = twins[at].step(tokens[at]);
      CHECK(distance(logits_of(engine, s), exact) <= tolerance(run.model, exact));
      if (has_clear_winner(run.model, exact)) {
        const auto best = std::max_element(exact.begin(), exact.end()) - exact.begin();
        CHECK(engine.tokens()[at] == best);
        ++clear_winners;
      }
      check_cache(engine, run, s, twins[at]);
    }
  }
  int hints = 0;
  int choices = 0;
  for (const NaiveDecoder& twin : twins) hints += twin.hints_needed();
  for (int layer = 0; layer < run.model.n_layers; ++layer)
    choices += run.model.has_experts(layer) && run.model.has_ffn(layer)
                   ? steps * static_cast<int>(run.batch)
                   : 0;
  CHECK(4 * hints <= choices);
  return clear_winners;
}

/// Sums of what was counted by category, and of the model's list at the same shape.
struct Counted {
  Traffic engine, model;
};

inline Counted count_bytes(const ArchitectureSpec& spec, std::int64_t batch, std::int64_t context,
                           int threads, const KvOptions& kv = {}) {
  DecodeEngine engine(spec, {.threads = threads, .kv = kv});
  engine.start(batch, context, 1);
  engine.step();
  Counted counted;
  for (const Traffic& t : engine.recorder().operator_bytes()) {
    counted.engine.weights += t.weights;
    counted.engine.kv_read += t.kv_read;
    counted.engine.kv_write += t.kv_write;
    counted.engine.state += t.state;
    counted.engine.activations += t.activations;
  }
  const StepShape shape{.sequences = static_cast<double>(batch),
                        .context = static_cast<double>(context),
                        .experts_hit = engine.experts_hit()};
  counted.model = total_work(decode_step(spec, shape)).bytes;
  return counted;
}

inline Counted count_bytes(const TinyModel& model, std::int64_t batch, std::int64_t context,
                           int threads) {
  return count_bytes(spec_of(model), batch, context, threads);
}

}  // namespace roofcast
