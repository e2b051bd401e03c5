#include "model/base/document.hpp"

#include <fmt/format.h>

#include <string>
#include <vector>

#include "model/base/files.hpp"
#include "model/base/prefix.hpp"

namespace roofcast {

const Value* Value::find(std::string_view key) const {
  for (const auto& [name, value] : members)
    if (name == key) return &value;
  return nullptr;
}

Value* Value::find(std::string_view key) {
  return const_cast<Value*>(std::as_const(*this).find(key));
}

std::string read_text_file(const std::string& path, std::size_t max_bytes) {
  BinaryFile file = open_binary_file(path);
  if (file.bytes > max_bytes)
    throw SpecError(
        place_message(path, {}, "",
                      fmt::format("expected a text file of at most {}, got {}",
                                  format_binary_bytes(static_cast<double>(max_bytes)),
                                  format_binary_bytes(static_cast<double>(file.bytes)))));
  std::string text(file.bytes, '\0');
  if (!file.stream.read(text.data(), static_cast<std::streamsize>(text.size())))
    throw IoError(place_message(path, {}, "", "cannot be read to its end"));
  return text;
}

namespace {

/// The item of `list` with this index or with this `name`.
Value& item_for_override(Value& list, const std::string& part, std::string_view dotted_key) {
  const auto index = parse_number(part);
  if (index && *index >= 0 && *index < static_cast<double>(list.items.size()) &&
      *index == static_cast<double>(static_cast<std::size_t>(*index)))
    return list.items[static_cast<std::size_t>(*index)];
  std::vector<std::string> names;
  for (Value& item : list.items) {
    const Value* const name = item.find("name");
    if (name == nullptr || !name->is_scalar()) continue;
    if (name->scalar == part) return item;
    names.push_back(name->scalar);
  }
  const std::string expected =
      names.empty() ? fmt::format("the number of one of {} items", list.items.size())
                    : fmt::format("the number or name of an item ({})", list_of(names));
  throw SpecError(place_message("--set", {}, dotted_key,
                                fmt::format("expected {}, got {}", expected, in_quotes(part))));
}

/// The child of `parent` called `part`; maps grow, sequences do not.
Value& child_for_override(Value& parent, const std::string& part, std::string_view dotted_key) {
  if (parent.is_sequence()) return item_for_override(parent, part, dotted_key);
  if (parent.is_scalar())
    throw SpecError(place_message("--set", {}, dotted_key,
                                  fmt::format("expected a map or list above {}, got {}",
                                              in_quotes(part), in_quotes(parent.scalar))));
  parent.kind = Value::Kind::map;
  if (Value* existing = parent.find(part)) return *existing;
  return parent.members.emplace_back(part, Value{}).second;
}

/// An override has no place in the document: messages about it name the key alone.
void forget_places(Value& value) {
  value.at = {};
  for (Value& item : value.items) forget_places(item);
  for (auto& member : value.members) forget_places(member.second);
}

}  // namespace

void set_value(Document& document, std::string_view dotted_key, std::string_view text) {
  Value* node = &document.root;
  std::string_view rest = dotted_key;
  for (bool more = true; more;) {
    const auto dot = rest.find('.');
    const std::string part(rest.substr(0, dot));
    if (part.empty())
      throw SpecError(place_message("--set", {}, dotted_key, "expected names between dots"));
    node = &child_for_override(*node, part, dotted_key);
    more = dot != std::string_view::npos;
    if (more) rest.remove_prefix(dot + 1);
  }
  Value replacement = parse_yaml(text, "--set " + std::string(dotted_key)).root;
  forget_places(replacement);
  // A sourced value ({value: ..., source: ...}) keeps its shape; the override becomes its value.
  if (node->is_map() && !replacement.is_map() && node->find("value") != nullptr)
    *node->find("value") = std::move(replacement);
  else
    *node = std::move(replacement);
}

}  // namespace roofcast
