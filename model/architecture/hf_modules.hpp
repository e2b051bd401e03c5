#pragma once

#include <functional>
#include <string>
#include <vector>

#include "model/architecture/architecture_spec.hpp"

namespace roofcast::detail {

/// One weight matrix under the names that model classes give it, without the models' prefixes
/// ("layers.3.self_attn.q_proj"). One expert stands for all of its layer.
struct ModelMatrix {
  Component component;
  double elements;
  const std::vector<std::string>& names;
};

/// Calls `use` for every matrix of the model: layers, embedding, lm_head.
void for_each_matrix(const ArchitectureSpec& spec,
                     const std::function<void(const ModelMatrix&)>& use);

}  // namespace roofcast::detail
