#include "model/operators/decode_step.hpp"

#include "model/architecture/architecture_spec.hpp"
#include "model/operators/operator_builder.hpp"
#include "model/operators/residual.hpp"

namespace roofcast {
namespace {

/// Norm with residual add: reads both streams, writes both; its weights are read once. Where the
/// residual is several streams, mixing them is an operator of its own and the norm only normalises.
void append_norm(std::string_view name, const ArchitectureSpec& spec, OperatorBuilder& b) {
  const double passes = spec.hyper_streams > 0 ? 2.0 : 4.0;
  Operator& op = b.elementwise(name, passes * b.tokens() * b.hidden_dim());
  const double vectors = spec.norm == NormKind::layer ? 2.0 : 1.0;
  op.bytes.weights = {vectors * b.hidden_dim() * b.activation_bytes()};
}

void append_post_norm(std::string_view name, const ArchitectureSpec& spec, OperatorBuilder& b) {
  if (spec.norms_per_block > 1) append_norm(name, spec, b);
}

void append_per_layer_embedding(const ArchitectureSpec& spec, OperatorBuilder& b) {
  if (!spec.per_layer_embedding) return;
  const auto dim = static_cast<double>(spec.per_layer_embedding->dim);
  b.gemm("per_layer_gate", Component::dense_ffn, dim, b.hidden_dim());
  b.gemm("per_layer_proj", Component::dense_ffn, b.hidden_dim(), dim);
  append_norm("per_layer_norm", spec, b);
}

void append_layer_class(const ArchitectureSpec& spec, const Layer& layer, OperatorBuilder& b) {
  const Mixer& mixer = spec.mixers[static_cast<std::size_t>(layer.mixer)].kind;
  const FeedForward& ffn = spec.ffns[static_cast<std::size_t>(layer.ffn)].kind;
  const bool parallel = spec.block_order != BlockOrder::serial &&
                        !std::holds_alternative<NoMixer>(mixer) &&
                        !std::holds_alternative<NoFfn>(ffn);
  if (!std::holds_alternative<NoMixer>(mixer)) {
    append_residual(spec, b);
    append_norm("attn_norm", spec, b);
    b.set_reduces(!parallel);
    std::visit([&](const auto& kind) { kind.append_operators(b); }, mixer);
    b.set_reduces(true);
    append_post_norm("attn_post_norm", spec, b);
  }
  if (!std::holds_alternative<NoFfn>(ffn)) {
    append_residual(spec, b);
    if (!parallel || spec.block_order == BlockOrder::parallel_two_norms)
      append_norm("ffn_norm", spec, b);
    std::visit([&](const auto& kind) { kind.append_operators(b); }, ffn);
    append_post_norm("ffn_post_norm", spec, b);
  }
  append_per_layer_embedding(spec, b);
}

/// Gathers one row of each table per token; tables are split over ranks by rows.
void append_embedding(const ArchitectureSpec& spec, OperatorBuilder& b) {
  const double row_bytes = spec.formats[Component::embedding].bytes_per_element();
  double rows = b.tokens() * b.hidden_dim() * (spec.position_embeddings > 0 ? 2.0 : 1.0);
  if (spec.per_layer_embedding)
    rows += b.tokens() * static_cast<double>(spec.per_layer_embedding->dim) *
            static_cast<double>(spec.layers.size());
  Operator& op = b.elementwise("embedding", b.tokens() * b.hidden_dim());
  op.bytes.weights = {rows * row_bytes};
  if (spec.per_layer_embedding)
    b.gemm("per_layer_model_proj", Component::dense_ffn,
           static_cast<double>(spec.per_layer_embedding->dim) *
               static_cast<double>(spec.layers.size()),
           b.hidden_dim());
}

void append_head(const ArchitectureSpec& spec, OperatorBuilder& b) {
  const double rows = b.step().sequences;
  const double vocab = shard(static_cast<double>(spec.vocab_size), b.tp());
  append_final_residual(spec, b);
  append_norm("final_norm", spec, b);
  b.gemm_rows("lm_head", Component::lm_head, rows, vocab, b.hidden_dim(),
              spec.lm_head_bias ? vocab : 0.0);
  b.elementwise("sampling", rows * vocab);
}

}  // namespace

void append_step(const ArchitectureSpec& spec, const StepShape& shape, OperatorList& out) {
  OperatorBuilder builder(static_cast<double>(spec.hidden_dim), spec.formats, shape, out);
  append_embedding(spec, builder);
  for (std::size_t i = 0; i < spec.classes.size(); ++i) {
    builder.enter_layers(static_cast<int>(i), spec.classes[i].count);
    append_layer_class(spec, spec.classes[i].layer, builder);
  }
  builder.enter_layers(-1, 1.0);
  append_head(spec, builder);
}

OperatorList decode_step(const ArchitectureSpec& spec, const StepShape& shape) {
  OperatorList out;
  append_step(spec, shape, out);
  return out;
}

}  // namespace roofcast
