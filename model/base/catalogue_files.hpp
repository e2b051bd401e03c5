#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/base/document.hpp"
#include "model/base/embedded_file.hpp"

namespace roofcast {

/// Names (file names without .yaml) of a catalogue: the files built into the program and those in
/// $ROOFCAST_DATA/<folder>. Sorted, without duplicates.
std::vector<std::string> catalogue_names(std::span<const EmbeddedFile> embedded,
                                         std::string_view folder);

/// The entry called `name`. A file in $ROOFCAST_DATA/<folder> wins over the built-in one. `what`
/// ("model", "machine") names the sort of thing in the SpecError for an unknown name.
Document find_catalogue_file(std::span<const EmbeddedFile> embedded, std::string_view folder,
                             std::string_view what, const std::string& name);

/// Reads a spec from a file: JSON by its ending, else YAML.
Document read_spec_file(const std::string& path);

/// The one rule of what an option names: a file when the text has a "/" or the ending of a spec or
/// model file, and also when no entry of `names` is called so but a file or folder is.
bool names_a_file(const std::string& text, const std::vector<std::string>& names);

}  // namespace roofcast
