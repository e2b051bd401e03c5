#include "model/architecture/gguf_blocks.hpp"

namespace roofcast {

Mixer gguf_state_mixer(const GgufContext& c, int layer) {
  if (c.tensors.any(layer, "shortconv.")) refuse_block(c, layer, "short convolution");
  if (c.tensors.any(layer, "time_mix_")) refuse_block(c, layer, "RWKV state");
  refuse_block(c, layer, "recurrent state");
}

}  // namespace roofcast
