#include "model/base/catalogue_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <set>

#include "model/base/error.hpp"
#include "model/base/files.hpp"

namespace roofcast {
namespace {

constexpr std::string_view kExtension = ".yaml";
/// Longer names are no file names on common systems, and asking for one would be an error.
constexpr std::size_t kLongestName = 200;

/// Folder of user entries; empty when $ROOFCAST_DATA is not set.
std::filesystem::path user_folder(std::string_view folder) {
  const char* root = std::getenv("ROOFCAST_DATA");
  return root == nullptr || *root == '\0' ? std::filesystem::path{}
                                          : std::filesystem::path(root) / folder;
}

constexpr std::array<std::string_view, 5> kFileEndings = {".yaml", ".yml", ".json", ".gguf",
                                                          ".safetensors"};

bool is_entry_name(std::string_view name) {
  return !name.empty() && name.size() <= kLongestName && name.find('/') == std::string_view::npos &&
         name != "generations";
}

}  // namespace

std::vector<std::string> catalogue_names(std::span<const EmbeddedFile> embedded,
                                         std::string_view folder) {
  std::set<std::string> names;
  for (const EmbeddedFile& file : embedded) {
    const std::string_view stem = file.name.substr(0, file.name.size() - kExtension.size());
    if (is_entry_name(stem)) names.emplace(stem);
  }
  const std::filesystem::path user = user_folder(folder);
  if (!user.empty() && path_exists(user))
    for (const std::filesystem::path& entry : folder_entries(user))
      if (entry.extension() == kExtension && is_entry_name(entry.stem().string()))
        names.insert(entry.stem().string());
  return {names.begin(), names.end()};
}

Document read_spec_file(const std::string& path) {
  const std::string text = read_text_file(path);
  return path.ends_with(".json") ? parse_json(text, path) : parse_yaml(text, path);
}

bool names_a_file(const std::string& text, const std::vector<std::string>& names) {
  if (text.find('/') != std::string::npos) return true;
  for (const std::string_view ending : kFileEndings)
    if (text.ends_with(ending)) return true;
  std::error_code error;
  return std::find(names.begin(), names.end(), text) == names.end() &&
         std::filesystem::exists(text, error);
}

Document find_catalogue_file(std::span<const EmbeddedFile> embedded, std::string_view folder,
                             std::string_view what, const std::string& name) {
  const std::filesystem::path user = user_folder(folder) / (name + std::string(kExtension));
  if (is_entry_name(name) && user.has_parent_path() && path_exists(user))
    return parse_yaml(read_text_file(user.string()), user.string());
  for (const EmbeddedFile& file : embedded)
    if (is_entry_name(name) && file.name == name + std::string(kExtension))
      return parse_yaml(file.text, fmt::format("{}/{}", folder, file.name));
  throw SpecError(place_message(
      "", {}, "",
      fmt::format("unknown {} {}: expected a catalogue name or the path of a file{}", what,
                  in_quotes(name), did_you_mean(name, catalogue_names(embedded, folder)))));
}

}  // namespace roofcast
