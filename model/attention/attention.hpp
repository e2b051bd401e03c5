#pragma once

#include <string_view>
#include <tuple>
#include <variant>

#include "model/attention/chunked.hpp"
#include "model/attention/compressed.hpp"
#include "model/attention/gated_delta.hpp"
#include "model/attention/gqa.hpp"
#include "model/attention/gqa_sparse.hpp"
#include "model/attention/kda.hpp"
#include "model/attention/lightning.hpp"
#include "model/attention/mamba1.hpp"
#include "model/attention/mamba2.hpp"
#include "model/attention/mla.hpp"
#include "model/attention/mla_expanded.hpp"
#include "model/attention/mla_sparse.hpp"
#include "model/attention/no_mixer.hpp"
#include "model/attention/short_conv.hpp"
#include "model/attention/sliding_window.hpp"

namespace roofcast {

/// The one list of attention and state kinds: reader, writer, cost and `roofcast list` walk it. A
/// kind is one header with kName, kSummary, visit_fields, parameters, cache, cache_shards and
/// append_operators; what it lacks fails to compile where it is needed.
using Mixer =
    std::variant<GroupedQueryAttention, SlidingWindowAttention, ChunkedAttention,
                 SparseGroupedAttention, MultiHeadLatentAttention, ExpandedLatentAttention,
                 SparseLatentAttention, CompressedAttention, GatedDeltaNet, KimiDeltaAttention,
                 LightningAttention, Mamba1, Mamba2, ShortConvolution, NoMixer>;

/// Calls `use(Kind{})` for every kind of the variant, in order.
template <typename Variant, typename Use>
void for_each_kind(Use&& use) {
  const auto walk = [&]<std::size_t... I>(std::index_sequence<I...>) {
    (use(std::variant_alternative_t<I, Variant>{}), ...);
  };
  walk(std::make_index_sequence<std::variant_size_v<Variant>>{});
}

/// Name of the kind that `kind` holds.
template <typename Variant>
std::string_view kind_name(const Variant& kind) {
  return std::visit([](const auto& k) { return std::decay_t<decltype(k)>::kName; }, kind);
}

}  // namespace roofcast
