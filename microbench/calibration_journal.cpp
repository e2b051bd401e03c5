#include "microbench/calibration_journal.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>

#include "model/base/files.hpp"
#include "model/base/spec_reader.hpp"

namespace roofcast {
namespace {

constexpr std::int64_t kVersion = 1;
constexpr QuantityRange kSeconds{1e-12, 1e6};
constexpr QuantityRange kRate{1.0, 1e18};

std::string json_text(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  return out + '"';
}

std::string head_line(const JournalIdentity& identity) {
  return fmt::format(
      "{{\"roofcast_journal\": {}, \"machine\": {}, \"kernels\": {}, \"plan\": {}}}\n", kVersion,
      json_text(identity.machine), json_text(identity.kernels), json_text(identity.plan));
}

std::string point_line(const JournalPoint& p) {
  const TimingSummary& t = p.timing.timing;
  return fmt::format(
      "{{\"benchmark\": {}, \"label\": {}, \"median_s\": {}, \"q1_s\": {}, \"q3_s\": {}, "
      "\"p5_s\": {}, \"p95_s\": {}, \"half_width\": {}, \"samples\": {}, \"read\": {}, \"dot\": "
      "{}, "
      "\"redone\": {}, \"steady\": {}, \"spent_s\": {}}}\n",
      json_text(p.benchmark), json_text(p.label), t.median_s, t.q1_s, t.q3_s, t.p5_s, t.p95_s,
      t.half_width, t.samples, p.timing.reference.read_bandwidth, p.timing.reference.dot_rate,
      p.timing.redone, p.timing.steady, p.spent_s);
}

JournalIdentity read_head(SpecReader reader) {
  reader.integer("roofcast_journal", kVersion, kVersion);
  return {reader.string("machine"), reader.string("kernels"), reader.string("plan")};
}

JournalPoint read_point(SpecReader reader) {
  const auto seconds = [&](const char* key) {
    return reader.number(key, kSeconds.min, kSeconds.max);
  };
  const auto rate = [&](const char* key) { return reader.number(key, kRate.min, kRate.max); };
  JournalPoint p;
  p.benchmark = reader.string("benchmark");
  p.label = reader.string("label");
  p.timing.timing = {.median_s = seconds("median_s"),
                     .q1_s = seconds("q1_s"),
                     .q3_s = seconds("q3_s"),
                     .p5_s = seconds("p5_s"),
                     .p95_s = seconds("p95_s"),
                     .half_width = reader.number("half_width", 0.0, 1e9),
                     .samples = static_cast<int>(reader.integer("samples", 1, 1'000'000'000))};
  p.timing.reference = {.read_bandwidth = rate("read"), .dot_rate = rate("dot")};
  p.timing.redone = static_cast<int>(reader.integer("redone", 0, 1000));
  p.timing.steady = reader.boolean("steady");
  p.spent_s = reader.number("spent_s", 0.0, 1e9);
  reader.reject_unknown_keys();
  return p;
}

/// The complete lines of a text: what follows the last line feed was cut short.
std::vector<std::string> complete_lines(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t at = 0, end = 0; (end = text.find('\n', at)) != std::string::npos; at = end + 1)
    lines.push_back(text.substr(at, end - at));
  return lines;
}

/// Which part of the identity differs, for a person.
std::string difference(const JournalIdentity& there, const JournalIdentity& here) {
  if (there.machine != here.machine) return "it is of another machine, " + there.machine;
  if (there.kernels != here.kernels) return "it is of other kernels, " + there.kernels;
  return "it is of another plan, " + there.plan;
}

}  // namespace

void CalibrationJournal::fail(const char* doing) const {
  throw IoError(place_message(path_, {}, "", fmt::format("cannot {}: {}", doing, strerror(errno))));
}

void CalibrationJournal::open_locked() {
  descriptor_ = open(path_.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (descriptor_ < 0) fail("open the journal");
  if (flock(descriptor_, LOCK_EX | LOCK_NB) == 0) return;
  if (errno != EWOULDBLOCK) return;  // a file system without locks
  close(descriptor_);
  throw IoError(place_message(path_, {}, "", "another calibration is writing this journal"));
}

CalibrationJournal::CalibrationJournal(std::string path, const JournalIdentity& identity)
    : path_(std::move(path)) {
  if (path_kind(path_) == PathKind::other)
    throw IoError(place_message(path_, {}, "", "expected a regular file for the journal"));
  open_locked();
  try {
    read_existing(read_text_file(path_), identity);
  } catch (...) {
    close(descriptor_);
    throw;
  }
}

CalibrationJournal::~CalibrationJournal() { close(descriptor_); }

void CalibrationJournal::read_existing(const std::string& text, const JournalIdentity& identity) {
  const std::vector<std::string> lines = complete_lines(text);
  std::optional<JournalIdentity> found;
  if (!text.empty()) {
    try {
      const Document head = parse_json(lines.empty() ? text : lines.front(), path_);
      found = read_head({head.root, path_});
    } catch (const SpecError&) {
      throw IoError(place_message(
          path_, {}, "", "expected a calibration's journal or no file; remove it to start anew"));
    }
  }
  if (found != identity) {
    if (found) replaced_ = difference(*found, identity);
    if (ftruncate(descriptor_, 0) != 0) fail("empty the journal");
    write(head_line(identity));
    return;
  }
  std::size_t complete = 0;
  for (const std::string& line : lines) complete += line.size() + 1;
  if (ftruncate(descriptor_, static_cast<off_t>(complete)) != 0) fail("mend the journal");
  for (std::size_t i = 1; i < lines.size(); ++i) {
    const Document document = parse_json(lines[i], path_);
    points_.push_back(read_point({document.root, path_}));
  }
}

const JournalPoint* CalibrationJournal::find(const std::string& benchmark,
                                             const std::string& label) const {
  const auto found = std::find_if(points_.begin(), points_.end(), [&](const JournalPoint& p) {
    return p.benchmark == benchmark && p.label == label;
  });
  return found == points_.end() ? nullptr : &*found;
}

void CalibrationJournal::append(const JournalPoint& point) { write(point_line(point)); }

void CalibrationJournal::write(const std::string& line) {
  for (std::size_t done = 0; done < line.size();) {
    const ssize_t count = ::write(descriptor_, line.data() + done, line.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail("write the journal");
    done += static_cast<std::size_t>(count);
  }
}

}  // namespace roofcast
