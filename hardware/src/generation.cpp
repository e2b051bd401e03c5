#include "hardware/src/generation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "hardware/src/data_files.hpp"
#include "hardware/src/limits.hpp"
#include "model/base/spec_reader.hpp"

namespace roofcast {
namespace {

/// Reads generations in any order; `like` pulls the one it names first.
class GenerationsReader {
 public:
  explicit GenerationsReader(const Document& document) : root_(document.root, document.file) {}

  std::vector<Generation> read() {
    root_.integer("schema", 1, 1);
    SpecReader sources = root_.child("sources");
    for (const std::string& key : sources.keys()) sources_[key] = sources.string(key);
    SpecReader generations = root_.child("generations");
    names_ = generations.keys();
    std::vector<Generation> result;
    for (const std::string& name : names_) result.push_back(generation(generations, name));
    root_.reject_unknown_keys();
    return result;
  }

 private:
  Generation generation(SpecReader& generations, const std::string& name) {
    if (const auto done = done_.find(name); done != done_.end()) return done->second;
    SpecReader reader = generations.child(name);
    open_.push_back(name);
    const bool base = !reader.has("like");
    Generation result;
    if (!base) {
      const std::string& like = names_[reader.choice("like", names_)];
      if (std::find(open_.begin(), open_.end(), like) != open_.end())
        reader.fail("like", "expected no circle of generations");
      result = inherited(generations, like);
    }
    result.name = name;
    result.title = reader.string("title");
    for (std::size_t i = 0; i < kPrimitives; ++i)
      if (static_cast<Primitive>(i) != Primitive::state && (base || reader.has(kPrimitiveNames[i])))
        result.primitives[i] = primitive(reader.child(kPrimitiveNames[i]));
    auto& rows = result.primitives;
    rows[static_cast<std::size_t>(Primitive::state)] =
        rows[static_cast<std::size_t>(Primitive::read)];
    if (base || reader.has("launch")) read_launch(reader.child("launch"), result);
    if (base || reader.has("all_reduce")) read_all_reduce(reader.child("all_reduce"), result);
    read_range(reader.child("range"), result);
    reader.reject_unknown_keys();
    open_.pop_back();
    done_[name] = result;
    return result;
  }

  /// A copy of the generation `name`, its origins relabelled.
  Generation inherited(SpecReader& generations, const std::string& name) {
    Generation result = generation(generations, name);
    const auto relabel = [&](std::string& origin) {
      if (!origin.starts_with("assumed")) origin = fmt::format("assumed as {}: {}", name, origin);
    };
    for (PrimitiveDefaults& row : result.primitives) relabel(row.origin);
    relabel(result.all_reduce_node.origin);
    relabel(result.all_reduce_host.origin);
    return result;
  }

  /// "source text; note".
  std::string origin(SpecReader& row) {
    const std::string key = row.string("source");
    const auto found = sources_.find(key);
    if (found == sources_.end())
      row.fail("source", fmt::format("expected a key of sources, got {}", in_quotes(key)));
    const auto note = row.optional_string("note");
    return note ? fmt::format("{}; {}", found->second, *note) : found->second;
  }

  static double share(SpecReader& row, std::string_view key) { return row.number(key, 1e-3, 1.0); }
  static Seconds time_or_zero(SpecReader& row, std::string_view key) {
    return {row.optional_quantity(key, {"s"}, kKernelTimeRange).value_or(0.0)};
  }

  PrimitiveDefaults primitive(SpecReader row) {
    PrimitiveDefaults result;
    result.bandwidth = share(row, "bandwidth");
    result.bandwidth_fp8 = row.optional_number("bandwidth_fp8", 1e-3, 1.0);
    result.flops = row.optional_number("flops", 1e-3, 1.0).value_or(1.0);
    result.flops_fp8 = row.optional_number("flops_fp8", 1e-3, 1.0);
    result.low = row.optional_number("low", 0.05, 1.0);
    result.high = row.optional_number("high", 1.0, 20.0);
    result.low_fp8 = row.optional_number("low_fp8", 0.05, 1.0);
    result.high_fp8 = row.optional_number("high_fp8", 1.0, 20.0);
    result.c_k = time_or_zero(row, "c_k");
    result.c1 = time_or_zero(row, "c1");
    result.c2 = time_or_zero(row, "c2");
    result.c_mla = time_or_zero(row, "c_mla");
    result.io_bandwidth = row.optional_number("io_bandwidth", 1e-3, 1.0).value_or(1.0);
    result.origin = origin(row);
    row.reject_unknown_keys();
    return result;
  }

  void read_launch(SpecReader row, Generation& result) {
    result.launch_stream = {row.quantity("stream", {"s"}, kKernelTimeRange)};
    result.launch_graph = {row.quantity("graph", {"s"}, kKernelTimeRange)};
    origin(row);
    row.reject_unknown_keys();
  }

  AllReduceDefaults all_reduce(SpecReader row) {
    AllReduceDefaults result;
    result.a1 = {row.quantity("a1", {"s"}, kKernelTimeRange)};
    result.b1 = {row.quantity("b1", {"s"}, kKernelTimeRange)};
    result.w1 = share(row, "w1");
    result.a2 = {row.quantity("a2", {"s"}, kKernelTimeRange)};
    result.b2 = {row.quantity("b2", {"s"}, kKernelTimeRange)};
    result.w2 = share(row, "w2");
    result.origin = origin(row);
    row.reject_unknown_keys();
    return result;
  }

  void read_all_reduce(SpecReader rows, Generation& result) {
    result.all_reduce_node = all_reduce(rows.child("node"));
    result.all_reduce_host = all_reduce(rows.child("host"));
    rows.reject_unknown_keys();
  }

  void read_range(SpecReader row, Generation& result) {
    result.low = row.number("low", 0.05, 1.0);
    result.high = row.number("high", 1.0, 20.0);
    origin(row);
    row.reject_unknown_keys();
  }

  SpecReader root_;
  std::map<std::string, std::string, std::less<>> sources_;
  std::vector<std::string> names_;
  std::vector<std::string> open_;  // chain of `like` being followed
  std::map<std::string, Generation, std::less<>> done_;
};

}  // namespace

std::vector<Generation> read_generations(const Document& document) {
  return GenerationsReader(document).read();
}

std::vector<Generation> load_generations() { return read_generations(generations_file()); }

std::vector<std::string> generation_names(const std::vector<Generation>& generations) {
  std::vector<std::string> names;
  for (const Generation& generation : generations) names.push_back(generation.name);
  return names;
}

}  // namespace roofcast
