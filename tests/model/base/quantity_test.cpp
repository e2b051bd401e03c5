#include "model/base/quantity.hpp"

#include <doctest/doctest.h>

#include <type_traits>

#include "tests/relative.hpp"

namespace {

using namespace roofcast;
using roofcast::test::relative;

template <typename A, typename B>
concept Addable = requires(A a, B b) {
  a + b;
};
template <typename A, typename B>
concept Subtractable = requires(A a, B b) {
  a - b;
};
template <typename A, typename B>
concept Comparable = requires(A a, B b) {
  a < b;
};

template <typename A, typename B>
using Product = decltype(A{} * B{});
template <typename A, typename B>
using Ratio = decltype(A{} / B{});

}  // namespace

TEST_CASE("quantities of different dimensions neither add, subtract nor compare") {
  CHECK(Addable<Bytes, Bytes>);
  CHECK(Comparable<Seconds, Seconds>);
  CHECK_FALSE(Addable<Bytes, Seconds>);
  CHECK_FALSE(Addable<Bytes, Flops>);
  CHECK_FALSE(Addable<BytesPerSecond, FlopsPerSecond>);
  CHECK_FALSE(Subtractable<Bytes, BytesPerSecond>);
  CHECK_FALSE(Comparable<Bytes, Seconds>);
  CHECK_FALSE(Comparable<Flops, FlopsPerSecond>);
}

TEST_CASE("a quantity mixes with plain numbers by scaling only") {
  CHECK_FALSE(Addable<Bytes, double>);
  CHECK_FALSE(Comparable<Bytes, double>);
  CHECK_FALSE(std::is_convertible_v<double, Bytes>);
  CHECK_FALSE(std::is_convertible_v<Bytes, double>);
  CHECK_FALSE(std::is_convertible_v<Bytes, Flops>);
  CHECK((Bytes{3.0} * 2.0).value == 6.0);
  CHECK((2.0 * Bytes{3.0}).value == 6.0);
  CHECK((Bytes{3.0} / 2.0).value == 1.5);
}

TEST_CASE("products and ratios of quantities have the dimension that physics gives them") {
  CHECK(std::is_same_v<Ratio<Bytes, BytesPerSecond>, Seconds>);
  CHECK(std::is_same_v<Ratio<Flops, FlopsPerSecond>, Seconds>);
  CHECK(std::is_same_v<Ratio<Flops, Bytes>, FlopsPerByte>);
  CHECK(std::is_same_v<Ratio<FlopsPerSecond, BytesPerSecond>, FlopsPerByte>);
  CHECK(std::is_same_v<Product<BytesPerSecond, Seconds>, Bytes>);
  CHECK(std::is_same_v<Ratio<Bytes, Bytes>, double>);
  CHECK_FALSE(std::is_same_v<Ratio<BytesPerSecond, Bytes>, Seconds>);
}

TEST_CASE("reading 141 GB at 4.8 TB/s takes 29.375 ms") {
  // 141e9 / 4.8e12 = 0.029375
  CHECK((Bytes{141e9} / BytesPerSecond{4.8e12}).value == relative(0.029375));
}

TEST_CASE("sums and differences keep the value in base units") {
  Bytes total{1.0};
  total += Bytes{2.0};
  CHECK(total == Bytes{3.0});
  CHECK(total - Bytes{5.0} == Bytes{-2.0});
  CHECK(Bytes{1.0} < Bytes{2.0});
  CHECK(Bytes{6.0} / Bytes{4.0} == 1.5);
}
