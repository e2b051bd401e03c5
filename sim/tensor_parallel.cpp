#include "sim/tensor_parallel.hpp"

#include <fmt/format.h>

namespace roofcast {
namespace {

/// Picks head counts out of whatever fields an attention kind lists.
struct HeadCountVisitor {
  HeadCounts heads;

  void operator()(std::string_view key, const std::int64_t& value, Presence = Presence::required,
                  std::int64_t = 1) {
    if (key == "n_heads") heads.query = value;
    if (key == "n_kv_heads") heads.kv = value;
  }
  template <typename Other>
  void operator()(std::string_view, const Other&, Presence = Presence::optional) {}
};

}  // namespace

HeadCounts head_counts(const Mixer& mixer) {
  HeadCountVisitor visitor;
  std::visit([&](const auto& kind) { kind.visit_fields(kind, visitor); }, mixer);
  return visitor.heads;
}

std::string tensor_parallel_problem(const ArchitectureSpec& spec, int tp) {
  for (const NamedMixer& mixer : spec.mixers) {
    const HeadCounts heads = head_counts(mixer.kind);
    if (heads.query % tp != 0)
      return fmt::format("{} ranks do not divide the {} query heads of {}", tp, heads.query,
                         spec.name);
    if (heads.kv % tp != 0 && tp % heads.kv != 0)
      return fmt::format("{} ranks do not divide the {} key-value heads of {}", tp, heads.kv,
                         spec.name);
  }
  return {};
}

}  // namespace roofcast
