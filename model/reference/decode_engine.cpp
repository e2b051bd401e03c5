#include "model/reference/decode_engine.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "model/base/error.hpp"
#include "model/operators/decode_step.hpp"
#include "model/reference/cpu/topology.hpp"

namespace roofcast {
namespace {

/// Left to the rest of the system when memory is checked.
constexpr double kMemoryShare = 0.92;

ArchitectureSpec with_layers(ArchitectureSpec spec, std::int64_t layers) {
  check_engine_supports(spec);
  if (layers < 0) throw std::invalid_argument("a number of layers cannot be negative");
  if (layers > 0 && layers < static_cast<std::int64_t>(spec.layers.size()))
    spec.layers.resize(static_cast<std::size_t>(layers));
  spec.mtp_layers = 0;
  finish_architecture(spec);
  return spec;
}

int class_of(const ArchitectureSpec& spec, const Layer& layer) {
  const auto found = std::find_if(spec.classes.begin(), spec.classes.end(),
                                  [&](const LayerClass& c) { return c.layer == layer; });
  return static_cast<int>(found - spec.classes.begin());
}

}  // namespace

DecodeEngine::DecodeEngine(const ArchitectureSpec& spec, const EngineOptions& options)
    : spec_(with_layers(spec, options.layers)),
      weights_(options.weights ? options.weights : synthetic_weights(options.seed)),
      seed_(options.seed),
      kv_(kv_layout(spec_.formats, options.kv)),
      semantics_(options.semantics),
      routing_skew_(options.routing_skew),
      kernels_(kernels_for(options.isa.value_or(best_isa()))),
      pool_(pool_cpus(options.threads)),
      arenas_(static_cast<std::size_t>(pool_.size())),
      operators_(decode_step(spec_, {.sequences = 1.0, .query_len = 1.0, .context = 1.0})),
      recorder_(pool_, operators_.operators().size()),
      op_embedding_(operators_.claim(-1, "embedding")),
      op_final_norm_(operators_.claim(-1, "final_norm")),
      op_lm_head_(operators_.claim(-1, "lm_head")),
      op_sampling_(operators_.claim(-1, "sampling")) {
  check_memory(weight_bytes(spec_).resident.value, "weights");
  build_layers();
  operators_.check_all_claimed();
  fill_weights();
}

void DecodeEngine::check_memory(double bytes, std::string_view what) const {
  const auto available = static_cast<double>(available_memory_bytes());
  if (available > 0.0 && bytes > kMemoryShare * available)
    throw IoError(std::string(what) + " of " + std::to_string(bytes / 1e9) +
                  " GB do not fit into the " + std::to_string(available / 1e9) +
                  " GB of memory that are free");
}

void DecodeEngine::build_layers() {
  const auto table = [&](Component part) {
    return PackedMatrix(spec_.vocab_size, spec_.hidden_dim, weight_format_of(spec_.formats, part),
                        arenas_);
  };
  embedding_ = table(Component::embedding);
  if (!spec_.tied_embeddings) lm_head_ = table(Component::lm_head);
  final_norm_ = load_vector(weights_, Tensor::final_norm, -1, spec_.hidden_dim);
  for (std::size_t i = 0; i < spec_.layers.size(); ++i) {
    const Layer& layer = spec_.layers[i];
    const LayerSetup setup{.hidden_dim = spec_.hidden_dim,
                           .layer = static_cast<int>(i),
                           .layer_class = class_of(spec_, layer),
                           .formats = spec_.formats,
                           .operators = operators_,
                           .arenas = arenas_,
                           .weights = weights_,
                           .kv = kv_,
                           .semantics = semantics_,
                           .routing_skew = routing_skew_};
    mixers_.push_back(make_mixer_block(spec_.mixers[static_cast<std::size_t>(layer.mixer)], setup));
    ffns_.push_back(make_ffn_block(spec_.ffns[static_cast<std::size_t>(layer.ffn)], setup));
    norms_.push_back(make_norms(layer, setup));
  }
}

DecodeEngine::LayerNorms DecodeEngine::make_norms(const Layer& layer, const LayerSetup& setup) {
  const auto make = [&](std::string_view op, Tensor tensor) {
    return BlockNorm{operators_.claim(setup.layer_class, op),
                     load_vector(weights_, tensor, setup.layer, spec_.hidden_dim)};
  };
  const Mixer& mixer = spec_.mixers[static_cast<std::size_t>(layer.mixer)].kind;
  const FeedForward& ffn = spec_.ffns[static_cast<std::size_t>(layer.ffn)].kind;
  const bool post = spec_.norms_per_block > 1;
  LayerNorms norms;
  if (!std::holds_alternative<NoMixer>(mixer)) {
    norms.attn = make("attn_norm", Tensor::attn_norm);
    if (post) norms.attn_post = make("attn_post_norm", Tensor::attn_post_norm);
  }
  if (!std::holds_alternative<NoFfn>(ffn)) {
    norms.ffn = make("ffn_norm", Tensor::ffn_norm);
    if (post) norms.ffn_post = make("ffn_post_norm", Tensor::ffn_post_norm);
  }
  return norms;
}

void DecodeEngine::fill_weights() {
  const auto fill_table = [&](PackedMatrix& table, Tensor tensor, int thread) {
    table.fill(thread, [&](std::int64_t row, Bf16* out) {
      weights_({.tensor = tensor, .layer = -1, .row = row, .width = spec_.hidden_dim}, out);
    });
  };
  pool_.run([&](int thread) {
    fill_table(embedding_, Tensor::embedding, thread);
    if (!spec_.tied_embeddings) fill_table(lm_head_, Tensor::lm_head, thread);
    for (std::size_t i = 0; i < mixers_.size(); ++i) {
      std::visit([&](auto& block) { block.fill(thread, weights_); }, mixers_[i]);
      std::visit([&](auto& block) { block.fill(thread, weights_); }, ffns_[i]);
    }
  });
}

void DecodeEngine::start(std::int64_t batch, std::int64_t context, std::int64_t steps) {
  if (batch < 1 || batch > kMaxBatch)
    throw std::invalid_argument("the engine runs 1 to 64 sequences");
  if (context < 0 || steps < 1) throw std::invalid_argument("a step needs a context of 0 or more");
  // The old cache goes before the new one is asked for.
  for (MixerBlock& mixer : mixers_)
    std::visit([&](auto& block) { block.make_cache(0, 0, cache_arenas_); }, mixer);
  cache_arenas_.clear();
  cache_arenas_.resize(static_cast<std::size_t>(pool_.size()));
  capacity_ = context + steps;
  const CacheBytes cache = cache_bytes(spec_, static_cast<double>(capacity_));
  check_memory((cache.kv + cache.state).value * static_cast<double>(batch), "caches and states");
  for (MixerBlock& mixer : mixers_)
    std::visit([&](auto& block) { block.make_cache(batch, capacity_, cache_arenas_); }, mixer);
  // Before the first token caches are empty and states zero, as fresh memory is.
  const auto fill_caches = [&](int thread) {
    for (std::size_t i = 0; i < mixers_.size(); ++i)
      std::visit([&](auto& block) { block.fill_cache(thread, pool_.size(), seed_ + i); },
                 mixers_[i]);
  };
  if (context > 0) pool_.run(fill_caches);
  size_activations(batch);
  batch_ = batch;
  start_context_ = context;
  rewind();
}

void DecodeEngine::rewind() {
  position_ = start_context_;
  for (std::size_t i = 0; i < tokens_.size(); ++i)
    tokens_[i] = static_cast<std::int64_t>(i * 7919) % spec_.vocab_size;
}

void DecodeEngine::size_activations(std::int64_t batch) {
  for (MixerBlock& mixer : mixers_)
    std::visit([&](auto& block) { block.reserve(batch, pool_.size(), activations_); }, mixer);
  size_rotary();
  for (FfnBlock& ffn : ffns_)
    std::visit([&](auto& block) { block.reserve(batch, pool_.size(), activations_); }, ffn);
  const auto sized = [batch](std::vector<Bf16>& values, std::int64_t width) {
    values.assign(static_cast<std::size_t>(batch * width), 0);
  };
  sized(activations_.residual, spec_.hidden_dim);
  sized(activations_.x, spec_.hidden_dim);
  sized(activations_.y, spec_.hidden_dim);
  sized(activations_.logits, spec_.vocab_size);
  tokens_.assign(static_cast<std::size_t>(batch), 0);
  best_tokens_.assign(static_cast<std::size_t>(batch * pool_.size()), 0);
}

void DecodeEngine::size_rotary() {
  rotary_.clear();
  for (const MixerBlock& mixer : mixers_) {
    const RotaryKey key = std::visit([](const auto& block) { return block.rotary(); }, mixer);
    const bool known = std::any_of(rotary_.begin(), rotary_.end(),
                                   [&key](const RotaryTable& t) { return t.key == key; });
    const auto half = static_cast<std::size_t>(key.width / 2);
    if (key.width > 0 && !known)
      rotary_.push_back({key, std::vector<float>(half), std::vector<float>(half)});
  }
}

void DecodeEngine::step() {
  if (batch_ == 0 || position_ >= capacity_)
    throw std::invalid_argument("the cache has no room for another step");
  StepContext step{.kernels = kernels_,
                   .pool = pool_,
                   .recorder = recorder_,
                   .activations = activations_,
                   .rotary = rotary_,
                   .batch = batch_,
                   .position = position_,
                   .norm_epsilon = semantics_.norm_epsilon,
                   .norm_offset = semantics_.norm_offset};
  pool_.run([&](int thread) { run_step(step, thread); });
  ++position_;
}

void DecodeEngine::run_step(StepContext& step, int thread) {
  recorder_.begin(thread);
  run_embedding(step, thread);
  const Bf16* const y = run_layers(step, thread);
  run_norm(step, thread, op_final_norm_, final_norm_, y);
  run_lm_head(step, thread);
  run_sampling(step, thread);
}

const Bf16* DecodeEngine::run_layers(StepContext& step, int thread) {
  const Bf16* y = nullptr;
  const auto run_between = [&](const std::optional<BlockNorm>& before, auto& kind,
                               const std::optional<BlockNorm>& after) {
    if (!before) return;
    run_norm(step, thread, before->op, before->weight, y);
    std::visit([&](auto& block) { block.run(step, thread); }, kind);
    if (after) run_post_norm(step, thread, after->op, after->weight);
    y = activations_.y.data();
  };
  for (std::size_t i = 0; i < mixers_.size(); ++i) {
    run_between(norms_[i].attn, mixers_[i], norms_[i].attn_post);
    run_between(norms_[i].ffn, ffns_[i], norms_[i].ffn_post);
  }
  return y;
}

void DecodeEngine::run_embedding(StepContext& step, int thread) {
  if (thread == 0) rotate_to(step.position);
  const Range own = part_of(step.batch, thread, pool_.size());
  for (std::int64_t row = own.begin; row < own.end; ++row) {
    Bf16* const out = activations_.residual.data() + row * spec_.hidden_dim;
    embedding_.gather_row(tokens_[static_cast<std::size_t>(row)], out);
    for (std::int64_t i = 0; i < spec_.hidden_dim && semantics_.embedding_scale != 1.0F; ++i)
      out[i] = float_to_bf16(bf16_to_float(out[i]) * semantics_.embedding_scale);
  }
  Traffic& bytes = recorder_.bytes(thread, op_embedding_);
  bytes.weights += Bytes{static_cast<double>(own.size() * embedding_.row_bytes())};
  bytes.activations += Bytes{static_cast<double>(own.size() * spec_.hidden_dim) * sizeof(Bf16)};
  recorder_.finish(thread, op_embedding_);
}

void DecodeEngine::run_lm_head(StepContext& step, int thread) {
  Bf16* const logits = activations_.logits.data();
  multiply_own_rows(step, thread, op_lm_head_, lm_head(), {}, activations_.x.data(), logits);
  const float cap = semantics_.logit_softcap;
  const Range own = lm_head().slab(thread);
  for (std::int64_t row = 0; row < step.batch && cap > 0.0F; ++row) {
    for (std::int64_t i = own.begin; i < own.end; ++i) {
      Bf16& at = logits[row * spec_.vocab_size + i];
      at = float_to_bf16(cap * std::tanh(bf16_to_float(at) / cap));
    }
  }
  recorder_.finish(thread, op_lm_head_);
}

void DecodeEngine::rotate_to(std::int64_t position) {
  for (RotaryTable& table : rotary_) {
    for (std::size_t i = 0; i < table.cosine.size(); ++i) {
      const double exponent = -2.0 * static_cast<double>(i) / static_cast<double>(table.key.width);
      const double angle = static_cast<double>(position) * std::pow(table.key.theta, exponent);
      table.cosine[i] = static_cast<float>(std::cos(angle));
      table.sine[i] = static_cast<float>(std::sin(angle));
    }
  }
}

void DecodeEngine::run_sampling(StepContext& step, int thread) {
  const Range slab = lm_head().slab(thread);
  const auto best = [&](int t, std::int64_t row) -> std::int64_t& {
    return best_tokens_[static_cast<std::size_t>(t * step.batch + row)];
  };
  for (std::int64_t row = 0; row < step.batch; ++row) {
    const Bf16* const logits = activations_.logits.data() + row * spec_.vocab_size;
    best(thread, row) =
        slab.size() == 0 ? -1 : slab.begin + kernels_.argmax(logits + slab.begin, slab.size());
  }
  recorder_.bytes(thread, op_sampling_).activations +=
      Bytes{static_cast<double>(step.batch * slab.size()) * sizeof(Bf16)};
  pool_.barrier();
  const Range own = part_of(step.batch, thread, pool_.size());
  for (std::int64_t row = own.begin; row < own.end; ++row) {
    std::int64_t& token = tokens_[static_cast<std::size_t>(row)];
    token = -1;
    for (int t = 0; t < pool_.size(); ++t) {
      const std::int64_t other = best(t, row);
      if (other >= 0 && (token < 0 || logit(row, other) > logit(row, token))) token = other;
    }
  }
  recorder_.finish(thread, op_sampling_);
}

double DecodeEngine::experts_hit() const {
  double sum = 0.0;
  double layers = 0.0;
  for (const FfnBlock& ffn : ffns_) {
    const auto* const moe = std::get_if<MoeBlock>(&ffn);
    if (moe == nullptr) continue;
    sum += static_cast<double>(moe->experts_hit());
    layers += 1.0;
  }
  return layers > 0.0 ? sum / layers : 0.0;
}

float DecodeEngine::logit(std::int64_t sequence, std::int64_t token) const {
  return bf16_to_float(
      activations_.logits[static_cast<std::size_t>(sequence * spec_.vocab_size + token)]);
}

}  // namespace roofcast
