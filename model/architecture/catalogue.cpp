#include "model/architecture/catalogue.hpp"

#include "model/architecture/embedded_architectures.hpp"
#include "model/base/catalogue_files.hpp"

namespace roofcast {

std::vector<std::string> architecture_names() {
  return catalogue_names(embedded_architectures(), "architectures");
}

Document find_architecture(const std::string& name) {
  return find_catalogue_file(embedded_architectures(), "architectures", "model", name);
}

}  // namespace roofcast
