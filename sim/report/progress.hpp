#pragma once

#include <chrono>
#include <cstdint>
#include <ostream>
#include <string>

namespace roofcast {

/// Progress of long work for a person who waits: done, rate and time left. On a terminal one line
/// is redrawn from half a second on and erased at the end; elsewhere (a log) a line appears after
/// two seconds and then every ten.
class Progress {
 public:
  enum class Screen { terminal, log };

  Progress(std::ostream& out, Screen screen, std::string what, std::uint64_t total);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Reports that `done` of the total are finished; prints when it is time to.
  void update(std::uint64_t done);

 private:
  using Clock = std::chrono::steady_clock;

  std::ostream& out_;
  Screen screen_;
  std::string what_;
  std::uint64_t total_;
  Clock::time_point start_ = Clock::now();
  Clock::time_point next_;
  bool line_shown_ = false;
};

/// "1,000,000 of 5,000,000 points (20 %), 350,000/s, 11 s left"; `seconds` is the time so far.
std::string progress_text(const std::string& what, std::uint64_t done, std::uint64_t total,
                          double seconds);

}  // namespace roofcast
