#pragma once

#include <string>
#include <vector>

#include "hardware/src/machine.hpp"
#include "model/architecture/architecture_spec.hpp"
#include "sim/cli/options.hpp"
#include "sim/cli/overrides.hpp"
#include "sim/cost_model.hpp"
#include "sim/engine_profile.hpp"
#include "sim/provenance.hpp"
#include "sim/workload.hpp"

namespace roofcast {

/// A model as named on the command line: catalogue name or path.
struct ModelInput {
  ArchitectureSpec spec;
  std::vector<ProvenanceRow> provenance;
  std::vector<std::string> warnings;
};

struct HardwareInput {
  std::string name;
  Machine machine;
  std::vector<ProvenanceRow> provenance;
};

struct EngineInput {
  EngineProfile profile;
  std::vector<ProvenanceRow> provenance;
};

/// Formats that replace those of the spec; empty texts change nothing.
struct FormatChoice {
  std::string weights;  // of attention, feed-forward and expert matrices
  std::string kv;       // of K and V, or "K/V" for one each
};

/// Reads a catalogue entry, a YAML file, or what `import_model_path` reads.
ModelInput load_model(const std::string& name_or_path, const std::vector<Override>& overrides);
HardwareInput load_hardware_input(const std::string& name_or_path,
                                  const std::vector<Override>& overrides);
EngineInput load_engine(const std::string& name_or_path, const std::vector<Override>& overrides);

/// A copy of the imported `spec` with the overrides of "model": they go through its YAML form, so
/// that --set takes the same keys for every kind of model file. `applied` receives what was set.
ArchitectureSpec overridden(const ArchitectureSpec& spec, const std::string& path,
                            const std::vector<Override>& overrides,
                            std::vector<Override>* applied = nullptr);

/// Throws UsageError for an unknown format.
void apply_formats(const FormatChoice& choice, ArchitectureSpec& spec);

/// Options that name model, machine, engine and workload, shared by predict and explain.
std::vector<OptionRow> input_options();
/// --format and --output.
std::vector<OptionRow> output_options();
/// --set.
OptionRow set_option(std::string help);

/// Everything that a prediction needs.
struct PredictionInputs {
  ModelInput model;
  HardwareInput hardware;
  EngineInput engine;
  Workload load;
  CostModel cost_model;
  std::vector<ProvenanceRow> provenance() const;
};

/// Reads the options of `input_options`. Throws UsageError for a workload that the inputs cannot
/// run, such as more ranks than the machine's link joins.
PredictionInputs read_prediction_inputs(const Options& options);

/// Largest values that make sense; larger ones are typing errors.
inline constexpr std::int64_t kLargestBatch = 1'000'000;
inline constexpr std::int64_t kLargestContext = 1'000'000'000;
inline constexpr std::int64_t kLargestTp = 4096;

}  // namespace roofcast
