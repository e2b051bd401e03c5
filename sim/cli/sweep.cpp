#include <algorithm>
#include <limits>
#include <thread>

#include "sim/cli/command.hpp"
#include "sim/cli/inputs.hpp"
#include "sim/cli/ordered_work.hpp"
#include "sim/cli/output.hpp"
#include "sim/cli/sweep_grid.hpp"
#include "sim/memory_need.hpp"
#include "sim/report/format_value.hpp"
#include "sim/report/progress.hpp"
#include "sim/report/row_writer.hpp"
#include "sim/step_estimate.hpp"

namespace roofcast {
namespace {

constexpr std::uint64_t kMaxChunk = 4096;
constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

enum class Ttft { left_out, included };

std::vector<Column> sweep_columns(Ttft ttft) {
  using K = ValueKind;
  std::vector<Column> columns = {{"model", "model"},
                                 {"hardware", "hardware"},
                                 {"engine", "engine"},
                                 {"weight_format", "weights"},
                                 {"kv_format", "KV"},
                                 {"tp", "tp", K::count},
                                 {"batch", "batch", K::count},
                                 {"context", "context", K::count},
                                 {"tpot_s", "TPOT", K::duration},
                                 {"tpot_low_s", "low", K::duration},
                                 {"tpot_high_s", "high", K::duration},
                                 {"tokens_per_second", "in total", K::token_rate},
                                 {"tokens_per_second_per_user", "per user", K::token_rate},
                                 {"memory_bytes", "memory/device", K::bytes}};
  if (ttft == Ttft::included) columns.push_back({"ttft_s", "TTFT", K::duration});
  columns.push_back({"bound", "bound"});
  columns.push_back({"status", "status"});
  return columns;
}

/// Width of the longest value of each text column, for aligned output.
std::vector<std::size_t> text_widths(const SweepGrid& grid, std::size_t columns) {
  std::vector<std::size_t> widths(columns, 0);
  const auto widen = [&](std::size_t column, std::string_view text) {
    widths[column] = std::max(widths[column], display_width(human_text(text)));
  };
  for (const SweepModel& model : grid.models) {
    widen(0, model.spec.name);
    widen(3, model.weight_format);
    widen(4, model.kv_format);
  }
  for (const SweepMachine& machine : grid.machines) {
    widen(1, machine.name);
    widen(2, machine.engine);
  }
  for (const std::string_view name : kTimeShareNames) widen(columns - 2, name);
  return widths;
}

std::string_view status_of(const SweepPoint& point, const MemoryNeed& memory) {
  if (!point.combination.problem.empty()) return point.combination.problem;
  if (!memory.fits()) return "does not fit";
  if (memory.tight()) return "tight";
  const std::int64_t max_context = point.model.spec.max_context;
  return max_context > 0 && point.load.context > max_context ? "context above the model's maximum"
                                                             : "ok";
}

/// Makes the rows of points; one per thread, as it keeps scratch memory.
class RowMaker {
 public:
  RowMaker(const SweepGrid& grid, const RowWriter& writer, Ttft ttft)
      : grid_(grid), writer_(writer), ttft_(ttft) {}

  void append(std::uint64_t index, std::string& out) {
    const SweepPoint point = point_at(grid_, index);
    const bool runs = point.combination.problem.empty();
    cells_.clear();
    for (const std::string_view text :
         {std::string_view(point.model.spec.name), std::string_view(point.machine.name),
          std::string_view(point.machine.engine), std::string_view(point.model.weight_format),
          std::string_view(point.model.kv_format)})
      cells_.push_back({0.0, text});
    for (const std::int64_t number :
         {std::int64_t{point.load.tp}, point.load.batch, point.load.context})
      add(static_cast<double>(number));
    const MemoryNeed memory = memory_need(point.model.spec, point.combination.resident_bytes,
                                          point.load, point.machine.capacity);
    std::string_view bound;
    if (runs)
      bound = add_estimates(point, memory);
    else
      for (int i = 0; i < (ttft_ == Ttft::included ? 7 : 6); ++i) add(kNone);
    cells_.push_back({0.0, bound});
    cells_.push_back({0.0, status_of(point, memory)});
    writer_.row(cells_, out);
  }

