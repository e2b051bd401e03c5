#pragma once

#include <string>

#include "model/architecture/architecture_spec.hpp"
#include "model/architecture/architecture_yaml.hpp"
#include "model/architecture/catalogue.hpp"

namespace roofcast::test {

inline constexpr double kMiB = 1048576.0;
inline constexpr double kGiB = 1073741824.0;

/// A model of the catalogue.
inline ArchitectureSpec shipped(const std::string& name) {
  return read_architecture(find_architecture(name));
}

/// The model with keys and values cached in `format`.
inline ArchitectureSpec with_cache_in(ArchitectureSpec spec, std::string_view format) {
  const Storage storage = storage_of(*find_format(format));
  spec.formats[Component::k] = storage;
  spec.formats[Component::v] = storage;
  return spec;
}

}  // namespace roofcast::test
