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
  double state = 0.0;  // fixed, whatever the context

  CacheElements operator*(double factor) const {
    return {k * factor, v * factor, indexer * factor, state * factor};
  }
  CacheElements& operator+=(const CacheElements& o) {
    k += o.k;
    v += o.v;
    indexer += o.indexer;
    state += o.state;
    return *this;
  }
};

}  // namespace roofcast
