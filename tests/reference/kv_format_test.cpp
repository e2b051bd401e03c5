#include <string>

#include "model/base/error.hpp"
#include "tests/reference/compare_decoders.hpp"

namespace roofcast {
namespace {

struct FormatPair {
  const char* k;
  const char* v;
};
constexpr FormatPair kFormats[] = {
    {"fp8_e4m3", "fp8_e4m3"}, {"int8", "int8"}, {"bf16", "fp8_e4m3"}, {"int8", "bf16"}};

/// Whole, windowed and chunked spans, alone and mixed, with what else touches K and V.
const TinyModel kModels[] = {
    {.n_layers = 2, .n_heads = 4, .n_kv_heads = 2, .qk_norm = true, .tied = false},
    {.n_layers = 2,
     .n_heads = 5,
     .head_dim = 48,
     .qkv_bias = true,
     .sinks = true,
     .window = 20,
     .whole_every = 2},
    {.n_layers = 1, .n_heads = 6, .n_kv_heads = 3, .head_dim = 32, .qk_norm = true, .chunk = 40},
};

TinyModel with_formats(TinyModel model, const FormatPair& formats) {
  model.k_format = formats.k;
  model.v_format = formats.v;
  return model;
}

TEST_CASE("caches in bytes decode as a naive decoder in double does on what they hold") {
  int clear_winners = 0;
  for (const IsaLevel isa : supported_isas()) {
    for (const TinyModel& model : kModels) {
      for (const FormatPair& formats : kFormats) {
        for (const std::int64_t page_tokens : {0, 16}) {
          CAPTURE(isa_name(isa));
          CAPTURE(formats.k);
          CAPTURE(formats.v);
          CAPTURE(page_tokens);
          const TinyModel m = with_formats(model, formats);
          clear_winners += check_run({m, 1, 39, 2, {.page_tokens = page_tokens}}, isa, 3);
          clear_winners += check_run({m, 3, 0, 1, {.page_tokens = page_tokens}}, isa, 2);
        }
      }
    }
  }
  CHECK(clear_winners > 50);
}

TEST_CASE("long contexts, many threads and scales of their own change nothing of that") {
  const TinyModel& model = kModels[0];
  for (const IsaLevel isa : supported_isas()) {
    for (const int threads : {1, 3}) {
      CAPTURE(isa_name(isa));
      CAPTURE(threads);
      check_run({with_formats(model, kFormats[0]), 2, 200, threads, {0, 0.3F, 0.02F}}, isa, 2);
      check_run({with_formats(model, kFormats[1]), 2, 200, threads, {64, 0.05F, 0.07F}}, isa, 2);
      check_run({model, 2, 200, threads, {64}}, isa, 2);
    }
  }
}

/// Logits of all sequences after `steps` steps.
std::vector<double> decode(const TinyModel& model, std::int64_t page_tokens, IsaLevel isa,
                           int threads) {
  DecodeEngine engine(spec_of(model), {.threads = threads, .isa = isa, .kv = {page_tokens}});
  engine.start(3, 150, 3);
  for (int i = 0; i < 3; ++i) engine.step();
  std::vector<double> all;
  for (std::int64_t s = 0; s < 3; ++s) {
    const std::vector<double> logits = logits_of(engine, s);
    all.insert(all.end(), logits.begin(), logits.end());
  }
  return all;
}

TEST_CASE("a paged cache gives the bits of a contiguous one") {
  for (const IsaLevel isa : supported_isas()) {
    for (const TinyModel& model : kModels) {
      for (const FormatPair& formats : {FormatPair{"bf16", "bf16"}, kFormats[0], kFormats[1]}) {
        const TinyModel m = with_formats(model, formats);
        for (const int threads : {1, 4}) {
          const std::vector<double> contiguous = decode(m, 0, isa, threads);
          for (const std::int64_t page_tokens : {16, 48, 64, 1024}) {
            CAPTURE(isa_name(isa));
            CAPTURE(formats.k);
            CAPTURE(page_tokens);
            CAPTURE(threads);
            CHECK(decode(m, page_tokens, isa, threads) == contiguous);
          }
        }
      }
    }
  }
}

TEST_CASE("caches in bytes, with pages or without, move the bytes of the operator list") {
  for (const TinyModel& model : kModels) {
    for (const FormatPair& formats : kFormats) {
      for (const std::int64_t page_tokens : {0, 16}) {
        for (const int threads : {1, 3}) {
          CAPTURE(formats.k);
          CAPTURE(formats.v);
          CAPTURE(threads);
          const Counted c = count_bytes(spec_of(with_formats(model, formats)), 3, 57, threads,
                                        {.page_tokens = page_tokens});
          CHECK(c.engine.kv_read.value == c.model.kv_read.value);
          CHECK(c.engine.kv_write.value == c.model.kv_write.value);
          CHECK(c.engine.weights.value == c.model.weights.value);
        }
      }
    }
  }
  // By hand: 2 layers, 3 sequences, 2 heads of 16 elements, 57 tokens; K takes 1 byte and V 2.
  const Counted c = count_bytes(spec_of(with_formats(kModels[0], {"int8", "bf16"})), 3, 57, 1);
  CHECK(c.engine.kv_read.value == 2.0 * 3 * 2 * 57 * (16 + 32));
  CHECK(c.engine.kv_write.value == 2.0 * 3 * 2 * (16 + 32));
}

/// The message with which the engine refuses a spec; empty when it does not.
std::string refusal(const ArchitectureSpec& spec, const KvOptions& kv) {
  try {
    DecodeEngine engine(spec, {.threads = 1, .kv = kv});
  } catch (const UnsupportedError& error) {
    return error.what();
  }
  return "";
}

TEST_CASE("formats and pages of a cache that the engine has no kernel for are refused by name") {
  CHECK(refusal(spec_of({.k_format = "q8_0"}), {})
            .find("no kernel for k in q8_0 (bf16, fp8_e4m3 or int8)") != std::string::npos);
  ArchitectureSpec mla = spec_of({});
  mla.mixers[0].kind = MultiHeadLatentAttention{};
  CHECK(refusal(mla, {.page_tokens = 16})
            .find("no kernel for pages of the cache of attention kind \"mla\"") !=
        std::string::npos);
}

}  // namespace
}  // namespace roofcast
