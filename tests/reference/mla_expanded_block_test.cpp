#include "model/reference/mla_expanded_block.hpp"

#include "tests/reference/compare_latent.hpp"

namespace roofcast {
namespace {

/// Keys wider and narrower than values, with and without a query's latent and rotation.
const LatentRun kRuns[] = {
    {{.model = {.n_layers = 2},
      .shape = {.n_heads = 2,
                .kv_lora_rank = 32,
                .qk_nope_head_dim = 16,
                .qk_rope_head_dim = 16,
                .v_head_dim = 16},
      .form = LatentForm::expanded},
     1,
     0,
     1},
    {{.model = {.n_layers = 2, .hidden_dim = 50, .tied = false},
      .shape = {.n_heads = 5,
                .q_lora_rank = 24,
                .kv_lora_rank = 64,
                .qk_nope_head_dim = 32,
                .qk_rope_head_dim = 16,
                .v_head_dim = 80},
      .form = LatentForm::expanded},
     3,
     70,
     2},
    {{.model = {.n_layers = 1, .post_norms = true},
      .shape = {.n_heads = 3,
                .kv_lora_rank = 96,
                .qk_nope_head_dim = 64,
                .qk_rope_head_dim = 0,
                .v_head_dim = 32},
      .form = LatentForm::expanded},
     1,
     131,
     4},
};

TEST_CASE("every instruction set runs expanded latent attention as a naive decoder does") {
  for (const IsaLevel isa : supported_isas()) {
    for (const LatentRun& run : kRuns) {
      CAPTURE(isa_name(isa));
      CAPTURE(run.model.shape.n_heads);
      check_latent_run(run, isa, 3);
    }
  }
}

TEST_CASE("expanded latent attention moves the bytes of the operator list") {
  for (const LatentRun& run : kRuns)
    for (const int threads : {1, 2, 3, 7})
      check_latent_bytes(run.model, run.batch, run.context, threads);
}

/// Logits of `steps` steps from an empty cache on the same tokens, and the bytes read last.
std::vector<double> decode(LatentModel m, LatentForm form, int steps, double& kv_read) {
  m.form = form;
  DecodeEngine engine(spec_of(m), {.threads = 2, .seed = 7});
  engine.start(2, 0, steps);
  std::vector<double> logits;
  for (int step = 0; step < steps; ++step) {
    engine.tokens() = {step * 5 % m.model.vocab_size, step * 11 % m.model.vocab_size};
    engine.step();
    for (const std::int64_t sequence : {0, 1}) {
      const auto more = logits_of(engine, sequence);
      logits.insert(logits.end(), more.begin(), more.end());
    }
  }
  kv_read = 0.0;
  for (const Traffic& t : engine.recorder().operator_bytes()) kv_read += t.kv_read.value;
  return logits;
}

TEST_CASE("pages and 8-bit codes serve keys and values of different widths") {
  const LatentRun& run = kRuns[1];
  const auto decode_with = [&](const char* format, std::int64_t page_tokens) {
    ArchitectureSpec spec = spec_of(run.model);
    spec.formats[Component::k] = spec.formats[Component::v] = storage_of(*find_format(format));
    finish_architecture(spec);
    DecodeEngine engine(spec, {.threads = 2, .seed = 7, .kv = {.page_tokens = page_tokens}});
    engine.start(run.batch, run.context, 1);
    engine.step();
    return logits_of(engine, 1);
  };
  const std::vector<double> in_order = decode_with("bf16", 0);
  CHECK(decode_with("bf16", 16) == in_order);
  // A random cache of other values than in bf16, so only that pages make no difference.
  for (const char* format : {"fp8_e4m3", "int8"})
    CHECK(decode_with(format, 32) == decode_with(format, 0));
}

TEST_CASE("absorbed and expanded forms of the same weights compute the same") {
  for (const LatentRun& run : kRuns) {
    double latents = 0.0;
    double keys_and_values = 0.0;
    const auto absorbed = decode(run.model, LatentForm::absorbed, 20, latents);
    const auto expanded = decode(run.model, LatentForm::expanded, 20, keys_and_values);
    CHECK(distance(absorbed, expanded) <= latent_tolerance(run.model.model, absorbed));
    // 19 tokens of each layer and sequence.
    const MlaShape& s = run.model.shape;
    const auto tokens = static_cast<double>(19 * 2 * run.model.model.n_layers);
    CHECK(latents == tokens * static_cast<double>(s.kv_lora_rank + s.qk_rope_head_dim) * 2.0);
    CHECK(keys_and_values ==
          tokens *
              static_cast<double>(s.n_heads *
                                  (s.qk_nope_head_dim + s.qk_rope_head_dim + s.v_head_dim)) *
              2.0);
  }
}

}  // namespace
}  // namespace roofcast
