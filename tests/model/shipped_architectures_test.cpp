#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "model/architecture/architecture_spec.hpp"
#include "model/architecture/architecture_yaml.hpp"
#include "model/architecture/embedded_architectures.hpp"
#include "model/operators/decode_step.hpp"
#include "tests/model/kv_bytes_table.hpp"
#include "tests/relative.hpp"

namespace {

using namespace roofcast;
using roofcast::test::relative;

struct Shipped {
  std::string file;
  Document document;
  ArchitectureSpec spec;
};

std::vector<Shipped> shipped_architectures() {
  std::vector<Shipped> all;
  for (const EmbeddedFile& file : embedded_architectures()) {
    const std::string path = "architectures/" + std::string(file.name);
    Document document = parse_yaml(file.text, path);
    ArchitectureSpec spec = read_architecture(document);
    all.push_back({std::string(file.name), std::move(document), std::move(spec)});
  }
  return all;
}

/// One unit of the last digit of a figure as written: 0.1e9 for "3.3e9", 1e9 for "671e9", 1 for
/// "9241705984".
double last_digit(const std::string& text) {
  const std::size_t e = text.find_first_of("eE");
  const std::string digits = text.substr(0, e);
  const int exponent = e == std::string::npos ? 0 : std::stoi(text.substr(e + 1));
  const std::size_t point = digits.find('.');
  const int decimals = point == std::string::npos ? 0 : static_cast<int>(digits.size() - point) - 1;
  return std::pow(10.0, exponent - decimals);
}

/// Whether our count agrees with a published figure: it may differ by half a unit of the figure's
/// last digit, or by 0.5 %, for checkpoints hold small tensors that no cost depends on.
bool agrees(double count, const std::string& figure) {
  const double published = std::stod(figure);
  return std::abs(count - published) <= std::max(0.005 * published, 0.5 * last_digit(figure));
}

/// Active counts are cut by some publishers where others round: 3.353e9 of Qwen3-30B-A3B appears as
/// 3.3B, 2.451e9 of DeepSeek-V2-Lite as 2.4B. So an active count may lie a whole unit above.
bool active_agrees(double count, const std::string& figure) {
  const double excess = count - std::stod(figure);
  return agrees(count, figure) || (excess >= 0.0 && excess < last_digit(figure));
}

/// Our counts in the publisher's convention.
double total_as_published(const ArchitectureSpec& spec, const ParameterCount& count) {
  const double tables = count.embedding * (spec.tied_embeddings ? 1.0 : 2.0);
  return count.total + (spec.published->counts_resident ? count.resident : 0.0) +
         (spec.published->counts_mtp ? count.mtp : 0.0) -
         (spec.published->counts_embeddings ? 0.0 : tables);
}

double active_as_published(const ArchitectureSpec& spec, const ParameterCount& count) {
  const bool own_table = spec.published->active_includes_embedding && !spec.tied_embeddings;
  return count.active + (own_table ? count.embedding : 0.0) -
         (spec.published->counts_embeddings && spec.published->active_includes_head
              ? 0.0
              : count.embedding);
}

/// The same model with every layer in a class of its own.
ArchitectureSpec ungrouped(ArchitectureSpec spec) {
  spec.classes.clear();
  for (const Layer& layer : spec.layers) spec.classes.push_back({layer, 1});
  return spec;
}

bool has_only_plain_attention(const ArchitectureSpec& spec) {
  const std::vector<std::string_view> plain = {"gqa", "sliding_window", "chunked", "mla", "none"};
  return std::all_of(spec.mixers.begin(), spec.mixers.end(), [&](const NamedMixer& mixer) {
    return std::find(plain.begin(), plain.end(), kind_name(mixer.kind)) != plain.end();
  });
}

}  // namespace

TEST_CASE("the catalogue of architectures is not empty, and its files are named like its models") {
  CHECK(embedded_architectures().size() >= 60);
  for (const Shipped& model : shipped_architectures())
    CHECK(model.spec.name + ".yaml" == model.file);
}

TEST_CASE("every shipped architecture says where it comes from, by public address") {
  for (const Shipped& model : shipped_architectures()) {
    CAPTURE(model.file);
    CHECK(model.spec.source.starts_with("https://"));
    CHECK(!model.spec.title.empty());
    REQUIRE(model.spec.published.has_value());
    CHECK(model.spec.published->source.find("https://") != std::string::npos);
  }
}

TEST_CASE("every shipped architecture has the published number of parameters") {
  for (const Shipped& model : shipped_architectures()) {
    CAPTURE(model.file);
    const PublishedCounts& published = *model.spec.published;
    const ParameterCount count = count_parameters(model.spec);
    const Value& written = *model.document.root.find("published");
    const std::string total_text = written.find("total_params")->scalar;
    const double total = total_as_published(model.spec, count);
    CAPTURE(total);
    CHECK(agrees(total, total_text));
    if (!published.active_params) continue;
    const std::string active_text = written.find("active_params")->scalar;
    const double active = active_as_published(model.spec, count);
    CAPTURE(active);
    CHECK(active_agrees(active, active_text));
  }
}

