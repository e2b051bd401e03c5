#include "sim/report/progress.hpp"

#include <doctest/doctest.h>

#include <sstream>
#include <thread>

using namespace roofcast;

TEST_CASE("progress tells what is done, how fast, and how long it takes still") {
  // A quarter in 10 s: three quarters take 30 s at the same rate.
  CHECK(progress_text("points", 250000, 1000000, 10.0) ==
        "250,000 of 1,000,000 points (25 %), 25,000/s, 30 s left");
  CHECK(progress_text("points", 0, 10, 0.0) == "0 of 10 points (0 %)");
  CHECK(progress_text("points", 1, 1000, 1.0) == "1 of 1,000 points (0 %), 1/s, 17 min left");
}

TEST_CASE("a share tells what is being done and how long the rest takes") {
  CHECK(share_text("gemm", 0.0, 0.0) == "gemm (0 %)");
  // Two fifths in 8 s: three fifths take 12 s.
  CHECK(share_text("gemm", 0.4, 8.0) == "gemm (40 %), 12 s left");
}

TEST_CASE("short work stays silent") {
  std::ostringstream screen;
  {
    ProgressLine progress(screen, ProgressLine::Screen::terminal);
    progress.update([](double) { return std::string("never shown"); });
  }
  CHECK(screen.str().empty());
}

TEST_CASE("a terminal's line is erased at the end, a log keeps its lines") {
  for (const auto screen_kind : {ProgressLine::Screen::terminal, ProgressLine::Screen::log}) {
    std::ostringstream screen;
    const bool terminal = screen_kind == ProgressLine::Screen::terminal;
    {
      ProgressLine progress(screen, screen_kind);
      std::this_thread::sleep_for(std::chrono::milliseconds(terminal ? 550 : 2050));
      progress.update([](double) { return std::string("half"); });
      progress.update([](double) { return std::string("too soon"); });
    }
    CHECK(screen.str() == (terminal ? "\rhalf\x1b[K\r\x1b[K" : "half\n"));
  }
}
