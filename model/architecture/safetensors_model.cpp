#include "model/architecture/safetensors_model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <unordered_map>

#include "model/base/document.hpp"
#include "model/base/error.hpp"
#include "model/base/files.hpp"
#include "model/base/spec_reader.hpp"

namespace roofcast {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kIndexEnding = ".safetensors.index.json";
constexpr std::string_view kFileEnding = ".safetensors";
constexpr std::int64_t kMaxTotalBytes = std::int64_t{1} << 50;

/// The weight file or index of a folder; empty when it has none.
fs::path weights_in(const fs::path& folder) {
  for (const char* name : {"model.safetensors.index.json", "consolidated.safetensors.index.json",
                           "model.safetensors", "consolidated.safetensors"})
    if (path_exists(folder / name)) return folder / name;
  std::vector<fs::path> files;
  for (const fs::path& entry : folder_entries(folder)) {
    const std::string name = entry.filename().string();
    if (name.ends_with(kIndexEnding)) return entry;
    if (name.ends_with(kFileEnding)) files.push_back(entry);
  }
  return files.size() == 1 ? files.front() : fs::path{};
}

void append(SafetensorsModel& model, SafetensorsHeader header) {
  model.files.push_back(std::move(header.file));
  model.file_bytes += header.file_bytes;
  model.tensors.insert(model.tensors.end(), std::make_move_iterator(header.tensors.begin()),
                       std::make_move_iterator(header.tensors.end()));
}

/// Shards of an index and the tensors that each is to hold.
using Shards = std::map<std::string, std::vector<std::string>>;

/// The map has up to some 100,000 members, so it is walked directly: SpecReader looks keys up one
/// by one.
Shards read_shards(const Document& document, const Value& weight_map, SafetensorsModel& model) {
  Shards shards;
  for (const auto& [tensor, value] : weight_map.members) {
    const std::string& shard = value.scalar;
    // A name with a folder in it would let an index reach outside of the model's folder.
    if (!value.is_scalar() || shard.find('/') != std::string::npos || !shard.ends_with(kFileEnding))
      throw SpecError(place_message(
          document.file, value.at, "weight_map." + tensor,
          fmt::format("expected the name of a .safetensors file, got {}", describe(value))));
    shards[shard].push_back(tensor);
    model.indexed_names.push_back(tensor);
  }
  return shards;
}

void read_shard_files(const fs::path& folder, const Shards& shards, SafetensorsModel& model) {
  std::vector<std::string> missing;
  for (const auto& [shard, tensors] : shards)
    if (!path_exists(folder / shard)) missing.push_back(shard);
  if (missing.size() == shards.size()) return;
  if (!missing.empty())
    throw SpecError(
        place_message((folder / missing.front()).string(), {}, "",
                      fmt::format("{} of {} shards of the index are missing, this one first",
                                  missing.size(), shards.size())));
  std::unordered_map<std::string, std::string> found;  // tensor -> shard
  for (const auto& [shard, tensors] : shards) {
    SafetensorsHeader header = read_safetensors_header((folder / shard).string());
    for (const SafetensorsTensor& tensor : header.tensors)
      if (!found.emplace(tensor.name, shard).second)
        throw SpecError(place_message(header.file, {}, tensor.name,
                                      "expected each tensor in one shard, got it in two"));
    append(model, std::move(header));
  }
  for (const auto& [shard, tensors] : shards)
    for (const std::string& tensor : tensors)
      if (const auto at = found.find(tensor); at == found.end() || at->second != shard)
        throw SpecError(place_message((folder / shard).string(), {}, tensor,
                                      "expected this tensor as the index says, got none"));
}

SafetensorsModel read_index(const fs::path& path) {
  SafetensorsModel model;
  model.index_file = path.string();
  const Document document = parse_json(read_text_file(path.string()), path.string());
  SpecReader root(document.root, document.file);
  if (std::optional<SpecReader> metadata = root.optional_child("metadata"); metadata)
    model.indexed_bytes = metadata->optional_integer("total_size", 0, kMaxTotalBytes);
  const SpecReader weight_map = root.child("weight_map");
  read_shard_files(path.parent_path(), read_shards(document, weight_map.node(), model), model);
  return model;
}

}  // namespace

SafetensorsModel read_safetensors_model(const std::string& path) {
  fs::path file = path;
  if (path_kind(file) == PathKind::folder) {
    file = weights_in(file);
    if (file.empty())
      throw SpecError(
          place_message(path, {}, "", "expected model.safetensors or its index, got neither"));
  }
  if (file.string().ends_with(".json")) return read_index(file);
  SafetensorsModel model;
  append(model, read_safetensors_header(file.string()));
  return model;
}

bool looks_like_safetensors(const std::string& path) {
  if (path_kind(path) == PathKind::folder) return !weights_in(path).empty();
  return path.ends_with(kFileEnding) || path.ends_with(kIndexEnding);
}

}  // namespace roofcast