TEST_CASE("a published figure may differ by half its last digit, or by 0.5 %") {
  CHECK(last_digit("671e9") == 1e9);
  CHECK(last_digit("8.03e9") == relative(1e7));
  CHECK(last_digit("9241705984") == 1.0);
  CHECK(agrees(3.34e9, "3.3e9"));
  CHECK(!agrees(3.36e9, "3.3e9"));
  CHECK(agrees(8.06e9, "8.03e9"));
  CHECK(!agrees(8.08e9, "8.03e9"));
  CHECK(active_agrees(3.39e9, "3.3e9"));
  CHECK(!active_agrees(3.41e9, "3.3e9"));
  CHECK(!active_agrees(3.24e9, "3.3e9"));
}

TEST_CASE("active parameters are at most all, and all of them in a dense model") {
  for (const Shipped& model : shipped_architectures()) {
    CAPTURE(model.file);
    const ParameterCount count = count_parameters(model.spec);
    CHECK(count.active <= count.total);
    const bool routed = std::any_of(model.spec.ffns.begin(), model.spec.ffns.end(),
                                    [](const NamedFfn& f) { return kind_name(f.kind) == "moe"; });
    if (routed) {
      CHECK(count.active < 0.5 * count.total);
      CHECK(model.spec.published->active_params.has_value());
      continue;
    }
    const double looked_up =
        (model.spec.tied_embeddings ? 0.0 : count.embedding) +
        static_cast<double>(model.spec.position_embeddings * model.spec.hidden_dim) +
        (model.spec.per_layer_embedding
             ? static_cast<double>(model.spec.per_layer_embedding->vocab_size *
                                   model.spec.per_layer_embedding->dim) *
                   static_cast<double>(model.spec.layers.size())
             : 0.0);
    CHECK(count.active + looked_up == relative(count.total).epsilon(1e-12));
  }
}

TEST_CASE("a shipped architecture that is written and read again is the same") {
  for (const Shipped& model : shipped_architectures()) {
    CAPTURE(model.file);
    const std::string text = write_architecture_yaml(model.spec);
    CHECK(read_architecture(parse_yaml(text, "again.yaml")) == model.spec);
  }
}

TEST_CASE("KV bytes per token of every shipped architecture agree with the hand-made table") {
  for (const Shipped& model : shipped_architectures()) {
    CAPTURE(model.file);
    const auto row = std::find_if(kKvBytesTable.begin(), kKvBytesTable.end(),
                                  [&](const KvBytes& r) { return r.model == model.spec.name; });
    if (row == kKvBytesTable.end()) {
      // State and sparse kinds are tested with their kinds.
      CHECK_MESSAGE(!has_only_plain_attention(model.spec), "this model needs a row in the table");
      continue;
    }
    CHECK(kv_bytes_per_token(model.spec).value == row->bytes);
  }
}

TEST_CASE("every row of the KV table is about a shipped architecture") {
  const std::vector<Shipped> all = shipped_architectures();
  for (const KvBytes& row : kKvBytesTable) {
    CAPTURE(row.model);
    CHECK(std::any_of(all.begin(), all.end(),
                      [&](const Shipped& model) { return model.spec.name == row.model; }));
  }
}

TEST_CASE("a step of grouped layers is the sum over the single layers") {
  const std::vector<StepShape> shapes = {
      {.sequences = 1, .query_len = 1, .context = 4095, .tp = 1},
      {.sequences = 32, .query_len = 1, .context = 20000, .tp = 2},
      {.sequences = 3, .query_len = 512, .context = 1024, .tp = 1}};
  for (const Shipped& model : shipped_architectures()) {
    CAPTURE(model.file);
    const ArchitectureSpec single = ungrouped(model.spec);
    REQUIRE(single.classes.size() == model.spec.layers.size());
    for (const StepShape& shape : shapes) {
      const StepWork grouped_work = total_work(decode_step(model.spec, shape));
      const StepWork single_work = total_work(decode_step(single, shape));
      const auto same = [](double a, double b) {
        CHECK(std::abs(a - b) <= 1e-12 * std::max(std::abs(a), std::abs(b)));
      };
      same(grouped_work.flops.value, single_work.flops.value);
      same(grouped_work.bytes.weights.value, single_work.bytes.weights.value);
      same(grouped_work.bytes.kv_read.value, single_work.bytes.kv_read.value);
      same(grouped_work.bytes.kv_write.value, single_work.bytes.kv_write.value);
      same(grouped_work.bytes.state.value, single_work.bytes.state.value);
      same(grouped_work.bytes.activations.value, single_work.bytes.activations.value);
      same(grouped_work.bytes.collective.value, single_work.bytes.collective.value);
    }
  }
}

TEST_CASE("a decode step of one sequence reads the bytes of the active parameters") {
  // In a model whose weights are all of one 16-bit format, one token reads two bytes per active
  // parameter, one row of the input table (and of per-layer and position tables) beside them.
  for (const Shipped& model : shipped_architectures()) {
    CAPTURE(model.file);
    const Formats& f = model.spec.formats;
    const bool plain = std::all_of(f.components.begin(), f.components.begin() + 7,
                                   [](const Storage& s) { return s.bits == 16.0; });
    if (!plain) continue;
    const double active = count_parameters(model.spec).active;
    const double read = weight_bytes(model.spec).read_per_step_batch1.value;
    CHECK(read == relative(2.0 * active).epsilon(2e-3));
  }
}
