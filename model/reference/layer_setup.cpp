#include "model/reference/layer_setup.hpp"

#include "model/base/error.hpp"

namespace roofcast {

WeightFormat weight_format_of(const Formats& formats, Component component) {
  const Storage& storage = formats[component];
  const auto format = find_weight_format(storage.format.name());
  const std::string part(kComponentNames[static_cast<std::size_t>(component)]);
  if (!format)
    throw UnsupportedError("the reference engine has no kernel for " + part + " in " +
                           std::string(storage.format.name()) + " (" + weight_format_names() +
                           " only)");
  if (storage != storage_of(storage.format))
    throw UnsupportedError("the reference engine has no kernel for " + part +
                           " in a mixture of formats of " + std::to_string(storage.bits) +
                           " bits on average");
  return *format;
}

PackedMatrix make_matrix(const LayerSetup& setup, Component component, std::int64_t rows,
                         std::int64_t k, std::int64_t first_thread) {
  return PackedMatrix(rows, k, weight_format_of(setup.formats, component), setup.arenas,
                      first_thread);
}

void refuse_if(bool condition, std::string_view what) {
  if (condition)
    throw UnsupportedError("the reference engine has no kernel for " + std::string(what));
}

}  // namespace roofcast
