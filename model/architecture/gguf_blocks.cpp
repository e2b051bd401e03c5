#include "model/architecture/gguf_blocks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "model/architecture/tensor_census.hpp"
#include "model/base/error.hpp"

namespace roofcast {
namespace {

constexpr std::string_view kBlockPrefix = "blk.";

/// "blk.12.attn_q.weight" -> 12 and "attn_q.weight".
struct BlockName {
  int layer = 0;
  std::string_view rest;
};

std::optional<BlockName> block_name(std::string_view name) {
  if (!name.starts_with(kBlockPrefix)) return std::nullopt;
  name.remove_prefix(kBlockPrefix.size());
  BlockName result;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), result.layer);
  const auto digits = static_cast<std::size_t>(end - name.data());
  if (error != std::errc{} || digits >= name.size() || name[digits] != '.') return std::nullopt;
  if (result.layer < 0 || result.layer >= kMaxCensusLayers) return std::nullopt;
  result.rest = name.substr(digits + 1);
  return result;
}

}  // namespace

GgufTensors::GgufTensors(const GgufModel& model) {
  for (const GgufTensor& tensor : model.tensors) {
    by_name_.emplace(tensor.name, &tensor);
    const std::optional<BlockName> block = block_name(tensor.name);
    if (!block) continue;
    const auto layer = static_cast<std::size_t>(block->layer);
    if (blocks_.size() <= layer) blocks_.resize(layer + 1);
    blocks_[layer].push_back(block->rest);
  }
}

const GgufTensor* GgufTensors::find(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : found->second;
}

const GgufTensor* GgufTensors::block(int layer, std::string_view name) const {
  return find(fmt::format("blk.{}.{}", layer, name));
}

bool GgufTensors::any(int layer, std::string_view prefix) const {
  const auto index = static_cast<std::size_t>(layer);
  return index < blocks_.size() &&
         std::any_of(blocks_[index].begin(), blocks_[index].end(),
                     [&](std::string_view name) { return name.starts_with(prefix); });
}

void refuse_block(const GgufContext& context, int layer, std::string_view what) {
  throw UnsupportedError(
      place_message(context.fields.file(), {}, fmt::format("blk.{}", layer), what));
}

void expect_rows(const GgufContext& context, const GgufTensor& tensor, std::int64_t rows,
                 std::string_view because) {
  const std::int64_t found = tensor.dims.size() < 2 ? 1 : tensor.dims[1];
  if (found != rows)
    throw SpecError(
        place_message(context.fields.file(), {}, tensor.name,
                      fmt::format("expected {} rows ({}), got {}", rows, because, found)));
}

}  // namespace roofcast
