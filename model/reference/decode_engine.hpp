#pragma once

#include <optional>
#include <vector>

#include "model/architecture/architecture_spec.hpp"
#include "model/reference/blocks.hpp"
#include "model/reference/cpu/thread_pool.hpp"

namespace roofcast {

struct EngineOptions {
  int threads = 0;                             // 0: one per physical core
  std::int64_t layers = 0;                     // 0: all; otherwise only the first so many
  std::optional<IsaLevel> isa = std::nullopt;  // the fastest there is when empty
  std::uint64_t seed = 1;                      // of weights and cache
  KvOptions kv = {};
  WeightSource weights = {};  // synthetic_weights(seed) when empty
  ModelSemantics semantics = {};
  /// Above 0: experts are popular by their rank in each layer, see zipf_offsets(); a trained router
  /// does not spread its tokens evenly. 0: as the scores have it.
  double routing_skew = 0.0;
};

/// Decodes on this CPU with real weights' traffic: every step runs all operators of the model for
/// `batch` sequences in one parallel region. Weights are random unless a source is given.
class DecodeEngine {
 public:
  /// Builds and fills the weights. Throws UnsupportedError for what the engine has no kernel for,
  /// IoError when memory does not suffice, and std::invalid_argument for caches that cannot be.
  DecodeEngine(const ArchitectureSpec& spec, const EngineOptions& options);
  DecodeEngine(const DecodeEngine&) = delete;
  DecodeEngine& operator=(const DecodeEngine&) = delete;

  /// Makes room for `batch` sequences (1 .. kMaxBatch) of `context` cached tokens, filled with
  /// random values, and for `steps` more. Throws IoError when memory does not suffice, and
  /// std::invalid_argument for a batch or context out of range.
  void start(std::int64_t batch, std::int64_t context, std::int64_t steps);

  /// Appends one token to every sequence and decides the next.
  void step();

  /// Goes back to the context and the tokens of start(), so that steps of one point are alike.
  /// Windows and chunks that wrapped since keep the later tokens, and states stay as they became:
  /// as many bytes, other values.
  void rewind();

  /// The spec as run, with only the layers asked for.
  const ArchitectureSpec& spec() const { return spec_; }
  /// The model's operators, at an arbitrary shape; recorder() is in the same order.
  const OperatorList& operators() const { return operators_.operators(); }
  const StepRecorder& recorder() const { return recorder_; }
  ThreadPool& pool() { return pool_; }
  IsaLevel isa() const { return kernels_.isa; }

  /// Tokens that the next step reads, one per sequence: the argmax of the last step's logits.
  std::vector<std::int64_t>& tokens() { return tokens_; }
  float logit(std::int64_t sequence, std::int64_t token) const;
  std::int64_t position() const { return position_; }
  const MixerBlock& mixer(std::size_t layer) const { return mixers_[layer]; }
  const FfnBlock& ffn(std::size_t layer) const { return ffns_[layer]; }
  /// Distinct experts that the last step's tokens chose: the mean over layers with experts, 0
  /// without such layers.
  double experts_hit() const;

 private:
  struct BlockNorm {
    int op;
    std::vector<Bf16> weight;
  };
  /// A layer without a mixer or a feed-forward part lacks its norms too.
  struct LayerNorms {
    std::optional<BlockNorm> attn, attn_post, ffn, ffn_post;
  };

  void build_layers();
  LayerNorms make_norms(const Layer& layer, const LayerSetup& setup);
  void fill_weights();
  void check_memory(double bytes, std::string_view what) const;
  void size_activations(std::int64_t batch);
  void size_rotary();
  void run_step(StepContext& step, int thread);
  /// Returns what the next norm adds to the residual: null when no layer did anything.
  const Bf16* run_layers(StepContext& step, int thread);
  void run_embedding(StepContext& step, int thread);
  void run_lm_head(StepContext& step, int thread);
  void run_sampling(StepContext& step, int thread);
  void rotate_to(std::int64_t position);
  const PackedMatrix& lm_head() const { return spec_.tied_embeddings ? embedding_ : lm_head_; }

  ArchitectureSpec spec_;
  WeightSource weights_;
  std::uint64_t seed_;
  KvLayout kv_;
  ModelSemantics semantics_;
  double routing_skew_;
  const Kernels& kernels_;
  ThreadPool pool_;
  Arenas arenas_, cache_arenas_;
  OperatorIndex operators_;
  StepRecorder recorder_;

  PackedMatrix embedding_, lm_head_;
  std::vector<Bf16> final_norm_;
  std::vector<MixerBlock> mixers_;
  std::vector<FfnBlock> ffns_;
  std::vector<LayerNorms> norms_;
  int op_embedding_, op_final_norm_, op_lm_head_, op_sampling_;

  Activations activations_;
  std::vector<RotaryTable> rotary_;
  std::int64_t batch_ = 0, start_context_ = 0, position_ = 0, capacity_ = 0;
  std::vector<std::int64_t> tokens_;
  std::vector<std::int64_t> best_tokens_;  // (threads, batch): argmax of each thread's slab
};

}  // namespace roofcast
