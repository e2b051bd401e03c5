#include "model/architecture/gguf_header.hpp"

#include <doctest/doctest.h>

#include <limits>

#include "model/base/error.hpp"
#include "tests/model/architecture/gguf_builder.hpp"

using namespace roofcast;
using test::GgufBuilder;

namespace {

GgufHeader read(const std::string& bytes, std::uint64_t file_bytes) {
  std::istringstream in(bytes);
  return read_gguf_header(in, file_bytes, "x.gguf");
}
GgufHeader read(const GgufBuilder& file) { return read(file.header(), file.size_with_data()); }

/// The message that reading `bytes` ends with; empty when it succeeds.
std::string error_of(const std::string& bytes, std::uint64_t file_bytes = 0) {
  try {
    read(bytes, file_bytes == 0 ? bytes.size() : file_bytes);
  } catch (const SpecError& error) {
    return error.what();
  }
  return {};
}
std::string error_of(const GgufBuilder& file) {
  return error_of(file.header(), file.size_with_data());
}

/// Magic, version 3 and the two counts: 24 bytes.
std::string preamble(std::uint64_t n_tensors, std::uint64_t n_entries, std::uint32_t version = 3) {
  std::string out = "GGUF";
  GgufBuilder::put(out, version);
  GgufBuilder::put(out, n_tensors);
  GgufBuilder::put(out, n_entries);
  return out;
}

}  // namespace

TEST_CASE("metadata of every type is read with its value and its type's name") {
  GgufBuilder file;
  file.set("a", std::uint8_t{200}).set("b", std::int8_t{-3}).set("c", std::uint16_t{65535});
  file.set("d", std::int16_t{-7}).set("e", std::uint32_t{4000000000U}).set("f", std::int32_t{-9});
  file.set("g", 0.5F).set("h", true).set("i", "llama").set("j", std::uint64_t{1} << 62);
  file.set("k", std::int64_t{-5}).set("l", 2.25);
  const GgufHeader header = read(file);
  REQUIRE(header.metadata.size() == 12);
  const auto whole = [&](std::string_view key) {
    return std::get<std::int64_t>(header.find(key)->data);
  };
  CHECK(whole("a") == 200);
  CHECK(whole("b") == -3);
  CHECK(whole("c") == 65535);
  CHECK(whole("d") == -7);
  CHECK(whole("e") == 4000000000);
  CHECK(whole("f") == -9);
  CHECK(std::get<double>(header.find("g")->data) == 0.5);
  CHECK(std::get<bool>(header.find("h")->data));
  CHECK(std::get<std::string>(header.find("i")->data) == "llama");
  CHECK(whole("j") == std::int64_t{1} << 62);
  CHECK(whole("k") == -5);
  CHECK(std::get<double>(header.find("l")->data) == 2.25);
  CHECK(header.find("e")->type == "u32");
  CHECK(header.find("missing") == nullptr);
}

TEST_CASE("short numeric arrays are kept, vocabularies and long arrays are skipped over") {
  GgufBuilder file;
  file.set_array<std::string>("tokenizer.ggml.tokens", {"<s>", "</s>", "hello"});
  file.set_array<std::int32_t>("lfm2.attention.head_count_kv", {0, 0, 8});
  file.set_array<bool>("gemma3.attention.sliding_window_pattern", {true, false});
  file.set_array<float>("tokenizer.ggml.scores", std::vector<float>(5000, 1.0F));
  file.set("tokenizer.chat_template", std::string(100000, 'x'));
  file.count("after", 7);
  const GgufHeader header = read(file);
  const GgufValue& tokens = *header.find("tokenizer.ggml.tokens");
  CHECK(tokens.type == "array of string");
  CHECK(tokens.count == 3);
  CHECK(std::holds_alternative<std::monostate>(tokens.data));
  CHECK(std::get<std::vector<std::int64_t>>(header.find("lfm2.attention.head_count_kv")->data) ==
        std::vector<std::int64_t>{0, 0, 8});
  CHECK(std::get<std::vector<std::int64_t>>(
            header.find("gemma3.attention.sliding_window_pattern")->data) ==
        std::vector<std::int64_t>{1, 0});
  CHECK(header.find("tokenizer.ggml.scores")->count == 5000);
  CHECK(std::holds_alternative<std::monostate>(header.find("tokenizer.ggml.scores")->data));
  CHECK(header.find("tokenizer.chat_template")->count == 100000);
  CHECK(std::get<std::int64_t>(header.find("after")->data) == 7);
}

