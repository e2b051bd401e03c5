#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hardware/src/compute_format.hpp"
#include "hardware/src/machine_spec.hpp"
#include "hardware/src/primitive.hpp"
#include "model/base/document.hpp"
#include "model/base/quantity.hpp"

namespace roofcast {

/// Constants of one primitive as fitted to measurements on one machine. Absent constants fall back
/// to the generation's share of the peak; absent times are zero. Times as in `Ceiling`.
struct CalibratedPrimitive {
  std::string name;  // "read", "gemm_bf16", "attention_fp8", "barrier", ...
  std::optional<BytesPerSecond> bandwidth;
  std::optional<FlopsPerSecond> flops;
  std::optional<Seconds> t0;        // launched on a stream; on CPUs the whole fixed time
  std::optional<Seconds> t0_graph;  // as a node of a graph
  std::optional<Seconds> c_k, c1, c2, c_mla;
  std::optional<BytesPerSecond> io_bandwidth;
  std::optional<double> norm;  // how memory and compute time overlap, see CostModel::norm_exponent
  double low = 1.0;            // 10 % and 90 % quantiles of measured / predicted time
  double high = 1.0;
  // Median and 90 % quantile of |measured / predicted - 1| on points that a fit did not see.
  std::optional<double> held_out, held_out_p90;
  std::int64_t points = 0;                    // measurements behind the fit
  std::optional<Bytes> min_bytes, max_bytes;  // range of validity
  bool operator==(const CalibratedPrimitive&) const = default;
};

/// Where a calibration comes from. `date` and `device` are required; empty means not recorded.
struct Provenance {
  std::string device;
  std::string driver;
  std::string toolkit;
  std::string compiler;
  std::string clocks;  // as seen during the run
  std::string mode;    // for machines that change speed by minutes
  std::int64_t threads = 0;
  std::string date;
  std::string commit;
  std::int64_t points = 0;
  std::string notes;
  bool operator==(const Provenance&) const = default;
};

/// Read bandwidth of a working set that stays in a cache of `size`.
struct CacheRead {
  Bytes size;
  BytesPerSecond bandwidth;
  bool operator==(const CacheRead&) const = default;
};

/// Read bandwidth of some threads while the others are idle, at the calibration's reference.
/// Threads are numbered by NUMA node, so that a node's threads follow each other.
struct ThreadRead {
  std::int64_t first_thread = 0;
  std::int64_t threads = 1;
  BytesPerSecond bandwidth;
  bool operator==(const ThreadRead&) const = default;
};

/// How fast the machine itself was while the constants hold: a plain read and dot products of all
/// threads. A machine that changes speed by minutes is compared by these.
struct ReferenceRates {
  BytesPerSecond read;
  FlopsPerSecond dot;
  bool operator==(const ReferenceRates&) const = default;
};

/// Absolute constants of an all-reduce, see `all_reduce_seconds`.
struct AllReduceConstants {
  Seconds a1, b1;
  BytesPerSecond w1;
  Seconds a2, b2;
  BytesPerSecond w2;
  bool operator==(const AllReduceConstants&) const = default;
};

/// What `roofcast calibrate` measures and writes, or a committed fit.
struct Calibration {
  std::string device_kind;  // "cpu", "cuda", ...
  Provenance provenance;
  std::vector<CalibratedPrimitive> primitives;  // names are unique
  std::optional<ReferenceRates> reference;
  std::vector<ThreadRead> thread_reads;
  std::optional<CacheRead> cache_read;
  std::optional<AllReduceConstants> all_reduce;
  bool operator==(const Calibration&) const = default;
};

/// The primitive called exactly `name`; nullptr when it was not measured.
const CalibratedPrimitive* find_primitive(const Calibration& calibration, std::string_view name);

/// The primitive for operands in `format`: "gemm_bf16" if it was measured, else "gemm_fp16" for
/// bf16 and the reverse, else "gemm"; nullptr when none was.
const CalibratedPrimitive* find_primitive(const Calibration& calibration, Primitive primitive,
                                          ComputeFormat format);

/// Reads the calibration part of a calibrated file. Its `machine:` is left to the caller (see
/// `find_hardware`). Throws SpecError.
Calibration read_calibration(const Document& document);

/// The text of a calibrated file with `machine` in it as an inline spec. Reading it back gives
/// equal values. Throws std::invalid_argument for a calibration without device, date or primitives.
std::string write_calibration_yaml(const Calibration& calibration, const MachineSpec& machine);

/// The same with the machine as a name of the catalogue.
std::string write_calibration_yaml(const Calibration& calibration, std::string_view machine_name);

}  // namespace roofcast
