#pragma once

namespace roofcast {

/// What one forward pass does: `sequences` sequences each append `query_len` tokens to a cache that
/// holds `context` tokens. Decode has query_len 1; prefill of a prompt of P tokens has query_len P
/// and context 0, and a later chunk of it the context before the chunk.
struct StepShape {
  double sequences = 1.0;
  double query_len = 1.0;
  double context = 0.0;
  int tp = 1;  // tensor-parallel ranks
  // Distinct experts that the tokens hit in each layer with experts, where that is known; 0: what
  // uniform routing makes expected.
  double experts_hit = 0.0;

  double tokens() const { return sequences * query_len; }
  bool is_decode() const { return query_len == 1.0; }
};

/// Query-key pairs of one sequence under causal attention over everything before: query i of the
/// pass sees the `context` cached tokens and queries 0..i.
constexpr double causal_pairs(double context, double query_len) {
  return query_len * context + query_len * (query_len + 1.0) / 2.0;
}

/// Causal pairs when each query sees at most the last `window` tokens, itself included.
constexpr double windowed_pairs(double context, double query_len, double window) {
  const auto upto = [window](double n) {
    return n <= window ? n * (n + 1.0) / 2.0
                       : window * (window + 1.0) / 2.0 + (n - window) * window;
  };
  return upto(context + query_len) - upto(context);
}

}  // namespace roofcast
