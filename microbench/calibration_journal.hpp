#pragma once

#include <string>
#include <vector>

#include "microbench/shared/sampling.hpp"

namespace roofcast {

/// What the points of a journal hold for; points of another identity are of no use.
struct JournalIdentity {
  std::string machine;  // CPU, threads, caches, memory
  std::string kernels;  // instruction set, compiler, commit
  std::string plan;     // plan_fingerprint()
  bool operator==(const JournalIdentity&) const = default;
};

/// One measured point. `spent_s` is what all points up to it took together, earlier runs included.
struct JournalPoint {
  std::string benchmark;
  std::string label;
  SteadyTiming timing;
  double spent_s = 0.0;
};

/// The points of a calibration that is not finished, one line of JSON each, behind a line that says
/// what they hold for. A line is written as soon as its point is measured, so that a run that is
/// killed loses the point in flight; a line cut short by that is ignored. All failures are IoError
/// that name the path.
class CalibrationJournal {
 public:
  /// Opens or makes the file and reads its points. Points of another identity are dropped, see
  /// `replaced`. Throws for a file that is no journal, which stays as it is, and while another
  /// process has the journal open.
  CalibrationJournal(std::string path, const JournalIdentity& identity);
  ~CalibrationJournal();
  CalibrationJournal(const CalibrationJournal&) = delete;
  CalibrationJournal& operator=(const CalibrationJournal&) = delete;

  const std::string& path() const { return path_; }
  /// The points found, in the order of measurement.
  const std::vector<JournalPoint>& points() const { return points_; }
  /// Why the points found were dropped: "it is of another plan"; empty when none were.
  const std::string& replaced() const { return replaced_; }
  /// The point of this name, nullptr when it was not found.
  const JournalPoint* find(const std::string& benchmark, const std::string& label) const;

  void append(const JournalPoint& point);

 private:
  void open_locked();
  void read_existing(const std::string& text, const JournalIdentity& identity);
  void write(const std::string& line);
  [[noreturn]] void fail(const char* doing) const;

  std::string path_;
  int descriptor_ = -1;
  std::vector<JournalPoint> points_;
  std::string replaced_;
};

}  // namespace roofcast
