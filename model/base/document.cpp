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

/// An option's key on its way down the document.
struct OverridePath {
  std::string option;          // "--set model.layers.0.count"
  std::string canonical = {};  // as far as followed

  void add(std::string_view part) {
    canonical += canonical.empty() ? "" : ".";
    canonical += part;
  }
  [[noreturn]] void fail(std::string_view what) const {
    throw SpecError(place_message(option, {}, "", what));
  }
};

const std::string* name_of(const Value& item) {
  const Value* const name = item.find("name");
  return name != nullptr && name->is_scalar() ? &name->scalar : nullptr;
}

/// The item of `list` with this index or with this `name`.
Value& item_for_override(Value& list, const std::string& part, OverridePath& path) {
  const auto number = parse_number(part);
  std::vector<std::string> names;
  for (std::size_t i = 0; i < list.items.size(); ++i) {
    const std::string* const name = name_of(list.items[i]);
    if (name != nullptr) names.push_back(*name);
    if ((name != nullptr && *name == part) || (number && *number == static_cast<double>(i))) {
      path.add(name != nullptr ? *name : part);
      return list.items[i];
    }
  }
  const std::string expected =
      names.empty() ? fmt::format("the number of one of {} items", list.items.size())
                    : fmt::format("the number or name of an item ({})", list_of(names));
  path.fail(fmt::format("expected {}, got {}", expected, in_quotes(part)));
}

/// The child of `parent` called `part`; maps grow, sequences do not.
Value& child_for_override(Value& parent, const std::string& part, OverridePath& path) {
  if (parent.is_sequence()) return item_for_override(parent, part, path);
  if (parent.is_scalar())
    path.fail(fmt::format("expected a map or list above {}, got {}", in_quotes(part),
                          in_quotes(parent.scalar)));
  parent.kind = Value::Kind::map;
  Value* const existing = parent.find(part);
  if (existing == nullptr || part != "value" || path.canonical.empty()) path.add(part);
  return existing != nullptr ? *existing : parent.members.emplace_back(part, Value{}).second;
}

void set_origin(Value& value, const std::shared_ptr<const std::string>& origin) {
  value.origin = origin;
  for (Value& item : value.items) set_origin(item, origin);
  for (auto& member : value.members) set_origin(member.second, origin);
}

}  // namespace

std::string set_value(Document& document, std::string_view dotted_key, std::string_view text,
                      std::string_view scope) {
  OverridePath path{.option =
                        fmt::format("--set {}{}{}", scope, scope.empty() ? "" : ".", dotted_key)};
  Value* node = &document.root;
  std::string_view rest = dotted_key;
  for (bool more = true; more;) {
    const auto dot = rest.find('.');
    const std::string part(rest.substr(0, dot));
    if (part.empty()) path.fail("expected names between dots");
    node = &child_for_override(*node, part, path);
    more = dot != std::string_view::npos;
    if (more) rest.remove_prefix(dot + 1);
  }
  Value replacement = parse_yaml(text, path.option).root;
  if (!replacement.is_map() && !replacement.is_sequence()) replacement.at = {};
  set_origin(replacement, std::make_shared<const std::string>(path.option));
  // A sourced value ({value: ..., source: ...}) keeps its shape; the override becomes its value.
  if (node->is_map() && !replacement.is_map() && node->find("value") != nullptr)
    *node->find("value") = std::move(replacement);
  else
    *node = std::move(replacement);
  return path.canonical;
}

}  // namespace roofcast
