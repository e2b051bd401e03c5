#include "sim/engine_profile.hpp"

#include "model/base/catalogue_files.hpp"
#include "model/base/spec_reader.hpp"
#include "sim/embedded_engines.hpp"

namespace roofcast {
namespace {

Seconds seconds_or_zero(SpecReader& reader, std::string_view key) {
  reader.accept(key);
  if (!reader.has(key)) return {};
  return {reader.quantity(key, {"s"}, {.min = 0.0, .max = 10.0})};
}

}  // namespace

EngineProfile read_engine(const Document& document) {
  SpecReader root(document.root, document.file);
  if (root.integer("schema", 0, 1000000) != 1)
    root.fail("schema", "this program reads schema 1 of engine profiles");
  EngineProfile engine;
  engine.name = root.string("name");
  engine.title = root.optional_string("title").value_or("");
  engine.source = root.string("source");
  engine.ceilings = static_cast<CeilingBasis>(root.choice("ceilings", {"peak", "attainable"}));
  engine.launch = static_cast<LaunchMode>(root.choice("launch", {"none", "graph", "stream"}));
  engine.kernel_overhead = seconds_or_zero(root, "kernel_overhead");
  engine.layer_overhead = seconds_or_zero(root, "layer_overhead");
  engine.host_per_kernel = seconds_or_zero(root, "host_per_kernel");
  engine.host_per_step = seconds_or_zero(root, "host_per_step");
  engine.prefill_chunk = root.integer_or("prefill_chunk", 0);
  engine.time_low = root.optional_number("time_low", 0.1, 1.0).value_or(1.0);
  engine.time_high = root.optional_number("time_high", 1.0, 10.0).value_or(1.0);
  root.reject_unknown_keys();
  return engine;
}

std::vector<std::string> engine_names() { return catalogue_names(embedded_engines(), "engines"); }

Document find_engine(const std::string& name) {
  if (names_a_file(name, engine_names())) return read_spec_file(name);
  return find_catalogue_file(embedded_engines(), "engines", "engine", name);
}

}  // namespace roofcast
