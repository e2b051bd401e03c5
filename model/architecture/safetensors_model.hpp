#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/architecture/safetensors_header.hpp"

namespace roofcast {

/// The weights of a model folder, of one file or sharded.
struct SafetensorsModel {
  std::vector<std::string> files;  // weight files that were read; empty when only an index is there
  std::uint64_t file_bytes = 0;
  std::vector<SafetensorsTensor> tensors;     // of all files
  std::vector<std::string> indexed_names;     // of the index, when there is one
  std::optional<std::int64_t> indexed_bytes;  // metadata.total_size of the index
  std::string index_file;                     // empty when there is none
};

/// Reads the weight headers of a model. `path` is a .safetensors file, an index
/// ("model.safetensors.index.json"), or a folder with one of them. An index without any of its
/// shards gives names and total size only; an index with some shards missing, or one that names
/// tensors which its shards do not hold, is refused. Throws SpecError and IoError.
SafetensorsModel read_safetensors_model(const std::string& path);

/// True for such a file, and for a folder that holds one.
bool looks_like_safetensors(const std::string& path);

}  // namespace roofcast
