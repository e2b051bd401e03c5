#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "model/architecture/gguf_model.hpp"
#include "tests/model/architecture/gguf_builder.hpp"

namespace roofcast::test {

/// ggml type ids, ggml.h.
inline constexpr std::uint32_t kF32 = 0;
inline constexpr std::uint32_t kF16 = 1;
inline constexpr std::uint32_t kQ8_0 = 8;
inline constexpr std::uint32_t kQ4_K = 12;
inline constexpr std::uint32_t kQ6_K = 14;
inline constexpr std::uint32_t kMxfp4 = 39;

/// Bytes of one row of `n` elements, from ggml's block sizes.
inline std::uint64_t row_bytes(std::uint32_t type, std::int64_t n) {
  const auto elements = static_cast<std::uint64_t>(n);
  switch (type) {
    case kF16:
      return elements * 2;
    case kQ8_0:
      return elements / 32 * 34;
    case kQ4_K:
      return elements / 256 * 144;
    case kQ6_K:
      return elements / 256 * 210;
    case kMxfp4:
      return elements / 32 * 17;
    default:
      return elements * 4;
  }
}

/// Adds tensors of a model in the file's own spelling.
class GgufModelBuilder {
 public:
  explicit GgufModelBuilder(std::string architecture) : architecture_(std::move(architecture)) {
    file.set("general.architecture", architecture_);
  }

  std::string key(std::string_view name) const { return architecture_ + "." + std::string(name); }
  GgufModelBuilder& count(std::string_view name, std::uint32_t number) {
    file.count(key(name), number);
    return *this;
  }
  template <typename T>
  GgufModelBuilder& list(std::string_view name, const std::vector<T>& items) {
    file.set_array(key(name), items);
    return *this;
  }

  /// `rows` of `columns` elements, `depth` times (experts).
  GgufModelBuilder& matrix(const std::string& name, std::int64_t columns, std::int64_t rows,
                           std::uint32_t type = kF16, std::int64_t depth = 1) {
    const std::uint64_t bytes = row_bytes(type, columns) * static_cast<std::uint64_t>(rows * depth);
    if (depth == 1)
      file.tensor(name + ".weight", {columns, rows}, type, bytes);
    else
      file.tensor(name + ".weight", {columns, rows, depth}, type, bytes);
    return *this;
  }
  /// A norm or bias, always F32 in GGUF.
  GgufModelBuilder& vector(const std::string& name, std::int64_t elements) {
    file.tensor(name, {elements}, kF32, static_cast<std::uint64_t>(elements) * 4);
    return *this;
  }

  static std::string block(int layer, std::string_view name) {
    return "blk." + std::to_string(layer) + "." + std::string(name);
  }

  /// What all decoders share.
  GgufModelBuilder& outside(std::int64_t hidden, std::int64_t vocab, bool tied,
                            std::uint32_t table = kF16, std::uint32_t head = kF16) {
    matrix("token_embd", hidden, vocab, table);
    if (!tied) matrix("output", hidden, vocab, head);
    return vector("output_norm.weight", hidden);
  }
  GgufModelBuilder& norms(int layer, std::int64_t hidden) {
    vector(block(layer, "attn_norm.weight"), hidden);
    return vector(block(layer, "ffn_norm.weight"), hidden);
  }
  GgufModelBuilder& attention(int layer, std::int64_t hidden, std::int64_t heads, std::int64_t kv,
                              std::int64_t dim, std::uint32_t type = kF16,
                              std::uint32_t v_type = kF16) {
    matrix(block(layer, "attn_q"), hidden, heads * dim, type);
    matrix(block(layer, "attn_k"), hidden, kv * dim, type);
    matrix(block(layer, "attn_v"), hidden, kv * dim, v_type);
    return matrix(block(layer, "attn_output"), heads * dim, hidden, type);
  }
  GgufModelBuilder& gated_ffn(int layer, std::int64_t hidden, std::int64_t width,
                              std::uint32_t type = kF16, std::uint32_t down_type = kF16) {
    matrix(block(layer, "ffn_gate"), hidden, width, type);
    matrix(block(layer, "ffn_up"), hidden, width, type);
    return matrix(block(layer, "ffn_down"), width, hidden, down_type);
  }
  GgufModelBuilder& experts(int layer, std::int64_t hidden, std::int64_t width, std::int64_t n,
                            std::uint32_t type = kF16) {
    matrix(block(layer, "ffn_gate_inp"), hidden, n, kF32);
    matrix(block(layer, "ffn_gate_exps"), hidden, width, type, n);
    matrix(block(layer, "ffn_up_exps"), hidden, width, type, n);
    return matrix(block(layer, "ffn_down_exps"), width, hidden, type, n);
  }

  /// The model as read from a file with these bytes in front and its data behind.
  GgufModel read() const {
    std::istringstream in(file.header());
    GgufHeader header = read_gguf_header(in, file.size_with_data(), architecture_ + ".gguf");
    GgufModel model;
    model.files = {header.file};
    model.file_bytes = header.file_bytes;
    model.metadata = std::move(header.metadata);
    model.tensors = std::move(header.tensors);
    return model;
  }

  GgufBuilder file;

 private:
  std::string architecture_;
};

}  // namespace roofcast::test
