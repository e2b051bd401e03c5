#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "model/reference/checkpoint/mapped_tensors.hpp"
#include "model/reference/checkpoint/tensor_rules.hpp"
#include "model/reference/model_semantics.hpp"

namespace roofcast {

/// The weights of a Hugging Face model, as rows of the engine's tensors.
class HfWeights {
 public:
  /// `path` as read_safetensors_model() takes it. Every tensor that `spec` asks for has to be there
  /// in its shape, and none that it does not ask for, apart from what no decode step reads (MTP
  /// blocks, rotary tables). Throws SpecError "file: tensor: expected shape (a, b), got (c, d)",
  /// UnsupportedError for a model type without rules, and what MappedTensors throws.
  HfWeights(const std::string& path, const ArchitectureSpec& spec, std::string_view model_type);
  HfWeights(const HfWeights&) = delete;
  HfWeights& operator=(const HfWeights&) = delete;

  /// The exact values of a row, (width), in fp32. Throws std::invalid_argument for a row that the
  /// model does not have. Safe from several threads.
  void read_row(const TensorRow& row, float* out) const;

 private:
  /// One of the engine's tensors: where it is stored, one entry per expert or one in all.
  struct Place {
    TensorRule rule;
    LayerParts parts;
    std::vector<const MappedTensor*> stored;
  };

  void add(const TensorRule& rule, const LayerParts& parts, int layer);
  const MappedTensor& checked(const std::string& name, const TensorShape& shape) const;
  void refuse_left_over() const;

  std::string path_;
  ArchitectureSpec spec_;
  MappedTensors tensors_;
  std::map<std::pair<Tensor, int>, Place> places_;
};

/// Rows rounded to bf16, as the engine stores them.
WeightSource weight_source(std::shared_ptr<const HfWeights> weights);

/// A model folder as the engine runs it.
struct Checkpoint {
  ArchitectureSpec spec;
  ModelSemantics semantics;
  std::shared_ptr<const HfWeights> weights;
  std::vector<std::string> warnings;
};

/// Reads a folder with config.json and safetensors. Throws SpecError, UnsupportedError (for what
/// the engine does not compute as the model does) and IoError.
Checkpoint read_checkpoint(const std::string& folder);

}  // namespace roofcast
