#include "sim/report/progress.hpp"

#include <fmt/format.h>

#include <cmath>

#include "sim/report/format_value.hpp"

namespace roofcast {
namespace {

constexpr auto kTerminalFirst = std::chrono::milliseconds(500);
constexpr auto kTerminalEvery = std::chrono::milliseconds(200);
constexpr auto kLogFirst = std::chrono::seconds(2);
constexpr auto kLogEvery = std::chrono::seconds(10);

std::string time_left(double seconds) {
  const auto whole = static_cast<long>(std::ceil(seconds));
  return whole < 90 ? fmt::format("{} s left", whole)
                    : fmt::format("{} min left", (whole + 59) / 60);
}

std::string grouped(double value) { return human_value(ValueKind::count, std::round(value)); }

}  // namespace

std::string progress_text(const std::string& what, std::uint64_t done, std::uint64_t total,
                          double seconds) {
  const auto finished = static_cast<double>(done);
  const auto all = static_cast<double>(total);
  std::string text = fmt::format("{} of {} {} ({:.0f} %)", grouped(finished), grouped(all), what,
                                 total > 0 ? std::floor(finished / all * 100.0) : 100.0);
  if (done == 0 || seconds <= 0.0) return text;
  const double rate = finished / seconds;
  const std::string rate_text = rate >= 10.0 ? grouped(rate) : fmt::format("{:.2g}", rate);
  return text + fmt::format(", {}/s, {}", rate_text, time_left((all - finished) / rate));
}

std::string share_text(std::string_view what, double done, double seconds) {
  std::string text = fmt::format("{} ({:.0f} %)", what, std::floor(done * 100.0));
  if (done > 0.0 && seconds > 0.0) text += ", " + time_left(seconds / done - seconds);
  return text;
}

ProgressLine::ProgressLine(std::ostream& out, Screen screen) : out_(out), screen_(screen) {
  next_ = start_ + (screen_ == Screen::terminal ? Clock::duration(kTerminalFirst)
                                                : Clock::duration(kLogFirst));
}

ProgressLine::~ProgressLine() {
  if (screen_ == Screen::terminal && line_shown_) out_ << "\r\x1b[K" << std::flush;
}

void ProgressLine::update(const std::function<std::string(double)>& text) {
  const Clock::time_point now = Clock::now();
  if (now < next_) return;
  const std::string line = text(std::chrono::duration<double>(now - start_).count());
  if (screen_ == Screen::terminal) {
    out_ << "\r" << line << "\x1b[K" << std::flush;
    next_ = now + kTerminalEvery;
  } else {
    out_ << line << "\n" << std::flush;
    next_ = now + kLogEvery;
  }
  line_shown_ = true;
}

}  // namespace roofcast
