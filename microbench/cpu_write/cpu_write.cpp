#include "microbench/cpu_write/cpu_write.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace roofcast {
namespace {

constexpr std::size_t kLine = 64;

enum class Source { constant, memory };
enum class Store { plain, streaming };

#ifdef __SSE2__
using Vector = __m128i;

Vector load(const std::byte* from) { return _mm_load_si128(reinterpret_cast<const Vector*>(from)); }

template <Store kStore>
void store(std::byte* to, Vector value) {
  if constexpr (kStore == Store::streaming)
    _mm_stream_si128(reinterpret_cast<Vector*>(to), value);
  else
    _mm_store_si128(reinterpret_cast<Vector*>(to), value);
}

/// Streaming stores are ordered with the barrier that follows by a fence only.
void end_of_stores() { _mm_sfence(); }
#else
using Vector = std::uint64_t;

Vector load(const std::byte* from) {
  Vector value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

template <Store>
void store(std::byte* to, Vector value) {
  std::memcpy(to, &value, sizeof value);
}

void end_of_stores() {}
#endif

/// Stores `bytes`, a multiple of a line, from the start of `from` again and again or all of it.
template <Source kSource, Store kStore>
void store_lines(const std::byte* from, std::byte* to, std::size_t bytes) {
  for (std::size_t line = 0; line < bytes; line += kLine) {
    for (std::size_t i = 0; i < kLine; i += sizeof(Vector))
      store<kStore>(to + line + i, load(kSource == Source::memory ? from + line + i : from + i));
    // Keeps the compiler from making one call to memset or memcpy of the loop.
    asm volatile("" : : : "memory");
  }
  if constexpr (kStore == Store::streaming) end_of_stores();
}

template <Source kSource, Store kStore>
CpuBench store_bench(CpuEnvironment& environment, const char* name, double bytes) {
  environment.targets.reserve(environment.pool, environment.topology.last_level_cache_bytes);
  const auto threads = static_cast<std::size_t>(environment.pool.size());
  constexpr std::size_t kStreams = kSource == Source::memory ? 2 : 1;
  const std::size_t lines = static_cast<std::size_t>(bytes) / kStreams / threads / kLine;
  const std::size_t each =
      std::min({std::max<std::size_t>(lines, 1) * kLine, environment.targets.bytes_per_thread(),
                environment.slabs.bytes_per_thread()});
  CpuBench bench;
  bench.benchmark = name;
  bench.bytes = static_cast<double>(kStreams * each * threads);
  bench.label = fmt::format("bytes={}", bench.bytes);
  bench.work = [&environment, each](int thread, std::size_t node) {
    store_lines<kSource, kStore>(environment.slabs.window(thread, each, node),
                                 environment.targets.window(thread, each, node), each);
  };
  return bench;
}

}  // namespace

CpuBench write_bench(CpuEnvironment& environment, double bytes) {
  return store_bench<Source::constant, Store::plain>(environment, "write", bytes);
}

CpuBench streaming_write_bench(CpuEnvironment& environment, double bytes) {
  return store_bench<Source::constant, Store::streaming>(environment, "write_streaming", bytes);
}

CpuBench copy_bench(CpuEnvironment& environment, double bytes) {
  return store_bench<Source::memory, Store::plain>(environment, "copy", bytes);
}

CpuBench streaming_copy_bench(CpuEnvironment& environment, double bytes) {
  return store_bench<Source::memory, Store::streaming>(environment, "copy_streaming", bytes);
}

}  // namespace roofcast
