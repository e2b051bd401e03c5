#include "model/architecture/safetensors_header.hpp"

#include <doctest/doctest.h>

#include <sstream>

#include "model/base/error.hpp"
#include "tests/model/architecture/safetensors_builder.hpp"

using namespace roofcast;
using test::SafetensorsBuilder;

namespace {

SafetensorsHeader read(const std::string& bytes, std::uint64_t file_bytes) {
  std::istringstream in(bytes);
  return read_safetensors_header(in, file_bytes, "x.safetensors");
}

std::string error_of(const std::string& bytes, std::uint64_t file_bytes) {
  try {
    read(bytes, file_bytes);
  } catch (const SpecError& error) {
    return error.what();
  }
  return {};
}

/// Error of a file whose header is `json` with `data_bytes` bytes of data behind it.
std::string error_of_json(const std::string& json, std::uint64_t data_bytes) {
  const std::string bytes = SafetensorsBuilder::with_length(json);
  return error_of(bytes, bytes.size() + data_bytes);
}

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("every dtype gives its exact bytes") {
  SafetensorsBuilder file;
  file.tensor("a", "BF16", {4096, 1024}, 8388608).tensor("b", "F32", {7}, 28);
  file.tensor("c", "F8_E4M3", {3, 5}, 15).tensor("d", "F8_E5M2", {2}, 2);
  file.tensor("e", "F8_E8M0", {64}, 64).tensor("f", "F4", {6}, 3).tensor("g", "U8", {9}, 9);
  file.tensor("h", "I32", {512, 14336}, 29360128).tensor("i", "I64", {}, 8);
  file.tensor("j", "BOOL", {0, 4}, 0).tensor("k", "F16", {1}, 2).tensor("l", "F6_E2M3", {8}, 6);
  const SafetensorsHeader header = read(file.header(), file.size_with_data());
  REQUIRE(header.tensors.size() == 12);
  std::int64_t bytes = 0;
  for (const SafetensorsTensor& tensor : header.tensors) bytes += tensor.bytes;
  // 8388608 + 28 + 15 + 2 + 64 + 3 + 9 + 29360128 + 8 + 0 + 2 + 6
  CHECK(bytes == 37748873);
  CHECK(header.tensors[0].elements == 4194304);
  CHECK(header.tensors[7].dtype == "I32");
  CHECK(header.tensors[7].shape == std::vector<std::int64_t>{512, 14336});
  CHECK(header.tensors[8].elements == 1);
  CHECK(header.data_start == file.header().size());
}

TEST_CASE("metadata is kept apart from tensors") {
  const std::string bytes = SafetensorsBuilder::with_length(
      R"({"__metadata__":{"format":"pt"},"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}})");
  const SafetensorsHeader header = read(bytes, bytes.size() + 2);
  REQUIRE(header.metadata.size() == 1);
  CHECK(header.metadata[0].second == "pt");
  CHECK(header.tensors.size() == 1);
}

TEST_CASE("lengths that cannot be are refused before memory is taken") {
  CHECK(contains(error_of(std::string("\xff\xff\xff\xff\xff\xff\xff\x7f", 8), 8),
                 "byte 0: header length: expected at most 100000000 bytes"));
  CHECK(contains(error_of(std::string("\x00\x00\x10\x00\x00\x00\x00\x00{", 9), 9),
                 "byte 8: header: expected 1048576 more bytes"));
  CHECK(contains(error_of("abc", 3), "header length: expected 8 more bytes"));
}

TEST_CASE("sizes, offsets and dtypes that contradict each other are refused with their place") {
  const auto error = [](const std::string& dtype, const std::string& shape,
                        const std::string& offsets, std::uint64_t data) {
    return error_of_json("{\"w\":{\"dtype\":" + dtype + ",\"shape\":" + shape +
                             ",\"data_offsets\":" + offsets + "}}",
                         data);
  };
  // The offsets' list starts at byte 5 + 15 + 14 + 15 = 49 of the JSON, behind 8 bytes of length.
  CHECK(error("\"F32\"", "[2,2]", "[0,12]", 12) ==
        "x.safetensors: byte 57: w.data_offsets: expected 16 bytes for 4 elements of F32, got 12");
  CHECK(contains(error("\"F32\"", "[2,2]", "[16,0]", 16), "got -16"));
  CHECK(contains(error("\"F32\"", "[2,2]", "[0,16]", 15), "(truncated?)"));
  CHECK(contains(error("\"F32\"", "[2,2]", "[0,16]", 20),
                 "expected the end of the file, got 4 more"));
  CHECK(contains(error("\"F32\"", "[2,2]", "[4,20]", 20),
                 "expected data from offset 0 on, got 4 (a hole)"));
  CHECK(contains(error("\"F4\"", "[3]", "[0,2]", 2),
                 "expected whole bytes, got 3 elements of 4 bits"));
  CHECK(contains(error("\"BF17\"", "[3]", "[0,6]", 6), "did you mean \"BF16\"?"));
  CHECK(contains(error("\"F32\"", "[-1]", "[0,4]", 4), "w.shape: expected a whole number"));
  CHECK(contains(error("\"F32\"", "[4294967296,4294967296]", "[0,4]", 4), "at most 2^56 elements"));
  CHECK(contains(error("\"F32\"", "\"2\"", "[0,4]", 4), "w.shape: expected a list"));
  CHECK(contains(error("\"F32\"", "[1.5]", "[0,4]", 4), "got \"1.5\""));
  CHECK(contains(error("\"F32\"", "[1]", "[0]", 4), "expected two whole numbers, got a list"));
  CHECK(contains(error("\"F32\"", "[1]", "[0,18446744073709551615]", 4),
                 "got \"1844674407370955161"));
  CHECK(contains(error_of_json(R"({"w":{"dtype":"F32","shape":[1]}})", 4),
                 "byte 13: w: expected \"data_offsets\", got none"));
}

TEST_CASE("overlapping and duplicate tensors are refused") {
  CHECK(contains(error_of_json(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},)"
                               R"("b":{"dtype":"U8","shape":[4],"data_offsets":[2,6]}})",
                               6),
                 "b: expected data from offset 4 on, got 2 (tensors overlap)"));
  CHECK(contains(error_of_json(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},)"
                               R"("a":{"dtype":"U8","shape":[4],"data_offsets":[4,8]}})",
                               8),
                 "appears twice"));
}

TEST_CASE("headers that are no JSON map are refused") {
  CHECK(contains(error_of_json("[1,2]", 0), "byte 8: expected a map, got a list"));
  CHECK_FALSE(error_of_json("{\"a\":", 0).empty());
  CHECK_FALSE(error_of_json("", 0).empty());
  CHECK(contains(error_of_json(std::string(100, '['), 0), "nested deeper than"));
  CHECK(contains(error_of_json(R"({"a":7})", 0), "a: expected a map, got \"7\""));
}

TEST_CASE("a header of millions of values is refused before it fills the memory") {
  std::string json = "[0";
  for (int i = 0; i < 2'100'000; ++i) json += ",0";
  CHECK(contains(error_of_json(json + "]", 0), "more than 2000000 values"));
}