 private:
  void add(double number) { cells_.push_back({number, {}}); }

  std::string_view add_estimates(const SweepPoint& point, const MemoryNeed& memory) {
    const ArchitectureSpec& spec = point.model.spec;
    const CostModel& cost_model = point.machine.cost_model;
    const DecodeEstimate decode = estimate_decode(spec, point.load, cost_model, scratch_);
    add(decode.step.seconds);
    add(decode.step.low_s);
    add(decode.step.high_s);
    add(decode.tokens_per_second);
    add(decode.tokens_per_second_per_user);
    add(memory.total());
    if (ttft_ == Ttft::included)
      add(estimate_prefill(spec, point.load, cost_model, scratch_).ttft_s);
    return kTimeShareNames[static_cast<std::size_t>(decode.step.bound())];
  }

  const SweepGrid& grid_;
  const RowWriter& writer_;
  Ttft ttft_;
  OperatorList scratch_;
  std::vector<RowCell> cells_;
};

std::vector<OptionRow> sweep_options() {
  std::vector<OptionRow> rows = sweep_axes();
  rows.push_back({"ttft", "", "adds the time to first token of a prompt of each context"});
  rows.push_back({"threads", "N", "threads; as many as there are processors by default"});
  for (OptionRow& row : output_options()) rows.push_back(std::move(row));
  return rows;
}

void write_points(const SweepGrid& grid, const RowWriter& writer, Ttft ttft, unsigned threads,
                  Output& output, Console& console) {
  const std::uint64_t size = grid.size();
  const std::uint64_t chunk_size =
      std::clamp<std::uint64_t>(size / (std::uint64_t{threads} * 8), 1, kMaxChunk);
  const std::uint64_t chunks = (size + chunk_size - 1) / chunk_size;
  ProgressLine progress(console.err, progress_screen(console));
  OrderedWork work;
  work.chunks = chunks;
  work.threads = static_cast<unsigned>(std::min<std::uint64_t>(threads, chunks));
  work.new_maker = [&]() -> ChunkMaker {
    return [&, maker = std::make_shared<RowMaker>(grid, writer, ttft)](std::uint64_t chunk,
                                                                       std::string& out) {
      const std::uint64_t end = std::min(size, (chunk + 1) * chunk_size);
      for (std::uint64_t i = chunk * chunk_size; i < end; ++i) maker->append(i, out);
      if (end == size) writer.trim_last(out);
    };
  };
  work.write = [&](std::string_view text) { output.write(text); };
  work.tick = [&](std::uint64_t done) {
    progress.update([&](double seconds) {
      return progress_text("points", std::min(size, done * chunk_size), size, seconds);
    });
  };
  write_in_order(work);
}

int run_sweep(const Options& options, Console& console) {
  const OutputFormat format = output_format(options);
  const unsigned processors = std::max(1U, std::thread::hardware_concurrency());
  const auto threads = options.has("threads")
                           ? static_cast<unsigned>(options.integer("threads", 1, 1024))
                           : processors;
  const SweepGrid grid = read_sweep_grid(options);
  const Ttft ttft = options.has("ttft") ? Ttft::included : Ttft::left_out;
  std::vector<Column> columns = sweep_columns(ttft);
  const std::vector<std::size_t> widths = text_widths(grid, columns.size());
  const RowWriter writer(std::move(columns), format, widths);

  Output output(options, console);
  std::string edge;
  writer.begin(edge);
  output.write(edge);
  write_points(grid, writer, ttft, threads, output, console);
  edge.clear();
  writer.end(edge);
  output.write(edge);
  output.commit();
  return kExitOk;
}

}  // namespace

Command sweep_command() {
  return {"sweep",
          "predictions over lists and ranges of models, machines and workloads",
          "",
          "roofcast sweep --model llama-3.1-8b --hardware h100-sxm,a100-sxm-80gb --batch 1..64 "
          "--context 1Ki..32Ki:x4",
          sweep_options,
          run_sweep};
}

}  // namespace roofcast
