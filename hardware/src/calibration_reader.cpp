#include <fmt/format.h>

#include "hardware/src/calibration.hpp"
#include "hardware/src/limits.hpp"
#include "model/base/spec_reader.hpp"

namespace roofcast {
namespace {

template <typename Q>
std::optional<Q> optional_quantity(SpecReader& reader, std::string_view key, std::string_view unit,
                                   QuantityRange range) {
  const auto amount = reader.optional_quantity(key, {unit}, range);
  return amount ? std::optional(Q{*amount}) : std::nullopt;
}

std::optional<Seconds> optional_time(SpecReader& reader, std::string_view key) {
  return optional_quantity<Seconds>(reader, key, "s", kKernelTimeRange);
}

CalibratedPrimitive read_primitive(SpecReader reader, const std::string& name) {
  CalibratedPrimitive primitive;
  primitive.name = name;
  primitive.bandwidth =
      optional_quantity<BytesPerSecond>(reader, "bandwidth", "B/s", kByteRateRange);
  primitive.flops =
      optional_quantity<FlopsPerSecond>(reader, "flops", "FLOP/s", kOperationRateRange);
  primitive.t0 = optional_time(reader, "t0");
  primitive.t0_graph = optional_time(reader, "t0_graph");
  primitive.c_k = optional_time(reader, "c_k");
  primitive.c1 = optional_time(reader, "c1");
  primitive.c2 = optional_time(reader, "c2");
  primitive.c_mla = optional_time(reader, "c_mla");
  primitive.io_bandwidth =
      optional_quantity<BytesPerSecond>(reader, "io_bandwidth", "B/s", kByteRateRange);
  primitive.norm = reader.optional_number("norm", 1.0, 1000.0);
  primitive.low = reader.optional_number("low", 0.01, 1.0).value_or(1.0);
  primitive.high = reader.optional_number("high", 1.0, 100.0).value_or(1.0);
  primitive.held_out = reader.optional_number("held_out", 0.0, 100.0);
  primitive.held_out_p90 = reader.optional_number("held_out_p90", 0.0, 100.0);
  primitive.points = reader.integer_or("points", 0);
  primitive.min_bytes = optional_quantity<Bytes>(reader, "min_bytes", "B", kWorkingSetRange);
  primitive.max_bytes = optional_quantity<Bytes>(reader, "max_bytes", "B", kWorkingSetRange);
  if (primitive.min_bytes && primitive.max_bytes && *primitive.min_bytes > *primitive.max_bytes)
    reader.fail("min_bytes", "expected at most max_bytes");
  reader.reject_unknown_keys();
  return primitive;
}

Provenance read_provenance(SpecReader reader) {
  const auto text = [&](std::string_view key) { return reader.optional_string(key).value_or(""); };
  Provenance provenance;
  provenance.device = reader.string("device");
  provenance.date = reader.string("date");
  provenance.driver = text("driver");
  provenance.toolkit = text("toolkit");
  provenance.compiler = text("compiler");
  provenance.clocks = text("clocks");
  provenance.mode = text("mode");
  provenance.threads = reader.integer_or("threads", 0);
  provenance.commit = text("commit");
  provenance.points = reader.integer_or("points", 0);
  provenance.notes = text("notes");
  reader.reject_unknown_keys();
  return provenance;
}

CacheRead read_cache_read(SpecReader reader) {
  const CacheRead cache{.size = {reader.quantity("size", {"B"}, kCacheRange)},
                        .bandwidth = {reader.quantity("bandwidth", {"B/s"}, kByteRateRange)}};
  reader.reject_unknown_keys();
  return cache;
}

ThreadRead read_thread_read(SpecReader reader) {
  const ThreadRead read{.first_thread = reader.integer("first_thread", 0, kMaxCount),
                        .threads = reader.integer("threads"),
                        .bandwidth = {reader.quantity("bandwidth", {"B/s"}, kByteRateRange)}};
  reader.reject_unknown_keys();
  return read;
}

ReferenceRates read_reference(SpecReader reader) {
  const ReferenceRates rates{.read = {reader.quantity("read", {"B/s"}, kByteRateRange)},
                             .dot = {reader.quantity("dot", {"FLOP/s"}, kOperationRateRange)}};
  reader.reject_unknown_keys();
  return rates;
}

AllReduceConstants read_all_reduce(SpecReader reader) {
  const AllReduceConstants constants{.a1 = {reader.quantity("a1", {"s"}, kKernelTimeRange)},
                                     .b1 = optional_time(reader, "b1").value_or(Seconds{}),
                                     .w1 = {reader.quantity("w1", {"B/s"}, kByteRateRange)},
                                     .a2 = {reader.quantity("a2", {"s"}, kKernelTimeRange)},
                                     .b2 = optional_time(reader, "b2").value_or(Seconds{}),
                                     .w2 = {reader.quantity("w2", {"B/s"}, kByteRateRange)}};
  reader.reject_unknown_keys();
  return constants;
}

/// Measured for the record: no operator is costed by them.
constexpr std::string_view kRecordedPrimitives[] = {
    "barrier", "fork_join", "write", "write_streaming", "copy", "copy_streaming"};

/// Each kernel that costs are known for, alone or for one format, and what is measured for the
/// record. A fit under another name would be left unused, so others are refused.
std::vector<CalibratedPrimitive> read_primitives(SpecReader reader) {
  for (const std::string_view base : kPrimitiveNames) {
    reader.accept(base);
    for (const std::string_view format : kComputeFormatNames)
      reader.accept(fmt::format("{}_{}", base, format));
  }
  for (const std::string_view recorded : kRecordedPrimitives) reader.accept(recorded);
  reader.reject_unknown_keys();
  std::vector<CalibratedPrimitive> primitives;
  for (const std::string& name : reader.keys())
    primitives.push_back(read_primitive(reader.child(name), name));
  return primitives;
}

}  // namespace

const CalibratedPrimitive* find_primitive(const Calibration& calibration, std::string_view name) {
  for (const CalibratedPrimitive& primitive : calibration.primitives)
    if (primitive.name == name) return &primitive;
  return nullptr;
}

const CalibratedPrimitive* find_primitive(const Calibration& calibration, Primitive primitive,
                                          ComputeFormat format) {
  const std::string_view base = primitive_name(primitive);
  const auto in = [&](ComputeFormat operands) {
    return find_primitive(calibration, fmt::format("{}_{}", base, compute_format_name(operands)));
  };
  if (const CalibratedPrimitive* found = in(format)) return found;
  if (format == ComputeFormat::bf16 || format == ComputeFormat::fp16)
    if (const CalibratedPrimitive* found =
            in(format == ComputeFormat::bf16 ? ComputeFormat::fp16 : ComputeFormat::bf16))
      return found;
  return find_primitive(calibration, base);
}

Calibration read_calibration(const Document& document) {
  SpecReader reader(document.root, document.file);
  reader.integer("schema", 1, 1);
  Calibration calibration;
  calibration.device_kind = reader.string("calibration");
  reader.accept("machine");
  calibration.provenance = read_provenance(reader.child("provenance"));
  calibration.primitives = read_primitives(reader.child("primitives"));
  if (calibration.primitives.empty()) reader.fail("primitives", "expected at least one primitive");
  if (auto reference = reader.optional_child("reference"))
    calibration.reference = read_reference(*reference);
  if (reader.has("thread_reads"))
    for (const SpecReader& read : reader.children("thread_reads"))
      calibration.thread_reads.push_back(read_thread_read(read));
  if (auto cache = reader.optional_child("cache_read"))
    calibration.cache_read = read_cache_read(*cache);
  if (auto all_reduce = reader.optional_child("all_reduce"))
    calibration.all_reduce = read_all_reduce(*all_reduce);
  reader.reject_unknown_keys();
  return calibration;
}

}  // namespace roofcast
