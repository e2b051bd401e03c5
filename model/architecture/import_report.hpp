#pragma once

#include <string>
#include <vector>

#include "model/architecture/architecture_spec.hpp"

namespace roofcast {

/// What an import did with one key of the file; overridden: set by the user, whatever the file
/// says.
enum class FieldStatus { read, derived, defaulted, ignored, overridden };

inline constexpr std::array<std::string_view, 5> kFieldStatusNames = {
    "read", "derived", "defaulted", "ignored", "overridden"};

struct ImportField {
  std::string key;    // dotted, as in the file ("text_config.head_dim")
  std::string value;  // what was taken, or why it was ignored
  FieldStatus status = FieldStatus::read;
};

/// An architecture made from a model file, with an account of every field.
struct ImportedModel {
  ArchitectureSpec spec;
  std::vector<ImportField> fields;
  std::vector<std::string> warnings;
};

}  // namespace roofcast
