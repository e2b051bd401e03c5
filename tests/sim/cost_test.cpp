#include <doctest/doctest.h>

#include <cmath>
#include <numeric>

#include "sim/step_estimate.hpp"
#include "tests/relative.hpp"
#include "tests/sim/ideal_model.hpp"

using namespace roofcast;
using roofcast::test::gpu_like_model;
using roofcast::test::ideal_model;
using roofcast::test::relative;

namespace {

Operator gemm(double m, double n, double k) {
  Operator op;
  op.kind = OperatorKind::gemm;
  op.shape.m = m;
  op.shape.n = n;
  op.shape.k = k;
  op.flops = {2.0 * m * n * k};
  op.bytes.weights = {2.0 * n * k};
  op.bytes.activations = {2.0 * m * (n + k)};
  return op;
}

double share(const OperatorCost& cost, TimeShare which) {
  return cost.shares[static_cast<std::size_t>(which)];
}

}  // namespace

TEST_CASE("an ideal GEMM takes the larger of its memory and its compute time") {
  // m 1, n 1000, k 2000: 4e6 + 2 * 3000 bytes at 1e12 B/s = 4.006 us; 4e6 FLOP at 1e12 = 4 us.
  const OperatorCost cost = cost_operator(gemm(1, 1000, 2000), ideal_model(1e12, 1e12), 0.0);
  CHECK(cost.seconds == relative(4.006e-6).epsilon(1e-12));
  CHECK(share(cost, TimeShare::compute) == 0.0);
  // The memory time goes to weights and activations by their bytes.
  CHECK(share(cost, TimeShare::weights) == relative(4.0e-6).epsilon(1e-12));
  CHECK(share(cost, TimeShare::activations) == relative(0.006e-6).epsilon(1e-9));
}

TEST_CASE("at the ridge point the p-norm corner costs 2^(1/2.5), split evenly") {
  CostModel model = ideal_model(1e12, 1e12);
  model.norm_exponent = 2.5;
  Operator op;
  op.kind = OperatorKind::elementwise;
  op.flops = {1e6};
  op.bytes.weights = {1e6};
  const OperatorCost cost = cost_operator(op, model, 0.0);
  CHECK(cost.seconds == relative(1e-6 * std::pow(2.0, 0.4)).epsilon(1e-12));
  CHECK(share(cost, TimeShare::compute) == relative(share(cost, TimeShare::weights)));
}

TEST_CASE("a GEMM pads its rows to the tile of the matrix unit") {
  CostModel model = ideal_model(1e30, 1e12);
  model.row_tile = 64.0;
  // 65 rows work like 128: 2 * 128 * 1000 * 1000 FLOP at 1e12 = 256 us.
  CHECK(cost_operator(gemm(65, 1000, 1000), model, 0.0).seconds == relative(256e-6).epsilon(1e-9));
}

TEST_CASE("fixed cost and the sqrt(K) latency go to the launch share") {
  CostModel model = ideal_model(1e12, 1e15);
  model.primitives[static_cast<std::size_t>(OperatorKind::gemm)].fixed_s = 2e-6;
  model.gemm_sqrt_k_s = 1e-6;
  // sqrt(4000 / 1000) = 2: 2 us + 2 * 1 us.
  const OperatorCost cost = cost_operator(gemm(1, 10, 4000), model, 0.0);
  CHECK(share(cost, TimeShare::launch) == relative(4e-6).epsilon(1e-12));
}

TEST_CASE("attention reads its cache in tiles and pays per sequence and head") {
  CostModel model = ideal_model(1e12, 1e15);
  model.context_tile = 128.0;
  model.units = 100.0;
  model.attention_kv_head_s = 1e-6;
  model.attention_head_s = 1e-7;
  Operator op;
  op.kind = OperatorKind::attention;
  op.shape.sequences = 4;
  op.shape.heads = 32;
  op.shape.kv_heads = 8;
  op.shape.tokens_read = 1000;
  op.bytes.kv_read = {1e9};
  const OperatorCost cost = cost_operator(op, model, 0.0);
  // ceil128(1000) = 1024: 1.024e9 B at 1e12; 4 * 8 / 100 us + 4 * 32 / 100 * 0.1 us.
  CHECK(cost.memory_s == relative(1.024e-3).epsilon(1e-12));
  CHECK(cost.fixed_s == relative(0.32e-6 + 0.128e-6).epsilon(1e-12));
  CHECK(share(cost, TimeShare::kv) == relative(1.024e-3).epsilon(1e-12));
}

TEST_CASE("attention on a narrow cache costs what was measured of it, where it was measured") {
  CostModel model = ideal_model(1e12, 1e15);
  model.attention_kv_head_s = 1e-6;
  model.primitives[static_cast<std::size_t>(OperatorKind::attention)].fixed_s = 5e-6;
  model.narrow_attention[static_cast<std::size_t>(ComputeFormat::fp8)] = {
      .measured = true, .fixed_s = 3e-6, .flops = 1e12, .kv_head_s = 2e-6, .head_s = 1e-7};
  Operator op;
  op.kind = OperatorKind::attention;
  op.shape.sequences = 4;
  op.shape.heads = 32;
  op.shape.kv_heads = 8;
  op.flops = {1e9};
  op.format = *find_format("fp8");
  const OperatorCost fp8 = cost_operator(op, model, 0.0);
  // 3 us + 4 * 8 * 2 us + 4 * 32 * 0.1 us; 1e9 FLOP at 1e12.
  CHECK(fp8.fixed_s == relative(79.8e-6).epsilon(1e-12));
  CHECK(fp8.compute_s == relative(1e-3).epsilon(1e-12));
  // int8 was not: 5 us + 4 * 8 * 1 us, and FLOPs as those of bf16.
  op.format = *find_format("int8");
  const OperatorCost int8 = cost_operator(op, model, 0.0);
  CHECK(int8.fixed_s == relative(37e-6).epsilon(1e-12));
  CHECK(int8.compute_s == relative(1e-6).epsilon(1e-12));
}

