#include "sim/report/prediction_report.hpp"

#include <fmt/format.h>

#include "model/base/prefix.hpp"
#include "sim/make_cost_model.hpp"

namespace roofcast {
namespace {

constexpr Audience kScripts = Audience::scripts;

Section decode_section(const Prediction& p) {
  const StepEstimate& step = p.decode.step;
  const double batch = static_cast<double>(p.load.batch);
  const double achieved = step.work.bytes.memory().value / step.seconds;
  const double peak = p.machine.spec.memory.front().bandwidth.value.value;
  Section s{.title = "Decode"};
  s.metrics = {
      {"decode/tpot_s", "TPOT", ValueKind::duration, step.seconds, "",
       std::pair(step.low_s, step.high_s)},
      {"decode/tokens_per_second_per_user", "per user", ValueKind::token_rate,
       p.decode.tokens_per_second_per_user, "", std::pair(1.0 / step.high_s, 1.0 / step.low_s)},
      {"decode/tokens_per_second", "in total", ValueKind::token_rate, p.decode.tokens_per_second,
       "", std::pair(batch / step.high_s, batch / step.low_s)},
      {"decode/range", "80 % range", ValueKind::text, range_reason(p.cost_model, p.unmeasured)},
      {"decode/bound", "bound by", ValueKind::text,
       std::string(kTimeShareNames[static_cast<std::size_t>(step.bound())])},
      {"decode/achieved_bandwidth", "memory traffic", ValueKind::byte_rate, achieved,
       fmt::format("{:.1f} % of the peak {}", achieved / peak * 100.0, format_si(peak, "B/s"))},
  };
  return s;
}

Section work_section(const StepEstimate& step, int tp) {
  const Traffic& b = step.work.bytes;
  const auto metric = [](const char* key, const char* name, Bytes bytes) {
    return Metric{.tag = fmt::format("decode/bytes/{}", key),
                  .name = name,
                  .kind = ValueKind::bytes,
                  .value = bytes.value,
                  .audience = bytes.value > 0.0 ? Audience::everyone : kScripts};
  };
  return {.title = tp > 1 ? "Work per step and rank" : "Work per step",
          .metrics = {metric("weights", "weights", b.weights),
                      metric("kv_read", "KV read", b.kv_read),
                      metric("kv_write", "KV write", b.kv_write),
                      metric("state", "state", b.state),
                      metric("activations", "activations", b.activations),
                      metric("collective", "collective", b.collective),
                      {"decode/flops", "arithmetic", ValueKind::flops, step.work.flops.value}}};
}

Section memory_section(const MemoryNeed& memory, int tp) {
  const double free = memory.capacity - memory.total();
  const auto metric = [](const char* key, const char* name, double bytes, std::string why = "") {
    return Metric{.tag = fmt::format("memory/{}", key),
                  .name = name,
                  .kind = ValueKind::bytes,
                  .value = bytes,
                  .description = std::move(why)};
  };
  Section s{.title = tp > 1 ? "Memory per rank" : "Memory",
            .metrics = {metric("weights", "weights", memory.weights),
                        metric("kv", "KV cache", memory.kv),
                        metric("state", "state", memory.state),
                        metric("capacity", "capacity", memory.capacity),
                        metric("free", free < 0.0 ? "short of" : "left", free,
                               "activations and the engine's own needs come on top"),
                        {"memory/fits", "fits", ValueKind::text, memory.fits()}}};
  if (memory.state == 0.0) s.metrics[2].audience = kScripts;
  s.metrics[4].audience = s.metrics[5].audience = kScripts;
  Metric margin = s.metrics[4];
  margin.value = std::abs(free);
  margin.tag = "memory/margin";
  margin.audience = Audience::people;
  s.metrics.push_back(margin);
  return s;
}

Section prefill_section(const PrefillEstimate& prefill, std::int64_t context) {
  return {.title = "Prefill",
          .metrics = {{"prefill/ttft_s", "TTFT", ValueKind::duration, prefill.ttft_s,
                       fmt::format("one prompt of {} tokens on an idle machine", context),
                       std::pair(prefill.ttft_low_s, prefill.ttft_high_s)},
                      {"prefill/passes", "passes", ValueKind::count,
                       static_cast<double>(prefill.passes), "", std::nullopt, kScripts}}};
}

std::string with_exceptions(const ArchitectureSpec& spec, Component main,
                            std::initializer_list<Component> others) {
  const Formats& formats = spec.formats;
  const auto name = [&](Component c) {
    const Storage& storage = formats[c];
    return storage == storage_of(storage.format)
               ? std::string(storage.format.name())
               : fmt::format("{} ({:.3g} bits)", storage.format.name(), storage.bits);
  };
  std::string text = name(main);
  for (const Component c : others)
    if (formats[c] != formats[main] && stores(spec, c))
      text += fmt::format(", {} {}", kComponentNames[static_cast<std::size_t>(c)], name(c));
  return text;
}

}  // namespace

std::string weight_format_text(const ArchitectureSpec& spec) {
  return with_exceptions(spec, Component::dense_ffn,
                         {Component::attention, Component::routed_experts,
                          Component::shared_experts, Component::router, Component::lm_head});
}

std::string kv_format_text(const ArchitectureSpec& spec) {
  return with_exceptions(spec, Component::k, {Component::v, Component::indexer});
}

std::vector<std::string> workload_warnings(const ArchitectureSpec& spec, const Machine& machine,
                                           const Workload& load, const MemoryNeed& memory) {
  std::vector<std::string> warnings;
  const Link* const node = find_link(machine.spec, LinkScope::node);
  if (node != nullptr && node->max_devices && load.tp > *node->max_devices)
    warnings.push_back(
        fmt::format("{} ranks are more than the {} devices that {} joins: all-reduces are costed "
                    "over the host link, without a network",
                    load.tp, *node->max_devices, node->name));
  const std::int64_t tokens = load.context + load.output_tokens - 1;
  if (spec.max_context > 0 && tokens > spec.max_context)
    warnings.push_back(
        fmt::format("{} tokens of context and output are above the {} that {} allows", tokens,
                    spec.max_context, spec.name));
  if (!memory.fits())
    warnings.push_back(fmt::format(
        "does not fit: weights and cache take {} of {} per device; the prediction assumes that "
        "they did",
        format_si(memory.total(), "B"), format_si(memory.capacity, "B")));
  if (memory.tight())
    warnings.push_back(fmt::format(
        "tight: weights and cache take {} of {} per device, and less than a tenth is left for "
        "activations and the engine",
        format_si(memory.total(), "B"), format_si(memory.capacity, "B")));
  return warnings;
}

Section subject_section(const ArchitectureSpec& spec, const std::string& hardware,
                        const EngineProfile& engine, const Workload& load) {
  const auto number = [](const char* key, const char* name, std::int64_t value) {
    return Metric{.tag = fmt::format("workload/{}", key),
                  .name = name,
                  .kind = ValueKind::count,
                  .value = static_cast<double>(value)};
  };
  const auto text = [](const char* tag, const char* name, std::string value) {
    return Metric{.tag = tag, .name = name, .value = std::move(value)};
  };
  Section s{.metrics = {text("model", "model", spec.name), text("hardware", "hardware", hardware),
                        text("engine", "engine", engine.name), number("batch", "batch", load.batch),
                        number("context", "context", load.context),
                        number("output_tokens", "output tokens", load.output_tokens),
                        number("tp", "ranks", load.tp),
                        text("workload/weight_format", "weights", weight_format_text(spec)),
                        text("workload/kv_format", "KV cache", kv_format_text(spec))}};
  if (load.output_tokens == 1) s.metrics[5].audience = kScripts;
  if (load.tp == 1) s.metrics[6].audience = kScripts;
  return s;
}

Section share_section(const StepEstimate& step) {
  Section s{.title = "Where the time goes", .layout = Layout::bars};
  for (std::size_t i = 0; i < step.shares.size(); ++i) {
    const double share = step.seconds > 0.0 ? step.shares[i] / step.seconds : 0.0;
    s.metrics.push_back({.tag = fmt::format("decode/shares/{}", kTimeShareNames[i]),
                         .name = std::string(kTimeShareNames[i]),
                         .kind = ValueKind::ratio,
                         .value = share,
                         .audience = share >= 0.0005 ? Audience::everyone : kScripts});
  }
  return s;
}

Table provenance_table(const std::vector<ProvenanceRow>& rows) {
  Table table{.tag = "provenance",
              .title = "Sources",
              .columns = {{"input", "input"}, {"value", "value"}, {"source", "source"}}};
  for (const ProvenanceRow& row : rows) table.rows.push_back({row.input, row.value, row.source});
  return table;
}

Table warning_table(const std::vector<std::string>& warnings) {
  Table table{.tag = "warnings", .columns = {{"text", "warning"}}, .audience = kScripts};
  for (const std::string& warning : warnings) table.rows.push_back({warning});
  return table;
}

Report prediction_report(const Prediction& p) {
  Table sources = provenance_table(p.provenance);
  sources.audience = kScripts;
  Report report;
  report.blocks = {subject_section(p.spec, p.hardware, p.engine, p.load),
                   decode_section(p),
                   share_section(p.decode.step),
                   work_section(p.decode.step, p.load.tp),
                   prefill_section(p.prefill, p.load.context),
                   memory_section(p.memory, p.load.tp),
                   std::move(sources),
                   Note{"`roofcast explain` shows the arithmetic and the source of every value."},
                   warning_table(p.warnings)};
  return report;
}

}  // namespace roofcast
