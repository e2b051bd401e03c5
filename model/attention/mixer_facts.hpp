#pragma once

namespace roofcast {

/// Parameters of one layer's attention or state block, as element counts.
struct MixerParameters {
  double matrices = 0.0;  // stored in the `attention` format
  double vectors = 0.0;   // norms, biases, sinks, convolution taps: stored as activations
  double total() const { return matrices + vectors; }
};

/// What one layer keeps per sequence. Element counts by the component that stores them; a kind that
/// keeps K and V as one latent reports it under `k`.
struct CacheElements {
  double k = 0.0;
  double v = 0.0;
  double indexer = 0.0;
  double state = 0.0;       // recurrent or compressor state: fixed, whatever the context
  double conv_state = 0.0;  // last inputs of a short convolution: fixed too

  CacheElements operator*(double factor) const {
    return {k * factor, v * factor, indexer * factor, state * factor, conv_state * factor};
  }
  CacheElements& operator+=(const CacheElements& o) {
    k += o.k;
    v += o.v;
    indexer += o.indexer;
    state += o.state;
    conv_state += o.conv_state;
    return *this;
  }
};

/// Ranks over which tensor parallelism splits each part of a cache. What one head serves for all
/// (a latent, an indexer key) stays whole on every rank: 1.
struct CacheShards {
  double kv = 1.0;
  double indexer = 1.0;
  double state = 1.0;  // conv_state splits like it
};

/// The share of one rank.
inline CacheElements operator/(const CacheElements& whole, const CacheShards& ranks) {
  return {whole.k / ranks.kv, whole.v / ranks.kv, whole.indexer / ranks.indexer,
          whole.state / ranks.state, whole.conv_state / ranks.state};
}

}  // namespace roofcast
