#include "model/base/error.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace roofcast;

TEST_CASE("a message starts with the place, as editors understand it") {
  CHECK(place_message("a.yaml", {7, 14}, "memory.0.bandwidth", "expected x") ==
        "a.yaml:7:14: memory.0.bandwidth: expected x");
  CHECK(place_message("a.yaml", {}, "", "no such file") == "a.yaml: no such file");
  CHECK(place_message("a.yaml", {1, 1}, "", "expected x") == "a.yaml:1:1: expected x");
  CHECK(place_message("", {}, "", "unknown model") == "unknown model");
  CHECK(place_message("--set", {}, "a.b", "expected x") == "--set: a.b: expected x");
}

TEST_CASE("a message about hostile text stays one line of printable characters") {
  const std::string message = place_message("a\nb", {2, 3}, "k\x1b[31m", "got \"\r\n\"");
  CHECK(message == "a\\x0ab:2:3: k\\x1b[31m: got \"\\x0d\\x0a\"");
  CHECK(in_quotes("tab\there") == "\"tab\\x09here\"");
  CHECK(in_quotes(std::string("nul\0x", 5)) == "\"nul\\x00x\"");
}

TEST_CASE("long text is shown by its beginning") {
  CHECK(in_quotes(std::string(60, 'a')) == "\"" + std::string(60, 'a') + "\"");
  // A character of two bytes at 59 and 60 is left out whole.
  CHECK(in_quotes(std::string(59, 'a') + "\xC3\xA9z") == "\"" + std::string(59, 'a') + "...\"");
  CHECK(in_quotes(std::string(61, 'a')) == "\"" + std::string(60, 'a') + "...\"");
}

TEST_CASE("the nearest name is found by edit distance, whatever the case") {
  const std::vector<std::string> names = {"h100-sxm", "h100-pcie", "h200", "mi300x", "rtx-4090"};
  CHECK(nearest_name("h100-sxn", names) == "h100-sxm");
  CHECK(nearest_name("H200", names) == "h200");
  CHECK(nearest_name("rtx4090", names) == "rtx-4090");
  CHECK(nearest_name("mi30x", names) == "mi300x");
}

TEST_CASE("a name that begins like a candidate is taken for it") {
  CHECK(nearest_name("qwen3-coder", {"qwen3-8b", "qwen3-coder-480b-a35b"}) ==
        "qwen3-coder-480b-a35b");
  CHECK(nearest_name("h100", {"a100-sxm-40gb", "h100-pcie", "h200"}) == "h100-pcie");
  CHECK(nearest_name("h200-141gb-sxm", {"b200", "h200"}) == "h200");
}

TEST_CASE("a name that begins a few candidates is answered with all of them") {
  const std::vector<std::string> names = {"h100-nvl", "h100-pcie", "h100-sxm", "h200"};
  CHECK(did_you_mean("h100", names) ==
        ", did you mean \"h100-nvl\", \"h100-pcie\" or \"h100-sxm\"?");
  CHECK(did_you_mean("h100-s", names) == ", did you mean \"h100-sxm\"?");
  CHECK(did_you_mean("h10", {"h10-a", "h10-b"}) == ", did you mean \"h10-a\" or \"h10-b\"?");
  // Six say too little.
  CHECK(did_you_mean("qwen", {"qwen1", "qwen2", "qwen3", "qwen4", "qwen5", "qwen6"}) ==
        ", did you mean \"qwen1\"?");
}

TEST_CASE("a name whose family is known is answered with the family, not with a shorter name") {
  const std::vector<std::string> a100 = {"a10", "a100-pcie-40gb", "a100-pcie-80gb", "a100-sxm-40gb",
                                         "a100-sxm-80gb"};
  CHECK(did_you_mean("a100-80gb", a100) ==
        ", did you mean \"a100-pcie-40gb\", \"a100-pcie-80gb\", \"a100-sxm-40gb\" or "
        "\"a100-sxm-80gb\"?");
  CHECK(did_you_mean("tpu-x9000", {"t4", "tpu-v4", "tpu-v5e"}) ==
        ", did you mean \"tpu-v4\" or \"tpu-v5e\"?");
  // A slip in one letter is still a slip, two letters are no family, six members say too little.
  CHECK(did_you_mean("rtx-4091", {"rtx-4080", "rtx-4090"}) == ", did you mean \"rtx-4090\"?");
  CHECK(did_you_mean("h200-141gb", {"h200", "h200-nvl"}) == ", did you mean \"h200\"?");
  CHECK(did_you_mean("l4-longname", {"l4x-1", "l4y-1"}).empty());
  CHECK(
      did_you_mean("gpt-zzzzzzzz", {"gpt-1", "gpt-2", "gpt-3", "gpt-4", "gpt-5", "gpt-6"}).empty());
}

TEST_CASE("nothing near, nothing said") {
  CHECK(nearest_name("zzzzzz", {"h100-sxm", "h200"}).empty());
  CHECK(nearest_name("mla", {"gqa", "kda"}).empty());
  CHECK(nearest_name("", {"a", "b"}).empty());
  CHECK(nearest_name("h100", {}).empty());
  CHECK(nearest_name(std::string(100000, 'h'), {"h100"}).empty());
  CHECK(did_you_mean("zzzzzz", {"h200"}).empty());
  CHECK(did_you_mean("h20", {"h200"}) == ", did you mean \"h200\"?");
}

TEST_CASE("an unsupported input is an error of the user's file, an unreadable file is not") {
  CHECK_THROWS_AS(throw UnsupportedError("x"), SpecError);
  CHECK_FALSE(std::is_base_of_v<SpecError, IoError>);
}

TEST_CASE("a slip is one edit, or two in a longer name") {
  CHECK(is_slip("num_key_value_head", "num_key_value_heads"));
  CHECK(is_slip("Num_Layers", "num_layers"));
  CHECK(is_slip("num_layres", "num_layers"));
  CHECK(is_slip("layer", "layers"));
  CHECK_FALSE(is_slip("laier", "layers"));
  CHECK_FALSE(is_slip("num_heads", "num_kv_heads"));
  CHECK_FALSE(is_slip("", "a"));
}

TEST_CASE("a list of names is cut after a dozen, and each name after 60 characters") {
  CHECK(list_of({}).empty());
  CHECK(list_of({"a", "b"}) == "a, b");
  std::vector<std::string> names(12, "n");
  CHECK(list_of(names) == "n, n, n, n, n, n, n, n, n, n, n, n");
  names.resize(30000, "m");
  CHECK(list_of(names) == "n, n, n, n, n, n, n, n, n, n, n, n, ... (30000 in all)");
  CHECK(list_of({std::string(1000, 'x')}) == std::string(60, 'x'));
}
