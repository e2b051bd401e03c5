#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "model/base/spec_reader.hpp"

namespace roofcast {

/// Whether a spec must give a field. An optional one keeps the member's default.
enum class Presence { required, optional };

/// Names of an enum's values, in order; each enum used in a spec specialises this.
template <typename Enum>
struct EnumNames;

/// Makes the fields of a kind known to a reader before any is read, so that a missing one is never
/// taken for a misspelling of another.
struct FieldNames {
  SpecReader& reader;

  template <typename Member, typename... Rules>
  void operator()(std::string_view key, const Member&, const Rules&...) {
    reader.accept(key);
  }
};

/// Reads the fields that a kind lists in its `visit_fields` from a spec map. One list serves
/// reader, writer and reports, so a field cannot be read under one name and written under another.
class FieldReader {
 public:
  explicit FieldReader(SpecReader& reader) : reader_(reader) {}

  void operator()(std::string_view key, std::int64_t& member,
                  Presence presence = Presence::required, std::int64_t min = 1) {
    if (wanted(key, presence)) member = reader_.integer(key, min, kMaxDimension);
  }
  void operator()(std::string_view key, bool& member, Presence presence = Presence::optional) {
    if (wanted(key, presence)) member = reader_.boolean(key);
  }
  template <typename Enum>
  requires std::is_enum_v<Enum>
  void operator()(std::string_view key, Enum& member, Presence presence = Presence::optional) {
    if (!wanted(key, presence)) return;
    const std::vector<std::string> names(EnumNames<Enum>::kNames.begin(),
                                         EnumNames<Enum>::kNames.end());
    member = static_cast<Enum>(reader_.choice(key, names));
  }

 private:
  /// Larger than any dimension of a real model, small enough that a product of two fits 64 bits.
  static constexpr std::int64_t kMaxDimension = std::int64_t{1} << 28;

  bool wanted(std::string_view key, Presence presence) {
    reader_.accept(key);
    return presence == Presence::required || reader_.has(key);
  }

  SpecReader& reader_;
};

/// Writes the fields of a kind as "key: value" parts, leaving out optional ones at their default.
class FieldWriter {
 public:
  void operator()(std::string_view key, const std::int64_t& member,
                  Presence presence = Presence::required, std::int64_t = 1) {
    if (presence == Presence::optional && member == 0) return;
    parts.push_back(std::string(key) + ": " + std::to_string(member));
  }
  void operator()(std::string_view key, const bool& member, Presence = Presence::optional) {
    if (member) parts.push_back(std::string(key) + ": true");
  }
  template <typename Enum>
  requires std::is_enum_v<Enum>
  void operator()(std::string_view key, const Enum& member, Presence = Presence::optional) {
    if (member != Enum{})
      parts.push_back(std::string(key) + ": " +
                      std::string(EnumNames<Enum>::kNames[static_cast<std::size_t>(member)]));
  }

  std::vector<std::string> parts;
};

}  // namespace roofcast
