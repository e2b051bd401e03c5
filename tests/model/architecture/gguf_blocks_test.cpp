#include "model/architecture/gguf_blocks.hpp"

#include <doctest/doctest.h>

#include "model/architecture/gguf_import.hpp"
#include "model/base/error.hpp"
#include "tests/model/architecture/gguf_models.hpp"

using namespace roofcast;
using test::GgufModelBuilder;

namespace {

/// `blocks` blocks of tensors of a small Llama whose metadata speak of `block_count`.
GgufModelBuilder llama(std::uint32_t block_count, const std::vector<int>& blocks) {
  GgufModelBuilder m("llama");
  m.count("block_count", block_count).count("embedding_length", 256).count("context_length", 4096);
  m.outside(256, 1000, true);
  for (const int i : blocks) m.norms(i, 256).attention(i, 256, 4, 4, 64).gated_ffn(i, 256, 512);
  return m;
}

std::string error_of(GgufModelBuilder m, bool heads = true) {
  if (heads) m.count("attention.head_count", 4);
  try {
    import_gguf(m.read());
  } catch (const SpecError& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("block_count has to be the number of blocks among the tensors") {
  CHECK(error_of(llama(2, {0, 1})) == "no error");
  CHECK(error_of(llama(1, {0, 1}))
            .ends_with("llama.block_count: expected 2, as many blocks as have tensors (the last is "
                       "blk.1), got 1"));
  CHECK(error_of(llama(7, {0, 1}))
            .ends_with("llama.block_count: expected 2, as many blocks as have tensors (none in "
                       "blk.2), got 7"));
  CHECK(error_of(llama(3, {0, 2}))
            .find("expected 2, as many blocks as have tensors (none in blk.1)") !=
        std::string::npos);
}

TEST_CASE("blocks of multi-token prediction count, and may have been left out") {
  for (const std::vector<int>& blocks : {std::vector<int>{0, 1}, std::vector<int>{0, 1, 2}}) {
    GgufModelBuilder m = llama(3, blocks);
    m.count("nextn_predict_layers", 1);
    CHECK(error_of(m) == "no error");
  }
  GgufModelBuilder m = llama(3, {0});
  m.count("nextn_predict_layers", 1);
  CHECK(error_of(m).find("none in blk.1") != std::string::npos);
}

TEST_CASE("a block without tensors is fine where the file says that it does nothing") {
  // Nemotron Ultra: per-layer lists with 0 heads and a feed-forward width of 0.
  GgufModelBuilder m = llama(3, {0, 2});
  m.list("attention.head_count", std::vector<std::int32_t>{4, 0, 4});
  m.list("feed_forward_length", std::vector<std::int32_t>{512, 0, 512});
  CHECK(error_of(m, false) == "no error");
}
