#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <ostream>
#include <string>
#include <string_view>

namespace roofcast {

/// Progress of long work for a person who waits: done, rate and time left. On a terminal one line
/// is redrawn from half a second on and erased at the end; elsewhere (a log) a line appears after
/// two seconds and then every ten.
class ProgressLine {
 public:
  enum class Screen { terminal, log };

  ProgressLine(std::ostream& out, Screen screen);
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  /// Shows what `text`, given the seconds so far, says; calls it only when it is time to.
  void update(const std::function<std::string(double seconds)>& text);

 private:
  using Clock = std::chrono::steady_clock;

  std::ostream& out_;
  Screen screen_;
  Clock::time_point start_ = Clock::now();
  Clock::time_point next_;
  bool line_shown_ = false;
};

/// "1,000,000 of 5,000,000 points (20 %), 350,000/s, 11 s left"; `seconds` is the time so far.
std::string progress_text(const std::string& what, std::uint64_t done, std::uint64_t total,
                          double seconds);

/// "gemm n=4096 (43 %), 20 s left"; `done` as a fraction of 1.
std::string share_text(std::string_view what, double done, double seconds);

}  // namespace roofcast