TEST_CASE("expert token traffic has its own bandwidth and does not overlap") {
  CostModel model = ideal_model(1e12, 1e15);
  model.moe_io_bandwidth = 5e11;
  Operator op;
  op.kind = OperatorKind::moe;
  op.shape.m = 8;
  op.shape.experts_hit = 8;
  op.shape.experts_per_token = 1;
  op.flops = {1.0};
  op.bytes.weights = {1e9};
  op.bytes.activations = {1e6};
  const OperatorCost cost = cost_operator(op, model, 0.0);
  CHECK(cost.extra_s == relative(2e-6).epsilon(1e-12));
  CHECK(cost.seconds == relative(1e-3 + 2e-6).epsilon(1e-12));
}

TEST_CASE("shares of an operator add up to its time") {
  const CostModel model = gpu_like_model();
  for (const double rows : {1.0, 64.0, 300.0, 5000.0}) {
    const OperatorCost cost = cost_operator(gemm(rows, 4096, 4096), model, 1e9);
    CHECK(std::accumulate(cost.shares.begin(), cost.shares.end(), 0.0) ==
          relative(cost.seconds).epsilon(1e-12));
  }
}

TEST_CASE("a working set that fits the last-level cache is read at the cache's bandwidth") {
  CostModel model = ideal_model(30e9, 1e15);
  model.cache_bytes = 32 * 1048576.0;
  model.cache_bandwidth = 90e9;
  const Operator op = gemm(1, 1000, 1000);
  const double bytes = op.bytes.memory().value;
  CHECK(cost_operator(op, model, 1e6).seconds == relative(bytes / 90e9).epsilon(1e-3));
  CHECK(cost_operator(op, model, 1e9).seconds == relative(bytes / 30e9).epsilon(1e-3));
  // In between the time grows with the working set.
  double last = 0.0;
  for (double set = 1e6; set < 1e9; set *= 1.3) {
    const double seconds = cost_operator(op, model, set).seconds;
    CHECK(seconds >= last);
    last = seconds;
  }
}

TEST_CASE("a collective costs its link and nothing else") {
  CostModel model = ideal_model(1e12, 1e12);
  // One-shot: 4 us + 0.1 us * 7 + 16384 B * 7 / 260 GB/s, below the two-shot law's 8.4 us.
  model.all_reduce = {{4e-6}, {1e-7}, {260e9}, {7e-6}, {2e-7}, {280e9}};
  Operator op;
  op.kind = OperatorKind::collective;
  op.shape.ranks = 8;
  op.bytes.collective = {16384};
  const OperatorCost cost = cost_operator(op, model, 0.0);
  CHECK(cost.seconds == relative(4.7e-6 + 16384.0 * 7 / 260e9).epsilon(1e-12));
  CHECK(share(cost, TimeShare::communication) == cost.seconds);
}

TEST_CASE("weights that kernels expand count as their width where the machine's kernel is known") {
  Operator op = gemm(1, 1000, 1000);
  CostModel model = ideal_model(1e12, 1e15);
  PrimitiveCost& products = model.primitives[static_cast<std::size_t>(OperatorKind::gemm)];
  const auto at = [](ComputeFormat format) { return static_cast<std::size_t>(format); };
  products.bandwidth[at(ComputeFormat::int4)] = 4e11;
  products.flops[at(ComputeFormat::int4)] = 2e14;
  const auto ceiling_in = [&](const char* name) {
    op.format = *find_format(name);
    op.compute = op.format.row().compute;
    return operator_ceiling(op, model);
  };
  // Not measured: as the 16 bits that they are expanded to.
  CHECK(ceiling_in("q4_0").stored == ComputeFormat::fp16);
  CHECK(ceiling_in("q4_0").bandwidth == 1e12);
  products.measured[at(ComputeFormat::int4)] = true;
  for (const char* name : {"q4_0", "int4_g128", "awq_g128", "q4_K"}) {
    CAPTURE(name);
    CHECK(ceiling_in(name).stored == ComputeFormat::int4);
    CHECK(ceiling_in(name).bandwidth == 4e11);
    CHECK(ceiling_in(name).flops == 2e14);
  }
  CHECK(ceiling_in("q8_0").stored == ComputeFormat::fp16);
  products.measured[at(ComputeFormat::int8)] = true;
  CHECK(ceiling_in("q8_0").stored == ComputeFormat::int8);
  CHECK(ceiling_in("int8").stored == ComputeFormat::int8);
  CHECK(ceiling_in("bf16").stored == ComputeFormat::bf16);
  CHECK(ceiling_in("fp8").stored == ComputeFormat::fp8);
}
