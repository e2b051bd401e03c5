#include "microbench/cpu_elementwise/cpu_elementwise.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <vector>

namespace roofcast {
namespace {

/// Operands of all nodes of one benchmark. They stay in the caches, as between operators.
struct Operands {
  std::vector<Bf16> a, b, c, weight;
  std::vector<float> cosine, sine;
};

std::vector<Bf16> random_vector(const CpuEnvironment& environment, std::int64_t n) {
  const auto* const random = reinterpret_cast<const Bf16*>(environment.slabs.data(0));
  return {random, random + n};
}

CpuBench named(std::string label, double elements) {
  CpuBench bench;
  bench.benchmark = "elementwise";
  bench.label = std::move(label);
  bench.bytes = elements * sizeof(Bf16);
  return bench;
}

}  // namespace

CpuBench norm_bench(CpuEnvironment& environment, std::int64_t batch, std::int64_t width) {
  const auto o = std::make_shared<Operands>();
  o->a = o->b = o->c = random_vector(environment, batch * width);
  o->weight = random_vector(environment, width);
  CpuBench bench = named(fmt::format("norm batch={} width={}", batch, width),
                         static_cast<double>(4 * batch * width + width));
  // So small that adding it again and again leaves the residual as it is.
  std::fill(o->b.begin(), o->b.end(), float_to_bf16(1e-6F));
  bench.work = [&environment, o, batch, width](int thread, std::size_t) {
    const Range own = part_of(batch, thread, environment.pool.size());
    for (std::int64_t row = own.begin; row < own.end; ++row)
      environment.kernels.add_norm({.residual = o->a.data() + row * width,
                                    .y = o->b.data() + row * width,
                                    .weight = o->weight.data(),
                                    .x = o->c.data() + row * width,
                                    .n = width,
                                    .epsilon = 1e-6F});
  };
  return bench;
}

CpuBench activation_bench(CpuEnvironment& environment, std::int64_t batch, std::int64_t width) {
  constexpr std::int64_t kLineElements = 32;
  const auto o = std::make_shared<Operands>();
  o->a = o->b = o->c = random_vector(environment, batch * width);
  CpuBench bench = named(fmt::format("activation batch={} width={}", batch, width),
                         static_cast<double>(3 * batch * width));
  bench.work = [&environment, o, batch, width](int thread, std::size_t) {
    const Range lines =
        part_of((width + kLineElements - 1) / kLineElements, thread, environment.pool.size());
    const std::int64_t begin = lines.begin * kLineElements;
    const std::int64_t end = std::min(lines.end * kLineElements, width);
    for (std::int64_t row = 0; row < batch && begin < end; ++row)
      environment.kernels.activate({.up = o->a.data() + row * width + begin,
                                    .gate = o->b.data() + row * width + begin,
                                    .out = o->c.data() + row * width + begin,
                                    .n = end - begin});
  };
  return bench;
}

CpuBench rotary_bench(CpuEnvironment& environment, std::int64_t batch, std::int64_t heads,
                      std::int64_t head_dim) {
  const auto o = std::make_shared<Operands>();
  o->a = o->c = random_vector(environment, batch * heads * head_dim);
  o->weight = random_vector(environment, head_dim);
  o->cosine.assign(static_cast<std::size_t>(head_dim / 2), 0.6F);
  o->sine.assign(static_cast<std::size_t>(head_dim / 2), 0.8F);
  CpuBench bench =
      named(fmt::format("rotary batch={} heads={} head_dim={}", batch, heads, head_dim),
            static_cast<double>(2 * batch * heads * head_dim));
  bench.work = [&environment, o, batch, heads, head_dim](int thread, std::size_t) {
    const Range own = part_of(batch * heads, thread, environment.pool.size());
    for (std::int64_t i = own.begin; i < own.end; ++i)
      environment.kernels.rotate_head({.in = o->a.data() + i * head_dim,
                                       .norm_weight = o->weight.data(),
                                       .cosine = o->cosine.data(),
                                       .sine = o->sine.data(),
                                       .out = o->c.data() + i * head_dim,
                                       .head_dim = head_dim,
                                       .epsilon = 1e-6F});
  };
  return bench;
}

}  // namespace roofcast
