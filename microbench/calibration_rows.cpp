#include "microbench/calibration_rows.hpp"

#include <algorithm>

#include "microbench/cpu_attention/cpu_attention.hpp"
#include "microbench/cpu_barrier/cpu_barrier.hpp"
#include "microbench/cpu_elementwise/cpu_elementwise.hpp"
#include "microbench/cpu_gemm/cpu_gemm.hpp"
#include "microbench/cpu_mla/cpu_mla.hpp"
#include "microbench/cpu_moe/cpu_moe.hpp"
#include "microbench/cpu_read/cpu_read.hpp"
#include "microbench/cpu_state/cpu_state.hpp"
#include "microbench/cpu_write/cpu_write.hpp"

namespace roofcast {
namespace {

constexpr double kKiB = 1024.0;
constexpr double kMiB = 1024.0 * 1024.0;

void add_reads(CpuEnvironment& environment, bool quick, std::vector<CpuBench>& out) {
  const double largest = static_cast<double>(plan_bytes(quick));
  for (double bytes = 256.0 * kKiB; bytes <= largest; bytes *= quick ? 4.0 : 2.0)
    out.push_back(cold_read_bench(environment, bytes));
}

void add_cache_read(CpuEnvironment& environment, bool, std::vector<CpuBench>& out) {
  const auto cache = static_cast<double>(environment.topology.last_level_cache_bytes);
  if (cache > 0.0) out.push_back(hot_read_bench(environment, 0.5 * cache));
}

/// Each number of threads up to all, by doubling; and each node by itself where there are several.
void add_thread_reads(CpuEnvironment& environment, bool quick, std::vector<CpuBench>& out) {
  const double bytes = static_cast<double>(plan_bytes(quick)) / 8.0;
  std::vector<Range> readers;
  for (std::int64_t threads = 1; threads < environment.pool.size(); threads *= 2)
    readers.push_back({0, threads});
  readers.push_back({0, environment.pool.size()});
  for (const Range& node : threads_by_node(environment))
    if (std::find(readers.begin(), readers.end(), node) == readers.end()) readers.push_back(node);
  for (const Range& some : readers) out.push_back(thread_read_bench(environment, bytes, some));
}

template <CpuBench (*make)(CpuEnvironment&, double)>
void add_stores(CpuEnvironment& environment, bool quick, std::vector<CpuBench>& out) {
  const double largest = static_cast<double>(plan_bytes(quick)) / 8.0;
  for (double bytes = 256.0 * kKiB; bytes <= largest; bytes *= quick ? 8.0 : 2.0)
    out.push_back(make(environment, bytes));
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

/// Other formats, each in the block layout that costs its kernel most. Fewer shapes do: what
/// differs from bf16 is the work per byte.
void add_products_of(std::string_view format, CpuEnvironment& environment, bool quick,
                     std::vector<CpuBench>& out) {
  std::vector<GemmShape> shapes = {{1024, 1024}, {4096, 4096}};
  std::vector<std::int64_t> batches = {1, 4, 16};
  if (!quick) {
    shapes.insert(shapes.end(), {{6144, 1024}, {2048, 8192}});
    batches = {1, 2, 4, 8, 16, 64};
  }
  for (GemmShape shape : shapes) {
    shape.format = find_weight_format(format).value();
    for (const std::int64_t batch : batches) {
      shape.batch = batch;
      out.push_back(gemm_bench(environment, shape));
    }
  }
}

void add_fp32_gemms(CpuEnvironment& environment, bool quick, std::vector<CpuBench>& out) {
  add_products_of("fp32", environment, quick, out);
}

void add_fp8_gemms(CpuEnvironment& environment, bool quick, std::vector<CpuBench>& out) {
  add_products_of("fp8_e4m3", environment, quick, out);
}

void add_int8_gemms(CpuEnvironment& environment, bool quick, std::vector<CpuBench>& out) {
  add_products_of("q8_0", environment, quick, out);
}

void add_int4_gemms(CpuEnvironment& environment, bool quick, std::vector<CpuBench>& out) {
  add_products_of("q4_0", environment, quick, out);
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

template <KvCode code>
void add_attention(CpuEnvironment& environment, bool quick, std::vector<CpuBench>& out) {
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

std::vector<std::int64_t> state_sequences(bool quick) {
  return quick ? std::vector<std::int64_t>{1, 4, 16}
               : std::vector<std::int64_t>{1, 2, 4, 8, 16, 32, 64};
}

void add_recurrences(CpuEnvironment& environment, bool quick, StateFormat format,
                     std::vector<CpuBench>& out) {
  environment.targets.reserve(environment.pool, environment.topology.last_level_cache_bytes);
  const auto limit = static_cast<double>(environment.targets.bytes_per_thread()) / 2.0;
  std::vector<StateShape> shapes = {{1, 32, 8, 128, 128, StateRule::delta},
                                    {1, 64, 8, 128, 64, StateRule::linear}};
  if (!quick)
    shapes.insert(shapes.end(),
                  {{1, 16, 16, 64, 64, StateRule::delta}, {1, 24, 1, 256, 96, StateRule::linear}});
  for (StateShape shape : shapes) {
    shape.format = format;
    for (const std::int64_t sequences : state_sequences(quick)) {
      shape.sequences = sequences;
      if (state_bytes_per_thread(shape, environment.pool.size()) <= limit)
        out.push_back(state_bench(environment, shape));
    }
  }
}

void add_wide_states(CpuEnvironment& environment, bool quick, std::vector<CpuBench>& out) {
  add_recurrences(environment, quick, StateFormat::fp32, out);
}

void add_narrow_states(CpuEnvironment& environment, bool quick, std::vector<CpuBench>& out) {
  if (!quick) add_recurrences(environment, quick, StateFormat::bf16, out);
  for (const std::int64_t channels : {2048, 8192})
    for (const std::int64_t sequences : state_sequences(quick))
      out.push_back(convolution_bench(environment, {sequences, channels, 4}));
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

void add_barrier(CpuEnvironment& environment, bool, std::vector<CpuBench>& out) {
  out.push_back(barrier_bench(environment));
}

using Use = CalibrationRow::Use;

constexpr CalibrationRow kRows[] = {
    {.benchmark = "read", .primitive = "read", .add_points = add_reads},
    {.benchmark = "read_threads", .add_points = add_thread_reads, .use = Use::thread_curve},
    {.benchmark = "write", .primitive = "write", .add_points = add_stores<write_bench>},
    {.benchmark = "write_streaming",
     .primitive = "write_streaming",
     .add_points = add_stores<streaming_write_bench>},
    {.benchmark = "copy", .primitive = "copy", .add_points = add_stores<copy_bench>},
    {.benchmark = "copy_streaming",
     .primitive = "copy_streaming",
     .add_points = add_stores<streaming_copy_bench>},
    {.benchmark = "gemm",
     .primitive = "gemm_bf16",
     .add_points = add_gemms,
     .terms = {.compute = true, .norm = true}},
    {.benchmark = "gemm_fp32",
     .primitive = "gemm_fp32",
     .add_points = add_fp32_gemms,
     .terms = {.compute = true, .norm = true}},
    {.benchmark = "gemm_fp8",
     .primitive = "gemm_fp8",
     .add_points = add_fp8_gemms,
     .terms = {.compute = true, .norm = true}},
    {.benchmark = "gemm_int8",
     .primitive = "gemm_int8",
     .add_points = add_int8_gemms,
     .terms = {.compute = true, .norm = true}},
    {.benchmark = "gemm_int4",
     .primitive = "gemm_int4",
     .add_points = add_int4_gemms,
     .terms = {.compute = true, .norm = true}},
    {.benchmark = "attention_bf16",
     .primitive = "attention_bf16",
     .add_points = add_attention<KvCode::bf16>,
     .terms = {.compute = true, .work1 = true, .work2 = true, .norm = true}},
    {.benchmark = "attention_fp8",
     .primitive = "attention_fp8",
     .add_points = add_attention<KvCode::fp8_e4m3>,
     .terms = {.compute = true, .work1 = true, .work2 = true, .norm = true}},
    {.benchmark = "attention_int8",
     .primitive = "attention_int8",
     .add_points = add_attention<KvCode::int8>,
     .terms = {.compute = true, .work1 = true, .work2 = true, .norm = true}},
    {.benchmark = "mla",
     .primitive = "mla_bf16",
     .add_points = add_latents,
     .terms = {.compute = true, .work1 = true, .norm = true},
     .work1_constant = &CalibratedPrimitive::c_mla},
    {.benchmark = "moe",
     .primitive = "moe_bf16",
     .add_points = add_experts,
     .terms = {.compute = true, .norm = true},
     .io_at_bandwidth = true},
    {.benchmark = "state_fp32", .primitive = "state_fp32", .add_points = add_wide_states},
    {.benchmark = "state_bf16", .primitive = "state_bf16", .add_points = add_narrow_states},
    {.benchmark = "elementwise",
     .primitive = "elementwise",
     .add_points = add_elementwise,
     .from_memory = false},
    {.benchmark = "barrier",
     .primitive = "barrier",
     .add_points = add_barrier,
     .use = Use::fixed_time,
     .from_memory = false},
    {.benchmark = "cache_read",
     .add_points = add_cache_read,
     .use = Use::cache_read,
     .from_memory = false},
};

}  // namespace

std::span<const CalibrationRow> calibration_rows() { return kRows; }

std::size_t plan_bytes(bool quick) {
  return static_cast<std::size_t>((quick ? 512.0 : 2048.0) * kMiB);
}

}  // namespace roofcast