TEST_CASE("tensor bytes are exact for every block size") {
  // ggml-common.h: Q4_K is 144 B per 256, Q6_K 210 B per 256, Q8_0 34 B per 32, MXFP4 17 B per 32,
  // Q5_0 22 B per 32, IQ2_XXS 66 B per 256, TQ1_0 54 B per 256.
  GgufBuilder file;
  file.tensor("a", {4096, 1024}, 12, 4096 * 1024 / 256 * 144);
  file.tensor("b", {4096, 1024}, 14, 4096 * 1024 / 256 * 210);
  file.tensor("c", {64, 3}, 8, 64 * 3 / 32 * 34);
  file.tensor("d", {2880, 2880, 32}, 39, 2880ULL * 2880 * 32 / 32 * 17);
  file.tensor("e", {32}, 6, 22);
  file.tensor("f", {256, 2}, 16, 132);
  file.tensor("g", {256}, 34, 54);
  file.tensor("h", {3, 5}, 0, 60);
  file.tensor("i", {3, 5}, 30, 30);
  file.tensor("j", {}, 0, 4);
  const GgufHeader header = read(file);
  std::vector<std::int64_t> bytes;
  for (const GgufTensor& tensor : header.tensors) bytes.push_back(tensor.bytes);
  CHECK(bytes ==
        std::vector<std::int64_t>{2359296, 3440640, 204, 141004800, 22, 132, 54, 60, 30, 4});
  CHECK(header.tensors[3].elements == 265420800);
  CHECK(header.tensors[3].dims == std::vector<std::int64_t>{2880, 2880, 32});
  CHECK(header.tensors[0].format.name() == "q4_K");
  CHECK(header.data_start == file.header().size());
}

TEST_CASE("version 2 reads as version 3") {
  GgufBuilder file(2);
  file.set("general.architecture", "llama").tensor("a", {8}, 0, 32);
  CHECK(read(file).version == 2);
}

TEST_CASE("other file kinds are refused by name") {
  CHECK_THROWS_AS(read(preamble(0, 0, 1), 24), UnsupportedError);
  CHECK(error_of(preamble(0, 0, 1)) ==
        "x.gguf: version: GGUF version 1; versions 2 and 3 are read");
  CHECK(error_of(preamble(0, 0, 0x03000000)) ==
        "x.gguf: version: a big-endian GGUF file; only little-endian ones are read");
  CHECK(error_of(preamble(0, 0, 9)) == "x.gguf: byte 4: version: expected 2 or 3, got 9");
  CHECK(error_of("tjgg\x01").find("a GGML file from before GGUF") != std::string::npos);
  CHECK(error_of("version https://git-lfs.github.com/spec/v1\n").find("Git LFS pointer") !=
        std::string::npos);
  CHECK(error_of("PK\x03\x04....").find("byte 0: magic: expected \"GGUF\", got \"PK\\x03\\x04\"") !=
        std::string::npos);
}

TEST_CASE("hostile counts are refused before anything is allocated") {
  CHECK(error_of(preamble(std::uint64_t{1} << 63, 0)) ==
        "x.gguf: byte 8: tensor_count: expected at most 262144, got 9223372036854775808");
  CHECK(error_of(preamble(0, std::uint64_t{1} << 63)).find("byte 16: metadata_kv_count") !=
        std::string::npos);
  // 24 bytes are a whole empty header; a tensor entry takes at least 24 more.
  CHECK(error_of(preamble(3, 0)) ==
        "x.gguf: byte 8: tensor_count: expected at most 0 in the 8 bytes that are left, got 3");
  GgufBuilder long_key;
  std::string length;
  GgufBuilder::put(length, std::uint32_t{8});
  GgufBuilder::put(length, std::uint64_t{2} << 30);
  CHECK(error_of(long_key.set_raw("text", length)).find("text: expected 2147483648 more bytes") !=
        std::string::npos);
  for (const std::uint64_t count :
       {std::uint64_t{1} << 62, std::numeric_limits<std::uint64_t>::max()}) {
    GgufBuilder long_array;
    std::string array;
    GgufBuilder::put(array, std::uint32_t{9});
    GgufBuilder::put(array, std::uint32_t{12});
    GgufBuilder::put(array, count);
    CHECK_FALSE(error_of(long_array.set_raw("a", array)).empty());
  }
}

