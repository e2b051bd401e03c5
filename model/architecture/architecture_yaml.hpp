#pragma once

#include <string>

#include "model/architecture/architecture_spec.hpp"
#include "model/base/document.hpp"

namespace roofcast {

/// Reads an architecture spec. Throws SpecError (UnsupportedError for an unknown attention or
/// feed-forward kind) with file, line, column and key.
ArchitectureSpec read_architecture(const Document& document);

/// The spec as YAML that `read_architecture` reads back to an equal value.
std::string write_architecture_yaml(const ArchitectureSpec& spec);

}  // namespace roofcast
