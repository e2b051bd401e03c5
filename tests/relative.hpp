#pragma once

#include <doctest/doctest.h>

namespace roofcast::test {

/// Compares by relative difference alone. doctest's own Approx adds 1 to the magnitude that its
/// epsilon scales, so that microseconds would equal anything.
inline doctest::Approx relative(double value) { return doctest::Approx(value).scale(0.0); }

}  // namespace roofcast::test
