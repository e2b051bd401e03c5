#include "microbench/calibration_plan.hpp"

#include <algorithm>
#include <random>

#include "microbench/cpu_attention/cpu_attention.hpp"
#include "microbench/cpu_barrier/cpu_barrier.hpp"
#include "microbench/cpu_elementwise/cpu_elementwise.hpp"
#include "microbench/cpu_gemm/cpu_gemm.hpp"
#include "microbench/cpu_mla/cpu_mla.hpp"
#include "microbench/cpu_moe/cpu_moe.hpp"
#include "microbench/cpu_read/cpu_read.hpp"

namespace roofcast {
namespace {

constexpr double kKiB = 1024.0;
constexpr double kMiB = 1024.0 * 1024.0;
constexpr unsigned kShuffleSeed = 20240229;

void add_reads(CpuEnvironment& environment, bool quick, std::vector<CpuBench>& out) {
  const double largest = static_cast<double>(plan_bytes(quick));
  for (double bytes = 256.0 * kKiB; bytes <= largest; bytes *= quick ? 4.0 : 2.0)
    out.push_back(cold_read_bench(environment, bytes));
  const auto cache = static_cast<double>(environment.topology.last_level_cache_bytes);
  if (cache > 0.0) out.push_back(hot_read_bench(environment, 0.5 * cache));
}

void add_gemms(CpuEnvironment& environment, bool quick, std::vector<CpuBench>& out) {
  std::vector<GemmShape> shapes = {{1024, 1024}, {6144, 1024}, {1024, 4096}, {4096, 4096}};
  std::vector<std::int64_t> batches = {1, 4, 16, 64};
  if (!quick) {
    shapes.insert(
        shapes.end(),
        {{512, 2048}, {2560, 2560}, {8192, 2048}, {2048, 8192}, {32768, 1536}, {5120, 640}});
    batches = {1, 2, 4, 6, 8, 12, 16, 24, 32, 64};
  }
  for (GemmShape shape : shapes) {
    for (const std::int64_t batch : batches) {
      shape.batch = batch;
      out.push_back(gemm_bench(environment, shape));
    }
  }
}

/// What attention is measured on: heads, sequences and contexts, each with each.
struct AttentionGrid {
  std::vector<AttentionShape> heads = {{1, 16, 8, 128}, {1, 8, 2, 64}, {1, 32, 4, 128}};
  std::vector<std::int64_t> sequences;
  std::vector<std::int64_t> contexts;
};

/// Caches in bytes differ from those in bf16 by their bandwidth and their FLOPs: fewer points do.
AttentionGrid attention_grid(bool quick, KvCode code) {
  AttentionGrid grid;
  const bool wide = code == KvCode::bf16;
  grid.sequences = {1, 8};
  grid.contexts =
      wide ? std::vector<std::int64_t>{256, 2048, 8192} : std::vector<std::int64_t>{512, 8192};
  if (quick) return grid;
  grid.heads.insert(grid.heads.end(), {{1, 12, 12, 64}, {1, 24, 8, 128}});
  grid.sequences =
      wide ? std::vector<std::int64_t>{1, 4, 16, 64} : std::vector<std::int64_t>{1, 4, 16};
  grid.contexts = wide ? std::vector<std::int64_t>{128, 512, 2048, 8192, 32768}
                       : std::vector<std::int64_t>{256, 2048, 16384};
  return grid;
}

void add_attention(CpuEnvironment& environment, bool quick, KvCode code,
                   std::vector<CpuBench>& out) {
  const double limit = static_cast<double>(plan_bytes(quick)) / 2.0;
  const AttentionGrid grid = attention_grid(quick, code);
  for (AttentionShape shape : grid.heads) {
    shape.code = code;
    for (const std::int64_t sequences : grid.sequences) {
      for (const std::int64_t context : grid.contexts) {
        shape.sequences = sequences;
        shape.context = context;
        if (attention_cache_bytes(shape) <= limit)
          out.push_back(attention_bench(environment, shape));
      }
    }
  }
}

void add_latents(CpuEnvironment& environment, bool quick, std::vector<CpuBench>& out) {
  std::vector<LatentShape> shapes = {{1, 16, 384, 64}, {1, 64, 512, 32}};
  std::vector<std::int64_t> sequences = {1, 8};
  std::vector<std::int64_t> contexts = {256, 1024, 4096};
  if (!quick) {
    shapes.insert(shapes.end(), {{1, 32, 256, 32}, {1, 128, 384, 64}});
    sequences = {1, 4, 16};
    contexts = {128, 512, 2048, 8192, 32768};
  }
  const double limit = static_cast<double>(plan_bytes(quick)) / 2.0;
  for (LatentShape shape : shapes) {
    for (const std::int64_t sequence_count : sequences) {
      for (const std::int64_t context : contexts) {
        shape.sequences = sequence_count;
        shape.context = context;
        if (latent_cache_bytes(shape) <= limit) out.push_back(mla_bench(environment, shape));
      }
    }
  }
}

void add_experts(CpuEnvironment& environment, bool quick, std::vector<CpuBench>& out) {
  std::vector<MoeShape> shapes = {{64, 8, 1024, 512}, {16, 2, 2048, 1024}, {8, 2, 1536, 2048}};
  std::vector<std::int64_t> batches = {1, 4, 16, 64};
  if (!quick) {
    shapes.insert(shapes.end(), {{32, 4, 4096, 512}, {256, 8, 1024, 256}});
    batches = {1, 2, 4, 8, 16, 32, 64};
  }
  for (MoeShape shape : shapes) {
    for (const std::int64_t batch : batches) {
      shape.batch = batch;
      out.push_back(moe_bench(environment, shape));
    }
  }
}

void add_elementwise(CpuEnvironment& environment, bool quick, std::vector<CpuBench>& out) {
  const std::vector<std::int64_t> batches =
      quick ? std::vector<std::int64_t>{1, 16} : std::vector<std::int64_t>{1, 4, 16, 64};
  const std::vector<std::int64_t> widths =
      quick ? std::vector<std::int64_t>{1024, 4096} : std::vector<std::int64_t>{1024, 2048, 5120};
  for (const std::int64_t batch : batches) {
    for (const std::int64_t width : widths) {
      out.push_back(norm_bench(environment, batch, width));
      out.push_back(activation_bench(environment, batch, 3 * width));
      out.push_back(rotary_bench(environment, batch, width / 128 + width / 512, 128));
    }
  }
}

}  // namespace

std::size_t plan_bytes(bool quick) {
  return static_cast<std::size_t>((quick ? 512.0 : 2048.0) * kMiB);
}

CalibrationPlan make_calibration_plan(CpuEnvironment& environment, bool quick) {
  CalibrationPlan plan;
  add_reads(environment, quick, plan.benches);
  add_gemms(environment, quick, plan.benches);
  add_latents(environment, quick, plan.benches);
  for (const KvCode code : {KvCode::bf16, KvCode::fp8_e4m3, KvCode::int8})
    add_attention(environment, quick, code, plan.benches);
  add_experts(environment, quick, plan.benches);
  add_elementwise(environment, quick, plan.benches);
  plan.benches.push_back(barrier_bench(environment));
  std::shuffle(plan.benches.begin(), plan.benches.end(), std::mt19937(kShuffleSeed));
  plan.rule = quick ? StoppingRule{.min_samples = 20, .half_width = 0.01, .max_seconds = 0.3}
                    : StoppingRule{.min_samples = 20, .half_width = 0.005, .max_seconds = 2.0};
  plan.budget_s = quick ? 45.0 : 540.0;
  return plan;
}

PointRules rules_for_next(const CalibrationPlan& plan, std::size_t points_done, double spent_s) {
  constexpr double kLeastSeconds = 0.05;
  const auto left = static_cast<double>(plan.benches.size() - points_done);
  const double share = std::max(0.0, plan.budget_s - spent_s) / std::max(left, 1.0);
  PointRules rules{plan.rule, {}};
  rules.stopping.max_seconds = std::clamp(share, kLeastSeconds, plan.rule.max_seconds);
  // A retry may take as long again.
  if (share < 2.0 * plan.rule.max_seconds) rules.drift.max_retries = 1;
  if (share < plan.rule.max_seconds) rules.drift.max_retries = 0;
  return rules;
}

}  // namespace roofcast
