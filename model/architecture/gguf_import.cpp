#include "model/architecture/gguf_import.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>

#include "model/architecture/census_formats.hpp"
#include "model/architecture/gguf_blocks.hpp"
#include "model/architecture/gguf_layers.hpp"
#include "model/base/error.hpp"
#include "model/base/utf8.hpp"

namespace roofcast {
namespace {

constexpr std::int64_t kMaxGgufLayers = 1024;
constexpr std::int64_t kMaxHiddenDim = std::int64_t{1} << 24;

void check_dimensions(const GgufModel& model) {
  for (const GgufTensor& tensor : model.tensors)
    for (const std::int64_t dim : tensor.dims)
      if (dim > kMaxGgufDimension)
        throw SpecError(place_message(
            model.files.front(), {}, tensor.name,
            fmt::format("expected dimensions up to {}, got {}", kMaxGgufDimension, dim)));
}

const GgufArchitecture& known_architecture(const GgufFields& fields) {
  const std::string& name = fields.architecture();
  if (const GgufArchitecture* row = find_gguf_architecture(name)) return *row;
  throw UnsupportedError(
      place_message(fields.file(), {}, "general.architecture",
                    fmt::format("expected an architecture that Roofcast knows, got {}{}",
                                in_quotes(name), did_you_mean(name, gguf_architecture_names()))));
}

/// "Qwen2.5 7B Instruct" -> "qwen2.5-7b-instruct".
std::string slug(std::string_view title) {
  std::string out;
  for (const char c : title) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0 || c == '.' || c == '_')
      out += static_cast<char>(std::tolower(byte));
    else if (!out.empty() && out.back() != '-')
      out += '-';
  }
  while (!out.empty() && out.back() == '-') out.pop_back();
  return out;
}

/// Texts from a file go into specs and reports: control characters and what is no UTF-8 do not.
std::string printable(std::string_view text) {
  constexpr std::size_t kLongest = 200;
  std::string out;
  for (const char c : text.substr(0, kLongest))
    out += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? ' ' : c;
  return valid_utf8(out);
}

void read_names(GgufFields& fields, ArchitectureSpec& spec) {
  const std::string stem = std::filesystem::path(fields.file()).stem().string();
  spec.title = printable(fields.text("general.name").value_or(stem));
  spec.name = slug(spec.title).empty() ? "gguf-model" : slug(spec.title);
  for (const char* key : {"general.source.url", "general.source.repo_url",
                          "general.base_model.0.repo_url", "general.repo_url"})
    if (spec.source.empty()) spec.source = printable(fields.text(key).value_or(""));
}

/// Token table, head and what else stands outside of the layers.
void read_outside(GgufFields& fields, const GgufTensors& tensors, ArchitectureSpec& spec) {
  const GgufTensor* table = tensors.find("token_embd.weight");
  if (table == nullptr || table->dims.size() < 2)
    throw SpecError(place_message(fields.file(), {}, "token_embd.weight",
                                  "expected a table of two dimensions, got none"));
  if (table->dims[0] != spec.hidden_dim)
    throw SpecError(place_message(fields.file(), {}, "token_embd.weight",
                                  fmt::format("expected rows of {} (embedding_length), got {}",
                                              spec.hidden_dim, table->dims[0])));
  spec.vocab_size = table->dims[1];
  fields.note("vocab_size", fmt::format("{} (rows of token_embd.weight)", spec.vocab_size),
              FieldStatus::derived);
  fields.ignore("vocab_size", "the table's rows count");
  spec.tied_embeddings = tensors.find("output.weight") == nullptr;
  fields.note("tied_embeddings",
              spec.tied_embeddings ? "true (no output.weight)" : "false (output.weight)",
              FieldStatus::derived);
  if (const GgufTensor* positions = tensors.find("position_embd.weight");
      positions != nullptr && positions->dims.size() > 1)
    spec.position_embeddings = positions->dims[1];
  spec.lm_head_bias = tensors.find("output.bias") != nullptr;
  if (tensors.find("output_norm.bias") != nullptr)
    spec.norm = NormKind::layer;
  else if (fields.has("attention.layer_norm_epsilon"))
    spec.norm = NormKind::layer_no_bias;
}

void read_per_layer_embedding(GgufFields& fields, const GgufTensors& tensors, std::int64_t n_layers,
                              ArchitectureSpec& spec) {
  const GgufTensor* table = tensors.find("per_layer_token_embd.weight");
  if (table == nullptr) return;
  if (table->dims.size() != 2 || table->dims[0] % n_layers != 0)
    throw SpecError(place_message(fields.file(), {}, table->name,
                                  fmt::format("expected rows for {} layers", n_layers)));
  spec.per_layer_embedding = PerLayerEmbedding{table->dims[1], table->dims[0] / n_layers};
  fields.ignore("embedding_length_per_layer_input", "the table's rows count");
}

/// Blocks behind the decoder are multi-token prediction, whether or not the metadata say so.
std::int64_t read_mtp_layers(GgufFields& fields, const GgufTensors& tensors,
                             std::int64_t n_blocks) {
  std::int64_t by_tensors = 0;
  while (by_tensors < n_blocks &&
         tensors.any(static_cast<int>(n_blocks - 1 - by_tensors), "nextn."))
    ++by_tensors;
  const std::int64_t layers =
      fields.whole_or("nextn_predict_layers", by_tensors, "blocks with nextn tensors");
  if (layers >= n_blocks)
    fields.fail(fields.architecture() + ".nextn_predict_layers",
                fmt::format("expected fewer than {} blocks, got {}", n_blocks, layers));
  return layers;
}

