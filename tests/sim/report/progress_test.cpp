#include "sim/report/progress.hpp"

#include <doctest/doctest.h>

#include <sstream>

using namespace roofcast;

TEST_CASE("progress tells what is done, how fast, and how long it takes still") {
  // A quarter in 10 s: three quarters take 30 s at the same rate.
  CHECK(progress_text("points", 250000, 1000000, 10.0) ==
        "250,000 of 1,000,000 points (25 %), 25,000/s, 30 s left");
  CHECK(progress_text("points", 0, 10, 0.0) == "0 of 10 points (0 %)");
  CHECK(progress_text("points", 1, 1000, 1.0) == "1 of 1,000 points (0 %), 1/s, 17 min left");
}

TEST_CASE("short work stays silent") {
  std::ostringstream screen;
  {
    Progress progress(screen, Progress::Screen::terminal, "points", 10);
    progress.update(5);
  }
  CHECK(screen.str().empty());
}
