#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/architecture/architecture_spec.hpp"
#include "model/architecture/import_report.hpp"
#include "model/architecture/tensor_census.hpp"

namespace roofcast {

/// The format that a file calls `name`; empty when it has none of its own (packed words).
using FindFormat = std::optional<FormatId> (*)(std::string_view name);

/// Sets the storage of each weight component of `model.spec` so that its weight bytes are those of
/// the file: the format that holds most of the component's bytes, with `bits` = 8 x the file's
/// bytes / the spec's elements. Where `find` knows no format, the spec's stays and only `bits`
/// change. Adds one field per component to the report, and a warning where the file's elements
/// differ from the spec's by more than 1 % (packed formats aside). `model.spec` must be finished.
void set_formats_from_census(ImportedModel& model, const TensorCensus& census, FindFormat find);

}  // namespace roofcast
