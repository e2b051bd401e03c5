#include "model/architecture/gguf_model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <optional>
#include <unordered_set>

#include "model/base/error.hpp"
#include "model/base/files.hpp"

namespace roofcast {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kEnding = ".gguf";
constexpr int kMaxParts = 4096;

/// "x-00002-of-00003.gguf": prefix "x", part 2 of 3.
struct PartName {
  std::string prefix;
  int part = 0;
  int parts = 0;
};

std::optional<int> five_digits(std::string_view text) {
  int number = 0;
  for (const char c : text) {
    if (std::isdigit(static_cast<unsigned char>(c)) == 0) return std::nullopt;
    number = number * 10 + (c - '0');
  }
  return number;
}

std::optional<PartName> part_of(std::string_view path) {
  constexpr std::size_t kSuffix = std::string_view("-00001-of-00003.gguf").size();
  if (path.size() < kSuffix || !path.ends_with(kEnding)) return std::nullopt;
  const std::string_view suffix = path.substr(path.size() - kSuffix);
  if (suffix.front() != '-' || suffix.substr(6, 4) != "-of-") return std::nullopt;
  const std::optional<int> part = five_digits(suffix.substr(1, 5));
  const std::optional<int> parts = five_digits(suffix.substr(10, 5));
  if (!part || !parts) return std::nullopt;
  return PartName{std::string(path.substr(0, path.size() - kSuffix)), *part, *parts};
}

std::string part_path(const PartName& name, int part) {
  return fmt::format("{}-{:05}-of-{:05}.gguf", name.prefix, part, name.parts);
}

/// GGUF files of a folder, sorted; without projectors and with one entry for a split model.
std::vector<std::string> models_in(const fs::path& folder) {
  std::vector<std::string> models;
  for (const fs::path& entry : folder_entries(folder)) {
    const std::string name = entry.filename().string();
    if (!name.ends_with(kEnding) || name.starts_with("mmproj")) continue;
    const std::optional<PartName> part = part_of(entry.string());
    models.push_back(part ? part_path(*part, 1) : entry.string());
  }
  std::sort(models.begin(), models.end());
  models.erase(std::unique(models.begin(), models.end()), models.end());
  return models;
}

std::string the_model_in(const fs::path& folder) {
  const std::vector<std::string> models = models_in(folder);
  if (models.size() == 1) return models.front();
  if (models.empty())
    throw SpecError(place_message(folder.string(), {}, "", "expected a .gguf file, got none"));
  std::string names;
  for (std::size_t i = 0; i < models.size() && i < 8; ++i)
    names += (i == 0 ? "" : ", ") + fs::path(models[i]).filename().string();
  throw SpecError(place_message(
      folder.string(), {}, "",
      fmt::format("expected one model, got {}: {}; name one of them", models.size(), names)));
}

std::int64_t whole_or(const GgufHeader& header, std::string_view key, std::int64_t fallback) {
  const GgufValue* value = header.find(key);
  const auto* number = value == nullptr ? nullptr : std::get_if<std::int64_t>(&value->data);
  return number == nullptr ? fallback : *number;
}

[[noreturn]] void fail(const std::string& file, std::string_view key, std::string_view what) {
  throw SpecError(place_message(file, {}, key, what));
}

/// What a part says of itself has to agree with its name.
void check_part(const GgufHeader& header, int part, int parts) {
  if (const std::int64_t count = whole_or(header, "split.count", parts); count != parts)
    fail(header.file, "split.count",
         fmt::format("expected {} as in the name, got {}", parts, count));
  if (const std::int64_t no = whole_or(header, "split.no", part - 1); no != part - 1)
    fail(header.file, "split.no", fmt::format("expected {} as in the name, got {}", part - 1, no));
}

void append(GgufModel& model, GgufHeader header) {
  if (model.files.empty()) model.metadata = std::move(header.metadata);
  model.files.push_back(std::move(header.file));
  model.file_bytes += header.file_bytes;
  model.tensors.insert(model.tensors.end(), std::make_move_iterator(header.tensors.begin()),
                       std::make_move_iterator(header.tensors.end()));
}

GgufModel read_parts(const PartName& name, const std::string& path) {
  if (name.part < 1 || name.parts < 1 || name.part > name.parts || name.parts > kMaxParts)
    fail(path, "",
         fmt::format("expected a part from 1 to {} in the name, got {}",
                     std::min(name.parts, kMaxParts), name.part));
  for (int part = 1; part <= name.parts; ++part)
    if (!path_exists(part_path(name, part)))
      fail(part_path(name, part), "", fmt::format("part {} of {} is missing", part, name.parts));
  GgufModel model;
  std::int64_t expected_tensors = -1;
  for (int part = 1; part <= name.parts; ++part) {
    GgufHeader header = read_gguf_header(part_path(name, part));
    check_part(header, part, name.parts);
    if (part == 1) expected_tensors = whole_or(header, "split.tensors.count", -1);
    append(model, std::move(header));
  }
  if (expected_tensors >= 0 && expected_tensors != static_cast<std::int64_t>(model.tensors.size()))
    fail(path, "split.tensors.count",
         fmt::format("expected {} tensors in all parts, got {}", expected_tensors,
                     model.tensors.size()));
  std::unordered_set<std::string> seen;
  for (const GgufTensor& tensor : model.tensors)
    if (!seen.insert(tensor.name).second)
      fail(path, tensor.name, "expected each tensor in one part, got it in two");
  return model;
}

}  // namespace

const GgufValue* GgufModel::find(std::string_view key) const {
  for (const auto& [name, value] : metadata)
    if (name == key) return &value;
  return nullptr;
}

GgufModel read_gguf_model(const std::string& path) {
  const std::string file = path_kind(path) == PathKind::folder ? the_model_in(path) : path;
  if (const std::optional<PartName> name = part_of(file)) return read_parts(*name, file);
  GgufModel model;
  GgufHeader header = read_gguf_header(file);
  if (const std::int64_t parts = whole_or(header, "split.count", 1); parts > 1)
    fail(file, "split.count",
         fmt::format("one of {} parts, whose name has to end in \"-00001-of-{:05}.gguf\" or alike",
                     parts, parts));
  append(model, std::move(header));
  return model;
}

bool looks_like_gguf(const std::string& path) {
  if (path_kind(path) == PathKind::folder) return !models_in(path).empty();
  return path.ends_with(kEnding);
}

}  // namespace roofcast
