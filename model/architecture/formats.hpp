#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "model/base/number_format.hpp"

namespace roofcast {

/// Parts of a model that are stored in formats of their own.
enum class Component {
  attention,       // projections of attention and state layers
  dense_ffn,       // feed-forward matrices of dense layers
  routed_experts,  // expert matrices, of which a step reads the distinct ones hit
  shared_experts,  // experts that every token uses
  router,          // expert scores
  embedding,       // token table; one row per token is read
  lm_head,         // output projection, read whole
  k,               // key cache (or the one latent of MLA)
  v,               // value cache
  indexer,         // key cache of a sparse-attention indexer
  state,           // recurrent state of linear and state-space layers
  conv_state,      // last inputs of their short convolutions
  activations,     // values between operators, norms and biases
};

inline constexpr std::array<std::string_view, 13> kComponentNames = {
    "attention",  "dense_ffn", "routed_experts", "shared_experts",
    "router",     "embedding", "lm_head",        "k",
    "v",          "indexer",   "state",          "conv_state",
    "activations"};

/// How one component is stored. `bits` is the true mean where a file mixes formats inside a
/// component (Q4_K_M, ignore lists); otherwise it is the format's own.
struct Storage {
  FormatId format = {};
  double bits = 16.0;

  bool operator==(const Storage&) const = default;
  double bytes_per_element() const { return bits / 8.0; }
};

inline Storage storage_of(FormatId format) { return {format, format.row().bits_per_element()}; }

/// Formats of all components; 16-bit throughout, recurrent state in fp32, unless a spec says
/// otherwise.
struct Formats {
  std::array<Storage, kComponentNames.size()> components = defaults();

  bool operator==(const Formats&) const = default;
  const Storage& operator[](Component c) const { return components[static_cast<std::size_t>(c)]; }
  Storage& operator[](Component c) { return components[static_cast<std::size_t>(c)]; }

 private:
  static std::array<Storage, kComponentNames.size()> defaults() {
    std::array<Storage, kComponentNames.size()> all{};
    all[static_cast<std::size_t>(Component::state)] = storage_of(*find_format("fp32"));
    return all;
  }
};

}  // namespace roofcast
