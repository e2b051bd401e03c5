#pragma once

#include <string>

#include "model/architecture/architecture_spec.hpp"
#include "sim/report/report.hpp"

namespace roofcast {

/// Size of a model: layers, parameters, weight bytes, cache per token and sequence.
Section spec_section(const ArchitectureSpec& spec);

/// One row per attention or state kind of the model: layers, fields, how heads share the cache,
/// cache per token.
Table attention_table(const ArchitectureSpec& spec);

/// "n_heads 32, n_kv_heads 8": the fields that a kind lists in its `visit_fields`.
template <typename Kind>
std::string fields_text(const Kind& kind) {
  FieldWriter writer;
  Kind::visit_fields(kind, writer);
  std::string text;
  for (const std::string& part : writer.parts) text += (text.empty() ? "" : ", ") + part;
  return text;
}

}  // namespace roofcast
