#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/base/error.hpp"

namespace roofcast {

/// One node of a parsed YAML or JSON document, with its place in the file. YAML and JSON share this
/// form, so that one strict reader serves both. Scalars keep their text; `quoted_text` tells the
/// string "8" from the number 8.
struct Value {
  /// not_finite: Python's NaN, Infinity or -Infinity in JSON, its text in `scalar`. A kind of its
  /// own, so that no typed read takes it for an absent key or for a text.
  enum class Kind { null, scalar, sequence, map, not_finite };

  Kind kind = Kind::null;
  bool quoted_text = false;
  Position at = {};
  std::string scalar = {};
  std::vector<Value> items = {};                            // of a sequence
  std::vector<std::pair<std::string, Value>> members = {};  // of a map, in file order
  /// What to blame in place of the file, "--set model.max_context"; null for what the file holds.
  std::shared_ptr<const std::string> origin = {};

  bool is_null() const { return kind == Kind::null; }
  bool is_scalar() const { return kind == Kind::scalar; }
  bool is_sequence() const { return kind == Kind::sequence; }
  bool is_map() const { return kind == Kind::map; }

  /// Member of a map; nullptr when absent or when this is no map.
  const Value* find(std::string_view key) const;
  Value* find(std::string_view key);
};

/// A parsed file: the root and the name to blame in messages.
struct Document {
  std::string file;
  Value root;
};

/// Documents deeper than this are refused; no real spec comes near it.
inline constexpr int kMaxDocumentDepth = 64;
/// Text files larger than this are refused before they are read (100 MiB, as safetensors headers).
inline constexpr std::size_t kMaxDocumentBytes = std::size_t{100} << 20;
/// Documents of more values are refused: each takes some 100 bytes of memory, so that "[0,0,..." in
/// a file of the size above would take gigabytes. The largest real files, indexes of models with
/// many experts, have below 400,000.
inline constexpr std::size_t kMaxDocumentValues = 2'000'000;

/// Parses one YAML document. Throws SpecError for syntax errors, duplicate keys, aliases (which can
/// make a document grow without bound), non-scalar keys and excessive depth.
Document parse_yaml(std::string_view text, std::string file);

/// Parses JSON. Python's NaN and Infinity literals, which model files contain, are accepted as
/// values that only an ignored key may hold.
/// Throws SpecError for syntax errors, duplicate keys and excessive depth.
Document parse_json(std::string_view text, std::string file);

/// Reads a whole text file. Throws IoError when it is missing, unreadable, no regular file, or
/// larger than `max_bytes`.
std::string read_text_file(const std::string& path, std::size_t max_bytes = kMaxDocumentBytes);

/// Sets `dotted.key` (sequence items by index or by their `name`: "layers.0.count",
/// "memory.hbm3.bandwidth") to `text`, parsed as YAML; creates missing maps. Throws SpecError when
/// the path runs through a scalar or out of a sequence. `scope` ("model") is the part of the option
/// before the key, for messages. Returns the key that was set in its one spelling: items by their
/// names where they have one, without the ".value" of a sourced value.
std::string set_value(Document& document, std::string_view dotted_key, std::string_view text,
                      std::string_view scope = {});

}  // namespace roofcast
