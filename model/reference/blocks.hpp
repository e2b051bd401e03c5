#pragma once

#include <string_view>
#include <variant>

#include "model/architecture/architecture_spec.hpp"
#include "model/reference/dense_ffn_block.hpp"
#include "model/reference/gated_delta_block.hpp"
#include "model/reference/gqa_block.hpp"
#include "model/reference/kda_block.hpp"
#include "model/reference/lightning_block.hpp"
#include "model/reference/mamba1_block.hpp"
#include "model/reference/mamba2_block.hpp"
#include "model/reference/mla_block.hpp"
#include "model/reference/mla_expanded_block.hpp"
#include "model/reference/moe_block.hpp"
#include "model/reference/no_block.hpp"
#include "model/reference/short_conv_block.hpp"

namespace roofcast {

/// The kinds that the engine runs. A new kind is one file with a block, and one word here.
using MixerBlock =
    std::variant<GqaBlock, MlaBlock, MlaExpandedBlock, GatedDeltaBlock, KdaBlock, LightningBlock,
                 Mamba1Block, Mamba2Block, ShortConvBlock, NoMixerBlock>;
using FfnBlock = std::variant<DenseFfnBlock, MoeBlock, NoFfnBlock>;

/// Builds the block of a layer. Throws UnsupportedError naming the kind when there is no block.
MixerBlock make_mixer_block(const NamedMixer& mixer, const LayerSetup& setup);
FfnBlock make_ffn_block(const NamedFfn& ffn, const LayerSetup& setup);

/// Throws UnsupportedError, naming the feature, for what the engine does not run apart from blocks:
/// unknown formats, layer norm, learned positions, and the like.
void check_engine_supports(const ArchitectureSpec& spec);

}  // namespace roofcast
