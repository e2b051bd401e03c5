#pragma once

#include <functional>
#include <vector>

#include "microbench/shared/statistics.hpp"

namespace roofcast {

/// When a point has been timed often enough.
struct StoppingRule {
  int min_samples = 20;
  double half_width = 0.005;  // of the median's interval, relative
  double max_seconds = 2.0;   // all samples together
};

enum class StopReason { go_on, settled, out_of_time };

/// Whether to stop after these samples, of which taking all took `spent_s` seconds. Out of time
/// comes first, however few samples there are.
StopReason stop_reason(const std::vector<double>& seconds, double spent_s,
                       const StoppingRule& rule);

/// One timing, and whether other work took the CPUs away meanwhile.
struct Timing {
  double seconds = 0.0;
  bool disturbed = false;
};

/// Calls `sample` until the rule says stop. Disturbed timings count only when fewer than five
/// others are left.
TimingSummary sample_until_settled(const std::function<Timing()>& sample, const StoppingRule& rule);

/// How fast the machine itself is at one moment, from short runs that every point is compared to.
struct Reference {
  double read_bandwidth = 0.0;  // bytes/s of all threads together, from memory
  double dot_rate = 0.0;        // FLOP/s of all threads together, in registers
};

struct DriftRule {
  double limit = 0.03;  // relative change of either rate that spoils a point
  int max_retries = 3;
};

/// Whether the machine changed between two looks at it. A zero rate is one not looked at.
bool reference_moved(const Reference& before, const Reference& after, double limit);

/// A timing and the state of the machine around it.
struct SteadyTiming {
  TimingSummary timing;
  Reference reference;  // mean of before and after
  int redone = 0;       // how often the point was thrown away because the machine changed
  bool steady = true;   // false: it changed in the last try too
};

/// Times a point between two looks at the machine, and again while they differ.
SteadyTiming time_steadily(const std::function<Reference()>& look,
                           const std::function<TimingSummary()>& point, const DriftRule& rule);

/// One timing between two looks at the machine.
struct PairedTiming {
  double seconds = 0.0;
  Reference reference;  // mean of the looks before and after
  bool steady = true;   // whether they agree, and nothing disturbed the timing
};

/// Timings long enough to change the machine's state in between, each with a look before and after
/// it, until the rule says stop of those that are steady, or four times its least number of samples
/// are taken. A look takes as long as a short timing:
/// this is for samples of tens of milliseconds.
std::vector<PairedTiming> time_in_pairs(const std::function<Reference()>& look,
                                        const std::function<Timing()>& sample,
                                        const StoppingRule& rule, double drift_limit);

/// The timings that count: the steady ones, or all when fewer than five are.
std::vector<std::size_t> usable_timings(const std::vector<PairedTiming>& timings);

/// Of `timings` at `positions`, which are not empty, the one in the middle by seconds times read
/// bandwidth, which for what waits for memory does not depend on the machine's state.
std::size_t middle_timing(const std::vector<PairedTiming>& timings,
                          const std::vector<std::size_t>& positions);

}  // namespace roofcast
