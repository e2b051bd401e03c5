// Bytes of weights in memory and bytes read per token, as people got them wrong in public threads,
// and sizes of published checkpoints.
#include <doctest/doctest.h>

#include "tests/model/shipped_model.hpp"
#include "tests/relative.hpp"

using namespace roofcast;
using namespace roofcast::test;

TEST_CASE("a decode step leaves the input table, the vision tower and the draft head unread") {
  // https://github.com/ashalliants/ninfer-3090/pull/36: of a 27B model, 2.47 GB never move.
  const ArchitectureSpec spec = shipped("qwen3.5-27b");
  const ParameterCount count = count_parameters(spec);
  const WeightBytes bytes = weight_bytes(spec);
  const double one_row = 2.0 * 5120;
  const double unread = 2 * (count.mtp + count.resident + count.embedding) - one_row;
  CHECK(bytes.resident.value - bytes.read_per_step_batch1.value == relative(unread));
  CHECK(count.resident > 0.0);
  CHECK(count.mtp > 0.0);
  CHECK(bytes.read_per_step_batch1.value < 0.93 * bytes.resident.value);
}

TEST_CASE("4-bit weights read a third more than active parameters times four bits") {
  // https://github.com/Pushkinist/rMLX/issues/403 left out scales and what stays at 16 bits.
  // Qwen3-30B-A3B, one token, 48 layers: attention 2048 x 128 x (2 x 32 + 2 x 4), experts
  // 8 x 3 x 2048 x 768, at 4.125 bits; router 128 x 2048, norms 2 x 2048 + 2 x 128, the last norm,
  // the lm_head and one row of the input table at 16 bits.
  ArchitectureSpec spec = shipped("qwen3-30b-a3b");
  for (const Component c : {Component::attention, Component::routed_experts})
    spec.formats[c] = storage_of(*find_format("int4_g128"));
  const double quantised = 48.0 * (2048.0 * 128 * 72 + 8.0 * 3 * 2048 * 768);
  const double kept = 48.0 * (128.0 * 2048 + 2 * 2048 + 2 * 128) + 2048 + 151936.0 * 2048 + 2048;
  const double bytes = quantised * 4.125 / 8 + kept * 2;
  CHECK(weight_bytes(spec).read_per_step_batch1.value == relative(bytes).epsilon(1e-9));
  const double nominal = count_parameters(spec).active * 4 / 8;
  CHECK(bytes / nominal == relative(1.34).epsilon(0.01));
}

TEST_CASE("Gemma 4 E2B reads 4.6 GB a token of its 10.25: per-layer embeddings are looked up") {
  // https://github.com/0xBakeer/inference-atlas/pull/24: 10.25 GB in the checkpoint, 4.62 of them
  // read. The difference: a table of 262144 x 35 x 256, vision and audio towers.
  const ArchitectureSpec spec = shipped("gemma-4-e2b");
  const WeightBytes bytes = weight_bytes(spec);
  CHECK(bytes.resident.value == relative(10.25e9).epsilon(0.001));
  CHECK(bytes.read_per_step_batch1.value == relative(4.62e9).epsilon(0.02));
  const double table = 2.0 * 262144 * 35 * 256;
  CHECK(bytes.resident.value - bytes.read_per_step_batch1.value > table);
  CHECK(bytes.resident.value > 2.0 * bytes.read_per_step_batch1.value);
}

TEST_CASE("DeepSeek-V3's checkpoint has 688.6 GB: fp8 with block scales, the rest 16 bits") {
  // 688,586,727,753 B in the safetensors files of https://huggingface.co/deepseek-ai/DeepSeek-V3.
  // They hold the MTP block with copies of input table and head, which share the main ones' place.
  const double copies = 2.0 * 129280 * 7168 * 2;
  const double bytes = weight_bytes(shipped("deepseek-v3")).resident.value + copies;
  CHECK(bytes == relative(688586727753.0).epsilon(1e-4));
  CHECK(671e9 * 1.0 < 0.98 * bytes);  // a byte per published parameter
}

TEST_CASE("gpt-oss checkpoints have 12.8 and 60.8 GiB: experts at 4.25 bits, the rest at 16") {
  // gpt-oss model card, table 1: https://arxiv.org/abs/2508.10925
  const auto gib = [](const char* model) {
    return weight_bytes(shipped(model)).resident.value / kGiB;
  };
  CHECK(gib("gpt-oss-20b") == relative(12.8).epsilon(0.004));
  CHECK(gib("gpt-oss-120b") == relative(60.8).epsilon(0.004));
  CHECK(116.83e9 * 4 / 8 / kGiB < 0.9 * gib("gpt-oss-120b"));  // four bits a parameter
}
