#include "hardware/src/calibration.hpp"

#include <doctest/doctest.h>

#include <stdexcept>

#include "hardware/src/machine.hpp"
#include "hardware/src/machine_reader.hpp"

namespace roofcast {
namespace {

Calibration example() {
  Calibration calibration;
  calibration.device_kind = "cpu";
  calibration.provenance = {.device = "EPYC, 2 threads",
                            .driver = "",
                            .toolkit = "",
                            .compiler = "gcc 12.2",
                            .clocks = "3.6 GHz",
                            .mode = "two complexes",
                            .threads = 2,
                            .date = "2026-11-30",
                            .commit = "123e4",
                            .points = 57,
                            .notes = "redone: 3"};
  CalibratedPrimitive read;
  read.name = "read";
  read.bandwidth = BytesPerSecond{31.234567890123e9};
  read.t0 = Seconds{2.1e-6};
  read.low = 0.97;
  read.high = 1.05;
  read.held_out = 0.0125;
  read.held_out_p90 = 0.04;
  read.points = 12;
  read.min_bytes = Bytes{16e6};
  read.max_bytes = Bytes{2e9};
  CalibratedPrimitive gemm;
  gemm.name = "gemm_bf16";
  gemm.bandwidth = BytesPerSecond{29.8e9};
  gemm.flops = FlopsPerSecond{150e9};
  gemm.norm = 1.75;
  gemm.c_k = Seconds{0.0};
  gemm.t0_graph = Seconds{1.0 / 3.0};
  CalibratedPrimitive attention;
  attention.name = "attention_bf16";
  attention.c1 = Seconds{1.1e-6};
  attention.c2 = Seconds{4e-8};
  attention.c_mla = Seconds{3e-6};
  attention.io_bandwidth = BytesPerSecond{1e9};
  CalibratedPrimitive copy;
  copy.name = "copy_streaming";
  copy.bandwidth = BytesPerSecond{27e9};
  CalibratedPrimitive fork_join;
  fork_join.name = "fork_join";
  fork_join.t0 = Seconds{12e-6};
  calibration.primitives = {read, gemm, attention, copy, fork_join};
  calibration.thread_reads = {{0, 1, {20e9}}, {0, 2, {31e9}}};
  calibration.reference = ReferenceRates{.read = {31e9}, .dot = {430e9}};
  calibration.cache_read = CacheRead{.size = {33554432.0}, .bandwidth = {90e9}};
  calibration.all_reduce = AllReduceConstants{
      .a1 = {4e-6}, .b1 = {1e-7}, .w1 = {2.6e11}, .a2 = {7e-6}, .b2 = {0.0}, .w2 = {2.8e11}};
  return calibration;
}

TEST_CASE("a calibration with its machine inline survives writing and reading") {
  const MachineSpec machine = load_machine("nominal/epyc-9654");
  const Document document =
      parse_yaml(write_calibration_yaml(example(), machine), "calibrated.yaml");
  CHECK(read_calibration(document) == example());
  REQUIRE(document.root.find("machine") != nullptr);
  CHECK(read_machine({"calibrated.yaml", *document.root.find("machine")}) == machine);
}

TEST_CASE("a calibration of a catalogue machine survives writing and reading") {
  const Document document = parse_yaml(write_calibration_yaml(example(), "epyc-9654"), "c.yaml");
  CHECK(read_calibration(document) == example());
  REQUIRE(document.root.find("machine") != nullptr);
  CHECK(document.root.find("machine")->scalar == "epyc-9654");
}

TEST_CASE("a calibration without device or date is not written") {
  Calibration calibration = example();
  calibration.provenance.date.clear();
  CHECK_THROWS_AS(write_calibration_yaml(calibration, "epyc-9654"), std::invalid_argument);
}

TEST_CASE("a primitive is looked up by format, then by the other 16-bit format, then without") {
  Calibration calibration;
  for (const char* name : {"read", "gemm_bf16", "moe", "attention_bf16", "attention_fp8"}) {
    CalibratedPrimitive primitive;
    primitive.name = name;
    calibration.primitives.push_back(primitive);
  }
  const auto name_of = [&](Primitive primitive, ComputeFormat format) -> std::string {
    const CalibratedPrimitive* found = find_primitive(calibration, primitive, format);
    return found == nullptr ? "" : found->name;
  };
  CHECK(name_of(Primitive::gemm, ComputeFormat::bf16) == "gemm_bf16");
  CHECK(name_of(Primitive::gemm, ComputeFormat::fp16) == "gemm_bf16");
  CHECK(name_of(Primitive::gemm, ComputeFormat::fp8).empty());
  CHECK(name_of(Primitive::moe, ComputeFormat::fp8) == "moe");
  CHECK(name_of(Primitive::attention, ComputeFormat::fp8) == "attention_fp8");
  CHECK(name_of(Primitive::mla, ComputeFormat::bf16).empty());
  CHECK(find_primitive(calibration, "barrier") == nullptr);
}

std::string error_of(const std::string& calibration) {
  const std::string head =
      "schema: 1\nprovenance: {device: x, date: \"2026-11-01\"}\nmachine: epyc-9654\n";
  try {
    read_calibration(parse_yaml(head + calibration, "c.yaml"));
  } catch (const SpecError& error) {
    return error.what();
  }
  return "no error";
}

TEST_CASE("a primitive that no prediction would use is refused with the nearest one") {
  const std::string kind = "calibration: cpu\n";
  CHECK(error_of(kind + "primitives:\n  gemm_bf61: {bandwidth: 20 GB/s}\n") ==
        "c.yaml:6:14: primitives.gemm_bf61: unknown key, did you mean \"gemm_bf16\"?");
  CHECK(error_of(kind + "primitives: {}\n") ==
        "c.yaml:5:13: primitives: expected at least one primitive");
  for (const char* name : {"read", "read_bf16", "gemm", "gemm_bf16", "attention_fp8", "mla_bf16",
                           "moe_fp4", "elementwise", "barrier"})
    CHECK(error_of(kind + "primitives: {" + name + ": {t0: 1 us}}\n") == "no error");
}

TEST_CASE("calibrated rates have the bounds of a machine's") {
  CHECK(error_of("calibration: cpu\nprimitives:\n  read: {bandwidth: 1 kB/s}\n") ==
        "c.yaml:6:21: primitives.read.bandwidth: expected a quantity from 1 MB/s to 1 EB/s, got "
        "\"1 kB/s\"");
  CHECK(error_of("calibration: cpu\nprimitives:\n  gemm: {flops: 1 nFLOP/s}\n") ==
        "c.yaml:6:17: primitives.gemm.flops: expected a quantity in FLOP/s such as \"1.5 "
        "GFLOP/s\", got \"1 nFLOP/s\"");
}

}  // namespace
}  // namespace roofcast
