#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "model/architecture/gguf_header.hpp"

namespace roofcast {

/// A model of one GGUF file or of all parts of a split one: metadata of the first part, tensors of
/// all parts in order.
struct GgufModel {
  std::vector<std::string> files;
  std::uint64_t file_bytes = 0;  // of all files together
  std::vector<std::pair<std::string, GgufValue>> metadata;
  std::vector<GgufTensor> tensors;

  /// nullptr when absent.
  const GgufValue* find(std::string_view key) const;
};

/// Reads the headers of a model. `path` is a file, any part of a split model
/// ("x-00001-of-00003.gguf"), or a folder that holds one model; multimodal projectors
/// ("mmproj*.gguf") beside it are left out. Throws SpecError when a part is missing (by name), when
/// parts do not belong together, or when the folder holds several models; IoError as
/// read_gguf_header.
GgufModel read_gguf_model(const std::string& path);

/// True for a GGUF file by its ending, and for a folder that holds one.
bool looks_like_gguf(const std::string& path);

}  // namespace roofcast
