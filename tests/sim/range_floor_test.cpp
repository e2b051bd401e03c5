// The low end of a range is a bound that no kernel passes: the ideal engine's answer.

#include <doctest/doctest.h>

#include <string>

#include "hardware/src/data_files.hpp"
#include "hardware/src/machine.hpp"
#include "model/architecture/architecture_yaml.hpp"
#include "model/architecture/catalogue.hpp"
#include "model/base/error.hpp"
#include "sim/make_cost_model.hpp"
#include "sim/step_estimate.hpp"

using namespace roofcast;

namespace {

/// Steps whose bytes are many times any cache, so that none of them comes from one.
void check_floor(const ArchitectureSpec& spec, const Machine& machine, const Workload& load) {
  const EngineProfile reference = read_engine(find_engine("reference"));
  const EngineProfile ideal = read_engine(find_engine("ideal"));
  OperatorList scratch;
  const auto step = [&](const EngineProfile& engine) {
    return estimate_decode(spec, load, make_cost_model(machine, engine, load.tp), scratch).step;
  };
  constexpr double kRounding = 1.0 + 1e-4;  // of what the cache's blended edge still counts as hits
  const double low_s = step(reference).low_s;
  const double least_s = step(ideal).seconds;
  CHECK(low_s * kRounding >= least_s);
}

}  // namespace

TEST_CASE("on every shipped machine the low end of the range stays above the ideal engine") {
  for (const char* const model : {"llama-3.1-405b", "nemotron-h-56b"}) {
    const ArchitectureSpec spec = read_architecture(find_architecture(model));
    for (const std::string& name : list_machines()) {
      const Machine machine = load_hardware("nominal/" + name);
      for (const int tp : {1, 8}) {
        for (const std::int64_t batch : {1, 64, 512}) {
          CAPTURE(std::string(model) + " on " + name);
          CAPTURE(tp);
          CAPTURE(batch);
          try {
            check_floor(spec, machine, {.batch = batch, .context = 4096, .tp = tp});
          } catch (const UnsupportedError&) {
            CHECK(tp == 8);  // no link joins eight of this machine
          }
        }
      }
    }
  }
}