TEST_CASE("arrays in arrays, unknown types and duplicates are refused with their place") {
  std::string nested;
  GgufBuilder::put(nested, std::uint32_t{9});
  GgufBuilder::put(nested, std::uint32_t{9});
  GgufBuilder::put(nested, std::uint64_t{1});
  // 24 bytes of preamble, 8 + 1 of the key, 4 of the type.
  CHECK(error_of(GgufBuilder().set_raw("a", nested)) ==
        "x.gguf: byte 37: a: expected no array inside an array, got one");
  CHECK(error_of(GgufBuilder().set_raw("a", std::string("\x63\0\0\0", 4))) ==
        "x.gguf: byte 33: a: expected a value type from 0 to 12, got 99");
  CHECK(error_of(GgufBuilder().count("a", 1).count("a", 2)) ==
        "x.gguf: byte 41: a: expected each key once, got it twice");
  CHECK(error_of(GgufBuilder().tensor("t", {8}, 0, 32).tensor("t", {8}, 0, 32))
            .find("t: expected each tensor once") != std::string::npos);
}

TEST_CASE("tensors that cannot be are refused with their name") {
  const auto error = [](std::initializer_list<std::int64_t> dims, std::uint32_t type) {
    return error_of(GgufBuilder().tensor("blk.0.attn_q.weight", dims, type, 0));
  };
  CHECK(error({1, 1, 1, 1, 1}, 0).find("expected at most 4 dimensions, got 5") !=
        std::string::npos);
  CHECK(error({0, 4}, 0).find("expected dimensions from 1 on, got 0") != std::string::npos);
  CHECK(error({-1, 4}, 0).find("expected dimensions from 1 on, got -1") != std::string::npos);
  CHECK(error({std::int64_t{1} << 40, std::int64_t{1} << 40}, 0).find("2^56 elements") !=
        std::string::npos);
  CHECK(error({100, 4}, 12).find("expected rows of whole q4_K blocks of 256, got rows of 100") !=
        std::string::npos);
  CHECK(error({32}, 31).find("tensor type 31 (Q4_0_4_4), which ggml has removed") !=
        std::string::npos);
  CHECK(error({32}, 4242).find("expected a known tensor type, got 4242") != std::string::npos);
  CHECK(error({32}, 0).starts_with(
      "x.gguf: byte 96: blk.0.attn_q.weight: expected data up to byte 224, got a file of 96"));
}

TEST_CASE("offsets are aligned and do not overlap") {
  GgufBuilder overlapping;
  overlapping.tensor_at("a", {16}, 0, 0, 64).tensor_at("b", {16}, 0, 32, 64);
  CHECK(
      error_of(overlapping).find("b: expected an offset from 64 on and a multiple of 32, got 32") !=
      std::string::npos);
  GgufBuilder misaligned;
  misaligned.tensor_at("a", {1}, 0, 0, 4).tensor_at("b", {1}, 0, 36, 4);
  CHECK(error_of(misaligned).find("a multiple of 32, got 36") != std::string::npos);
  GgufBuilder far;
  far.tensor_at("a", {1}, 0, std::uint64_t{1} << 63, 4);
  CHECK(error_of(far.header()).find("(truncated?)") != std::string::npos);
  GgufBuilder zero;
  zero.count("general.alignment", 0);
  CHECK(error_of(zero).find("general.alignment: expected a power of two") != std::string::npos);
}

TEST_CASE("a file cut anywhere gives one error, never a header") {
  GgufBuilder file;
  file.set("general.architecture", "llama").set_array<std::string>("tokens", {"a", "bc"});
  file.set_array<std::int32_t>("kv", {1, 2, 3}).tensor("blk.0.attn_q.weight", {32, 2}, 8, 68);
  const std::string whole = file.header() + std::string(68, 'w');
  REQUIRE(error_of(whole).empty());
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const std::string error = error_of(whole.substr(0, size), size == 0 ? 0 : size);
    CAPTURE(size);
    CHECK_FALSE(error.empty());
    CHECK(error.find('\n') == std::string::npos);
  }
}
