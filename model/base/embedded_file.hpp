#pragma once

#include <string_view>

namespace roofcast {

/// A file that was compiled into the program, so that one binary works on a machine without the
/// repository. `name` is the path inside the embedded folder, such as "calibrated/h100-sxm.yaml".
struct EmbeddedFile {
  std::string_view name;
  std::string_view text;
};

}  // namespace roofcast
