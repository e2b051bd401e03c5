#include "model/attention/index_scores.hpp"

namespace roofcast {

void append_index_scores(const IndexWork& w, OperatorBuilder& b) {
  constexpr double kScoreBytes = 4.0;
  const double sequences = b.step().sequences;
  const double score_bytes = sequences * w.pairs * w.scores * kScoreBytes;
  const Storage& keys = b.formats()[Component::indexer];
  Operator& score = b.append("index_score", OperatorKind::attention);
  score.shape.sequences = sequences;
  score.shape.m = b.tokens();
  score.shape.heads = w.heads;
  score.shape.kv_heads = 1.0;
  score.shape.tokens_read = w.keys_read;
  score.shape.k = w.head_dim;
  score.format = keys.format;
  score.compute = keys.format.row().compute;
  score.flops = {2.0 * w.heads * w.head_dim * w.pairs * sequences};
  score.bytes.kv_read = {sequences * w.keys_read * w.head_dim * keys.bytes_per_element()};
  score.bytes.kv_write = {sequences * w.keys_added * w.head_dim * keys.bytes_per_element()};
  score.bytes.activations = {b.tokens() * w.heads * w.head_dim * b.activation_bytes() +
                             score_bytes};
  Operator& select = b.elementwise("index_topk", 0.0);
  select.bytes.activations = {score_bytes};
}

}  // namespace roofcast
