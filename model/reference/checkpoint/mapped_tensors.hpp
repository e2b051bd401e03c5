#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "model/architecture/safetensors_header.hpp"
#include "model/reference/checkpoint/mapped_file.hpp"

namespace roofcast {

/// One tensor of a mapped safetensors file.
struct MappedTensor {
  SafetensorsTensor header;
  std::string file;
  const std::byte* data = nullptr;  // aligned to nothing
};

/// Whether read_elements() knows the tensor's dtype: BF16, F16, F32.
bool is_float_tensor(const MappedTensor& tensor);

/// Elements first, first + stride, ... of a tensor, `count` of them, as exact fp32 values. The
/// places have to exist and the dtype has to be known.
void read_elements(const MappedTensor& tensor, std::int64_t first, std::int64_t stride,
                   std::int64_t count, float* out);

/// The tensors of a model's safetensors files, mapped.
class MappedTensors {
 public:
  /// `path` as read_safetensors_model() takes it. Throws what that throws, and SpecError where an
  /// index has no weight files beside it.
  explicit MappedTensors(const std::string& path);

  /// nullptr when there is none of this name.
  const MappedTensor* find(std::string_view name) const;
  const std::vector<MappedTensor>& all() const { return tensors_; }

 private:
  std::vector<MappedFile> files_;
  std::vector<MappedTensor> tensors_;
  std::unordered_map<std::string_view, std::size_t> by_name_;
};

}  // namespace roofcast
