#include "model/architecture/gguf_layers.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace roofcast {
namespace {

GgufHeads read_heads(GgufFields& f, std::int64_t hidden_dim, std::size_t n_layers) {
  GgufHeads heads;
  heads.n_heads = f.per_layer("attention.head_count", n_layers)
                      .value_or(std::vector<std::int64_t>(n_layers, 0));
  if (const auto kv = f.per_layer("attention.head_count_kv", n_layers)) {
    heads.n_kv_heads = *kv;
  } else {
    heads.n_kv_heads = heads.n_heads;
    f.note(f.architecture() + ".attention.head_count_kv", "as head_count", FieldStatus::defaulted);
  }
  const std::int64_t most = *std::max_element(heads.n_heads.begin(), heads.n_heads.end());
  const std::int64_t divided = most > 0 ? hidden_dim / most : 0;
  heads.head_dim = f.whole_or("attention.key_length", divided, "embedding_length / head_count");
  heads.v_head_dim = f.whole_or("attention.value_length", divided, "embedding_length / head_count");
  heads.window_head_dim = f.whole("attention.key_length_swa").value_or(heads.head_dim);
  heads.window_v_head_dim = f.whole("attention.value_length_swa").value_or(heads.v_head_dim);
  return heads;
}

std::vector<bool> cyclic_windows(std::size_t n_layers, std::size_t cycle, bool full_first) {
  std::vector<bool> windowed(n_layers, false);
  for (std::size_t i = 0; i < n_layers; ++i)
    windowed[i] = full_first ? i % cycle != 0 : i % cycle < cycle - 1;
  return windowed;
}

/// Window pattern: the file's list, else the file's cycle, else the architecture's.
std::vector<bool> read_pattern(GgufFields& f, const GgufArchitecture& row, std::size_t n_layers) {
  constexpr std::string_view kKey = "attention.sliding_window_pattern";
  if (f.is_list(kKey)) {
    const std::vector<std::int64_t> list = *f.per_layer(kKey, n_layers);
    std::vector<bool> windowed;
    for (const std::int64_t item : list) windowed.push_back(item != 0);
    return windowed;
  }
  const std::int64_t cycle = f.whole_or(kKey, row.cycle, "as llama.cpp");
  if (cycle < 1)
    f.fail(f.architecture() + ".attention.sliding_window_pattern",
           "expected a list of layers with a window, got none");
  return cyclic_windows(n_layers, static_cast<std::size_t>(cycle), row.full_layer_first);
}

void read_windows(GgufContext& c, std::size_t n_layers) {
  GgufFields& f = c.fields;
  const GgufArchitecture& row = c.architecture;
  c.windowed.assign(n_layers, false);
  const bool applies =
      row.windows != GgufWindows::none &&
      (row.only_with_layers == 0 || static_cast<std::size_t>(row.only_with_layers) == n_layers);
  if (!applies) {
    f.ignore("attention.sliding_window", "llama.cpp keeps the whole context for this architecture");
    f.ignore("attention.sliding_window_pattern", "no windows");
    return;
  }
  c.window = f.whole_or("attention.sliding_window", row.default_window, "as llama.cpp");
  // A window of 0 turns windows off; llama.cpp fixes Llama 4's chunks whatever the file says.
  if (c.window == 0) return;
  if (row.windows == GgufWindows::chunked) c.window = row.default_window;
  c.windowed = read_pattern(f, row, n_layers);
}

void read_own_kv_layers(GgufContext& c, std::int64_t n_layers) {
  c.own_kv_layers = n_layers;
  if (c.architecture.own_kv_layers > 0)
    c.own_kv_layers = std::min<std::int64_t>(n_layers, c.architecture.own_kv_layers);
  const std::optional<std::int64_t> shared = c.fields.whole("attention.shared_kv_layers");
  if (!shared) return;
  if (*shared >= n_layers)
    c.fields.fail(c.fields.architecture() + ".attention.shared_kv_layers",
                  fmt::format("expected fewer than {} layers, got {}", n_layers, *shared));
  c.own_kv_layers = n_layers - *shared;
}

/// Short names that a reader of the spec understands.
std::string base_name(const Mixer& mixer) {
  if (std::holds_alternative<SlidingWindowAttention>(mixer)) return "local";
  if (std::holds_alternative<GroupedQueryAttention>(mixer)) return "full";
  return std::string(kind_name(mixer));
}
std::string base_name(const FeedForward& ffn) { return std::string(kind_name(ffn)); }

/// Index of an equal kind in `named`, which gets it under a fresh name if there is none.
template <typename Named, typename Kind>
int index_of(std::vector<Named>& named, const Kind& kind) {
  std::size_t alike = 1;
  for (std::size_t i = 0; i < named.size(); ++i) {
    if (named[i].kind == kind) return static_cast<int>(i);
    if (base_name(named[i].kind) == base_name(kind)) ++alike;
  }
  const std::string name =
      alike == 1 ? base_name(kind) : fmt::format("{}_{}", base_name(kind), alike);
  named.push_back({name, kind});
  return static_cast<int>(named.size()) - 1;
}

/// Norms of hidden width in a block, by name: before attention, before or behind feed-forward, ...
int norms_in(const GgufTensors& tensors, int layer) {
  int norms = 0;
  for (const char* name : {"attn_norm.weight", "attn_norm_2.weight", "post_attention_norm.weight",
                           "ffn_norm.weight", "post_ffw_norm.weight", "layer_output_norm.weight"})
    norms += tensors.has(layer, name) ? 1 : 0;
  return norms;
}

/// Layers with one norm for attention and feed-forward run both on it (Falcon-7B, Cohere, Phi-2);
/// with two, only architectures known for it do. Four norms: one before and one behind each part.
void read_norms(GgufContext& c, ArchitectureSpec& spec) {
  for (std::size_t i = 0; i < spec.layers.size(); ++i) {
    const Layer& layer = spec.layers[i];
    if (std::holds_alternative<NoMixer>(spec.mixers[static_cast<std::size_t>(layer.mixer)].kind) ||
        std::holds_alternative<NoFfn>(spec.ffns[static_cast<std::size_t>(layer.ffn)].kind))
      continue;
    const int norms = norms_in(c.tensors, static_cast<int>(i));
    spec.norms_per_block = norms >= 4 ? 2 : 1;
    const bool parallel = c.tensors.has(static_cast<int>(i), "attn_norm_2.weight") ||
                          c.fields.flag("use_parallel_residual").value_or(false);
    if (norms == 1)
      spec.block_order = BlockOrder::parallel_one_norm;
    else if (norms == 2 && parallel)
      spec.block_order = BlockOrder::parallel_two_norms;
    return;
  }
}

}  // namespace

void read_gguf_layers(GgufFields& fields, const GgufTensors& tensors,
                      const GgufArchitecture& architecture, std::int64_t n_layers,
                      ArchitectureSpec& spec) {
  const auto count = static_cast<std::size_t>(n_layers);
  GgufContext context{.fields = fields, .tensors = tensors, .architecture = architecture};
  context.hidden_dim = spec.hidden_dim;
  context.heads = read_heads(fields, spec.hidden_dim, count);
  read_windows(context, count);
  read_own_kv_layers(context, n_layers);
  fields.ignore("feed_forward_length", "the tensors' shapes count");
  fields.ignore("expert_feed_forward_length", "the tensors' shapes count");
  fields.ignore("expert_shared_feed_forward_length", "the tensors' shapes count");
  fields.ignore("leading_dense_block_count", "the blocks' tensors count");
  for (int layer = 0; layer < static_cast<int>(n_layers); ++layer)
    spec.layers.push_back({index_of(spec.mixers, gguf_mixer(context, layer)),
                           index_of(spec.ffns, gguf_feed_forward(context, layer))});
  read_norms(context, spec);
}

}  // namespace roofcast
