#include "model/reference/checkpoint/mapped_tensors.hpp"

#include <bit>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "model/architecture/safetensors_model.hpp"
#include "model/base/error.hpp"
#include "model/reference/cpu/bf16.hpp"

namespace roofcast {
namespace {

/// IEEE 754 binary16: 5 bits of exponent, 10 of fraction.
float half_to_float(std::uint16_t bits) {
  const int exponent = (bits >> 10) & 0x1f;
  const int fraction = bits & 0x3ff;
  const auto magnitude = [&]() -> float {
    if (exponent == 0x1f) return fraction == 0 ? HUGE_VALF : std::nanf("");
    if (exponent == 0) return std::ldexp(static_cast<float>(fraction), -24);
    return std::ldexp(static_cast<float>(fraction + 0x400), exponent - 25);
  };
  return (bits & 0x8000) != 0 ? -magnitude() : magnitude();
}

template <typename Word, typename Decode>
void read_words(const std::byte* data, std::int64_t first, std::int64_t stride, std::int64_t count,
                float* out, Decode decode) {
  for (std::int64_t i = 0; i < count; ++i) {
    Word word{};
    std::memcpy(&word, data + (first + i * stride) * std::int64_t{sizeof word}, sizeof word);
    out[i] = decode(word);
  }
}

}  // namespace

bool is_float_tensor(const MappedTensor& tensor) {
  const std::string& dtype = tensor.header.dtype;
  return dtype == "BF16" || dtype == "F16" || dtype == "F32";
}

void read_elements(const MappedTensor& tensor, std::int64_t first, std::int64_t stride,
                   std::int64_t count, float* out) {
  const std::string& dtype = tensor.header.dtype;
  if (dtype == "BF16")
    read_words<std::uint16_t>(tensor.data, first, stride, count, out, bf16_to_float);
  else if (dtype == "F16")
    read_words<std::uint16_t>(tensor.data, first, stride, count, out, half_to_float);
  else
    read_words<float>(tensor.data, first, stride, count, out, [](float value) { return value; });
}

MappedTensors::MappedTensors(const std::string& path) {
  const SafetensorsModel model = read_safetensors_model(path);
  if (model.files.empty())
    throw SpecError(place_message(model.index_file, {}, "",
                                  "expected the weight files of this index beside it, got none"));
  for (const std::string& name : model.files) {
    SafetensorsHeader header = read_safetensors_header(name);
    const MappedFile& file = files_.emplace_back(name);
    if (file.size() != header.file_bytes)
      throw IoError(place_message(name, {}, "", "changed while it was being read"));
    for (SafetensorsTensor& tensor : header.tensors) {
      const std::byte* const data = file.data() + header.data_start + tensor.begin;
      tensors_.push_back({std::move(tensor), name, data});
    }
  }
  for (std::size_t i = 0; i < tensors_.size(); ++i) by_name_.emplace(tensors_[i].header.name, i);
}

const MappedTensor* MappedTensors::find(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : &tensors_[found->second];
}

}  // namespace roofcast
