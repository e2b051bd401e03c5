#include "model/reference/kv_span.hpp"

#include "tests/reference/compare_decoders.hpp"

namespace roofcast {
namespace {

TEST_CASE("a whole span keeps every token where it came") {
  const KvSpan span;
  CHECK(span.slots(100) == 100);
  CHECK(span.slot(99) == 99);
  CHECK(span.filled(0) == 1);
  CHECK(span.filled(99) == 100);
  CHECK(span.tokens_read(99) == 99);
}

TEST_CASE("a window of 5 puts the sixth token where the first was, and reads 5 from then on") {
  const KvSpan span{KvSpan::Kind::window, 5};
  CHECK(span.slots(3) == 3);
  CHECK(span.slots(100) == 5);
  CHECK(span.slot(4) == 4);
  CHECK(span.slot(5) == 0);
  CHECK(span.filled(4) == 5);
  CHECK(span.filled(5) == 5);
  CHECK(span.tokens_read(4) == 4);
  CHECK(span.tokens_read(5) == 5);
  CHECK(span.tokens_read(1000) == 5);
}

TEST_CASE("a chunk of 5 starts over at the sixth token, which reads nothing") {
  const KvSpan span{KvSpan::Kind::chunk, 5};
  CHECK(span.slots(100) == 5);
  CHECK(span.slot(5) == 0);
  CHECK(span.filled(4) == 5);
  CHECK(span.filled(5) == 1);
  CHECK(span.tokens_read(4) == 4);
  CHECK(span.tokens_read(5) == 0);
  CHECK(span.tokens_read(12) == 2);
}

/// Spans that are no multiple of the cache's tiles (2, 4 and 16 tokens), or are, or take several
/// blocks of the kernels; alone and between layers that see all.
const TinyModel kWindows[] = {
    {.n_layers = 1, .window = 1},
    {.n_layers = 2, .n_heads = 4, .n_kv_heads = 2, .qk_norm = true, .window = 5},
    {.n_layers = 3,
     .n_heads = 3,
     .qk_norm = true,
     .tied = false,
     .post_norms = true,
     .window = 16,
     .whole_every = 3},
    {.n_layers = 2, .n_heads = 4, .qkv_bias = true, .sinks = true, .window = 70, .whole_every = 2},
};
const TinyModel kChunks[] = {
    {.n_layers = 1, .chunk = 1},
    {.n_layers = 2, .n_heads = 4, .n_kv_heads = 2, .qkv_bias = true, .o_bias = true, .chunk = 7},
    {.n_layers = 4, .qk_norm = true, .post_norms = true, .chunk = 32, .whole_every = 4},
};

std::int64_t size_of(const TinyModel& m) { return std::max(m.window, m.chunk); }

/// Contexts from which few steps reach and cross the span's end, the first time and later.
std::vector<std::int64_t> contexts_of(const TinyModel& m) {
  const std::int64_t size = size_of(m);
  return {0, std::max<std::int64_t>(size - 2, 1), size, size + 1, 3 * size - 1};
}

int check_all(const TinyModel& m, std::int64_t batch, int threads, int steps) {
  int clear_winners = 0;
  for (const IsaLevel isa : supported_isas()) {
    for (const std::int64_t context : contexts_of(m)) {
      CAPTURE(isa_name(isa));
      CAPTURE(context);
      CAPTURE(size_of(m));
      CAPTURE(threads);
      clear_winners += check_run({m, batch, context, threads}, isa, steps);
    }
  }
  return clear_winners;
}

TEST_CASE("windows decode as a naive decoder does, around their end and across it") {
  int clear_winners = 0;
  for (const TinyModel& m : kWindows) {
    clear_winners += check_all(m, 1, 1, 4);
    check_all(m, 4, 3, 3);
  }
  CHECK(clear_winners > 10);
}

TEST_CASE("chunks decode as a naive decoder does, around their borders and across them") {
  int clear_winners = 0;
  for (const TinyModel& m : kChunks) {
    clear_winners += check_all(m, 1, 2, 4);
    check_all(m, 4, 3, 3);
  }
  CHECK(clear_winners > 10);
}

TEST_CASE("a window that is decoded through several times never shows what left it") {
  // From an empty cache, so that every token of the ring was written by a step.
  check_run(
      {{.n_layers = 2, .n_heads = 4, .n_kv_heads = 2, .window = 6, .whole_every = 2}, 2, 0, 2},
      best_isa(), 20);
  check_run({{.n_layers = 2, .n_heads = 4, .n_kv_heads = 2, .chunk = 6, .whole_every = 2}, 2, 0, 2},
            best_isa(), 20);
}

void check_bytes(const TinyModel& m, std::int64_t context, int threads) {
  const std::int64_t batch = 3;
  CAPTURE(context);
  CAPTURE(size_of(m));
  CAPTURE(threads);
  const Counted c = count_bytes(m, batch, context, threads);
  CHECK(c.engine.weights.value == c.model.weights.value);
  CHECK(c.engine.kv_read.value == c.model.kv_read.value);
  CHECK(c.engine.kv_write.value == c.model.kv_write.value);
  if (threads > 1) return;
  // Of the list's 4 vectors per norm the first of a step needs 2, as it adds nothing to the
  // residual, and so does a norm after a block: the norm that follows adds.
  const std::int64_t norms = 1 + (m.post_norms ? 2 * m.n_layers : 0);
  const double not_added = 2.0 * static_cast<double>(norms * batch * m.hidden_dim) * sizeof(Bf16);
  CHECK(c.engine.activations.value == c.model.activations.value - not_added);
}

TEST_CASE("windows and chunks read and write the bytes of the operator list") {
  for (const auto& models : {std::vector(std::begin(kWindows), std::end(kWindows)),
                             std::vector(std::begin(kChunks), std::end(kChunks))}) {
    for (const TinyModel& m : models) {
      for (const std::int64_t context : contexts_of(m)) {
        check_bytes(m, context, 1);
        check_bytes(m, context, 3);
      }
    }
  }
}

TEST_CASE("a window's cache holds the window, however long the context") {
  // 1 layer, 1 sequence, 1 head of 16: 64 tokens of K and V are 4 KiB; a context of 1e9 tokens
  // would be 64 GB.
  DecodeEngine engine(spec_of({.n_layers = 1, .window = 64}), {.threads = 1});
  engine.start(1, 1'000'000'000, 2);
  engine.step();
  engine.step();
  CHECK(engine.position() == 1'000'000'002);
}

TEST_CASE("going back makes every step read the same bytes") {
  DecodeEngine engine(spec_of({.n_layers = 1, .window = 8}), {.threads = 1});
  engine.start(1, 30, 3);
  double first = 0.0;
  for (int i = 0; i < 3; ++i) {
    engine.rewind();
    engine.step();
    double read = 0.0;
    for (const Traffic& t : engine.recorder().operator_bytes()) read += t.kv_read.value;
    if (i == 0) first = read;
    CHECK(read == first);
  }
  // K and V of 8 tokens, 1 head of 16, bf16.
  CHECK(first == 8.0 * 2.0 * 16.0 * 2.0);
}

}  // namespace
}  // namespace roofcast
