#include "model/architecture/hf_unused_keys.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "model/architecture/hf_known_keys.hpp"

namespace roofcast::detail {
namespace {

/// No real config has more; each is compared with all known names.
constexpr int kMaxUnknownKeys = 256;

/// Reports what is left of a document once the import has read it.
class UnusedKeys {
 public:
  UnusedKeys(std::string file, HfReport& report) : file_(std::move(file)), report_(report) {}

  void walk(const Value& map, const std::string& path) {
    const std::vector<std::string> looked_for = report_.known_below(path);
    for (const auto& [key, value] : map.members) {
      const std::string dotted = path.empty() ? key : fmt::format("{}.{}", path, key);
      if (report_.has(dotted)) continue;
      if (value.is_map() && report_.has_below(dotted)) {
        walk(value, dotted);
        continue;
      }
      const std::string_view reason = reason_to_ignore(key);
      if (!reason.empty() || value.is_null())
        report_.add(dotted, reason.empty() ? "null" : std::string(reason), FieldStatus::ignored);
      else
        unknown(map, key, value, dotted, looked_for);
    }
  }

 private:
  void unknown(const Value& map, const std::string& key, const Value& value,
               const std::string& dotted, const std::vector<std::string>& looked_for) {
    if (++unknown_ > kMaxUnknownKeys)
      throw SpecError(place_message(
          file_, value.at, dotted,
          fmt::format("expected at most {} unknown keys, got more", kMaxUnknownKeys)));
    std::vector<std::string> names = looked_for;
    const std::vector<std::string> ignored = ignored_names();
    names.insert(names.end(), ignored.begin(), ignored.end());
    const std::string nearest = nearest_name(key, names);
    const bool read = std::find(looked_for.begin(), looked_for.end(), nearest) != looked_for.end();
    const Value* const there = map.find(nearest);
    if (read && (there == nullptr || there->is_null()) && is_slip(key, nearest))
      throw SpecError(place_message(file_, value.at, dotted,
                                    fmt::format("unknown key, did you mean \"{}\"?", nearest)));
    report_.add(dotted, fmt::format("{}: not a known key", shown(value)), FieldStatus::ignored);
    report_.warn(fmt::format("{} = {} is not a known key and was ignored{}", dotted, shown(value),
                             did_you_mean(key, names)));
  }

  std::string file_;
  HfReport& report_;
  int unknown_ = 0;
};

}  // namespace

void report_unused(const Document& document, const std::string& path, HfReport& report) {
  UnusedKeys{document.file, report}.walk(document.root, path);
}

}  // namespace roofcast::detail