/// Whether the file itself says that a block does nothing, as pruned models do of some.
bool declared_empty(GgufFields& fields, std::int64_t layer, std::int64_t n_layers) {
  for (const char* key : {"attention.head_count", "feed_forward_length"}) {
    if (!fields.is_list(key)) return false;
    const auto numbers = fields.per_layer(key, static_cast<std::size_t>(n_layers));
    if ((*numbers)[static_cast<std::size_t>(layer)] != 0) return false;
  }
  return true;
}

/// block_count has to be the number of blocks among the tensors; blocks of multi-token prediction,
/// which it counts, may have been left out of the file.
void check_blocks(GgufFields& fields, const GgufTensors& tensors, std::int64_t n_blocks,
                  std::int64_t n_layers) {
  const auto fail = [&](std::int64_t expected, std::string_view which, std::int64_t block) {
    fields.fail(fields.architecture() + ".block_count",
                fmt::format("expected {}, as many blocks as have tensors ({} blk.{}), got {}",
                            expected, which, block, n_blocks));
  };
  const std::int64_t end = tensors.end_of_blocks();
  if (end > n_blocks) fail(end, "the last is", end - 1);
  std::int64_t present = 0;
  std::int64_t first_missing = -1;
  for (std::int64_t layer = 0; layer < n_blocks; ++layer) {
    if (tensors.any(static_cast<int>(layer), ""))
      ++present;
    else if (first_missing < 0 && layer < n_layers && !declared_empty(fields, layer, n_layers))
      first_missing = layer;
  }
  if (first_missing >= 0) fail(present, "none in", first_missing);
}

void set_engine_formats(GgufFields& fields, Formats& formats) {
  const Storage half = storage_of(*find_format("fp16"));
  const Storage single = storage_of(*find_format("fp32"));
  formats[Component::k] = formats[Component::v] = formats[Component::indexer] = half;
  formats[Component::state] = formats[Component::conv_state] = single;
  formats[Component::activations] = single;
  fields.note("formats.kv", "fp16 (llama.cpp's default; --cache-type-k and -v change it)",
              FieldStatus::defaulted);
  fields.note("formats.state", "fp32 (llama.cpp)", FieldStatus::defaulted);
  fields.note("formats.activations", "fp32 (llama.cpp)", FieldStatus::defaulted);
}

void add_resident(const TensorCensus& census, ArchitectureSpec& spec) {
  const TensorTotals& vision = census.of(TensorComponent::vision);
  if (vision.elements > 0)
    spec.resident.push_back({"vision", static_cast<double>(vision.elements)});
}

void warn_of_other(const TensorCensus& census, ImportedModel& model) {
  const TensorTotals& other = census.of(TensorComponent::other);
  if (other.bytes == 0) return;
  model.warnings.push_back(fmt::format("{} tensors of {} B belong to no known component, first {}",
                                       other.tensors, other.bytes, census.other_names.front()));
}

/// The format of a census row, which names formats as the table does.
std::optional<FormatId> format_named(std::string_view name) { return find_format(name); }

}  // namespace

TensorCensus gguf_census(const GgufModel& model, int n_layers) {
  std::vector<StoredTensor> tensors;
  tensors.reserve(model.tensors.size());
  for (const GgufTensor& tensor : model.tensors)
    tensors.push_back({.name = tensor.name,
                       .format = std::string(tensor.format.name()),
                       .rank = tensor.dims.size(),
                       .elements = tensor.elements,
                       .bytes = tensor.bytes});
  return take_census(tensors, place_gguf_tensor, n_layers);
}

ImportedModel import_gguf(const GgufModel& source) {
  GgufFields fields(source);
  const GgufArchitecture& architecture = known_architecture(fields);
  check_dimensions(source);
  const GgufTensors tensors(source);
  ImportedModel model;
  ArchitectureSpec& spec = model.spec;
  read_names(fields, spec);
  spec.hidden_dim = fields.required("embedding_length");
  if (spec.hidden_dim > kMaxHiddenDim)
    fields.fail(fields.architecture() + ".embedding_length",
                fmt::format("expected at most {}, got {}", kMaxHiddenDim, spec.hidden_dim));
  spec.max_context = fields.whole("context_length").value_or(0);
  const std::int64_t n_blocks = fields.required("block_count");
  if (n_blocks > kMaxGgufLayers)
    fields.fail(fields.architecture() + ".block_count",
                fmt::format("expected at most {}, got {}", kMaxGgufLayers, n_blocks));
  spec.mtp_layers = read_mtp_layers(fields, tensors, n_blocks);
  const std::int64_t n_layers = n_blocks - spec.mtp_layers;
  check_blocks(fields, tensors, n_blocks, n_layers);
  read_outside(fields, tensors, spec);
  read_per_layer_embedding(fields, tensors, n_layers, spec);
  read_gguf_layers(fields, tensors, architecture, n_layers, spec);
  set_engine_formats(fields, spec.formats);
  const TensorCensus census = gguf_census(source, static_cast<int>(n_layers));
  add_resident(census, spec);
  finish_architecture(spec);
  model.fields = fields.report();
  model.warnings = fields.warnings();
  set_formats_from_census(model, census, format_named);
  warn_of_other(census, model);
  return model;
}

ImportedModel import_gguf(const std::string& path) { return import_gguf(read_gguf_model(path)); }

}  // namespace roofcast
