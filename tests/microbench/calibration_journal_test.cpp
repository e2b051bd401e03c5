#include "microbench/calibration_journal.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "model/base/error.hpp"

namespace roofcast {
namespace {

const JournalIdentity kHere{"CPU \"A\", 2 threads", "avx2", "3 points, 00ff"};

/// A file name in a folder that is gone at the end of the test.
class JournalFile {
 public:
  JournalFile() {
    std::string name = (std::filesystem::temp_directory_path() / "journal_XXXXXX").string();
    folder_ = mkdtemp(name.data());
  }
  ~JournalFile() { std::filesystem::remove_all(folder_); }
  JournalFile(const JournalFile&) = delete;
  JournalFile& operator=(const JournalFile&) = delete;
  std::string path() const { return (folder_ / "cpu.yaml.journal").string(); }
  std::string text() const {
    std::ostringstream text;
    text << std::ifstream(path()).rdbuf();
    return text.str();
  }
  void set_text(const std::string& text) const { std::ofstream(path()) << text; }

 private:
  std::filesystem::path folder_;
};

JournalPoint point(const char* label, double median_s) {
  JournalPoint p{.benchmark = "gemm", .label = label, .timing = {}, .spent_s = 2.5};
  p.timing.timing = {.median_s = median_s,
                     .q1_s = 0.9 * median_s,
                     .q3_s = 1.1 * median_s,
                     .p5_s = 0.8 * median_s,
                     .p95_s = 1.2 * median_s,
                     .half_width = 0.004,
                     .samples = 21};
  p.timing.reference = {.read_bandwidth = 35.25e9, .dot_rate = 401e9};
  p.timing.redone = 2;
  p.timing.steady = false;
  return p;
}

TEST_CASE("a journal gives back every value of the points that were added to it") {
  const JournalFile file;
  {
    CalibrationJournal journal(file.path(), kHere);
    CHECK(journal.points().empty());
    journal.append(point("n=64 k=64", 1.0 / 3.0));
    journal.append(point("n=64 k=128", 2e-6));
  }
  const CalibrationJournal journal(file.path(), kHere);
  CHECK(journal.replaced().empty());
  REQUIRE(journal.points().size() == 2);
  const JournalPoint* const found = journal.find("gemm", "n=64 k=64");
  REQUIRE(found != nullptr);
  CHECK(found->timing.timing.median_s == 1.0 / 3.0);
  CHECK(found->timing.timing.q1_s == 0.9 * (1.0 / 3.0));
  CHECK(found->timing.timing.p95_s == 1.2 * (1.0 / 3.0));
  CHECK(found->timing.timing.half_width == 0.004);
  CHECK(found->timing.timing.samples == 21);
  CHECK(found->timing.reference.read_bandwidth == 35.25e9);
  CHECK(found->timing.reference.dot_rate == 401e9);
  CHECK(found->timing.redone == 2);
  CHECK_FALSE(found->timing.steady);
  CHECK(found->spent_s == 2.5);
  CHECK(journal.find("gemm", "n=64") == nullptr);
  CHECK(journal.find("read", "n=64 k=64") == nullptr);
}

TEST_CASE("a line that a kill cut short is dropped, and the next point takes its place") {
  const JournalFile file;
  CalibrationJournal(file.path(), kHere).append(point("a", 1e-3));
  const std::string whole = file.text();
  file.set_text(whole + R"({"benchmark": "gemm", "label": "b", "medi)");
  {
    CalibrationJournal journal(file.path(), kHere);
    REQUIRE(journal.points().size() == 1);
    journal.append(point("c", 2e-3));
  }
  const CalibrationJournal journal(file.path(), kHere);
  REQUIRE(journal.points().size() == 2);
  CHECK(journal.points()[1].label == "c");
  CHECK(file.text().find(whole) == 0);
}

TEST_CASE("points of another machine, of other kernels or of another plan are dropped, and why") {
  const JournalIdentity others[] = {{"CPU B", kHere.kernels, kHere.plan},
                                    {kHere.machine, "portable", kHere.plan},
                                    {kHere.machine, kHere.kernels, "9 points, 00ff"}};
  const char* const reasons[] = {"another machine, CPU B", "other kernels, portable",
                                 "another plan, 9 points, 00ff"};
  for (std::size_t i = 0; i < 3; ++i) {
    const JournalFile file;
    CalibrationJournal(file.path(), others[i]).append(point("a", 1e-3));
    {
      CalibrationJournal journal(file.path(), kHere);
      CHECK(journal.points().empty());
      CHECK(journal.replaced().find(reasons[i]) != std::string::npos);
      journal.append(point("b", 1e-3));
    }
    const CalibrationJournal again(file.path(), kHere);
    CHECK(again.replaced().empty());
    REQUIRE(again.points().size() == 1);
    CHECK(again.points()[0].label == "b");
  }
}

TEST_CASE("a file that is no journal is refused and stays as it is") {
  for (const char* text : {"important notes\n", "{\"schema\": 1}\n", "no line feed"}) {
    const JournalFile file;
    file.set_text(text);
    CHECK_THROWS_AS(CalibrationJournal(file.path(), kHere), IoError);
    CHECK(file.text() == text);
  }
  CHECK_THROWS_AS(CalibrationJournal("/dev/null", kHere), IoError);
  CHECK_THROWS_AS(CalibrationJournal("/nonexistent/journal", kHere), IoError);
}

TEST_CASE("a line of a journal that holds no point is blamed with its file") {
  const JournalFile file;
  CalibrationJournal(file.path(), kHere).append(point("a", 1e-3));
  file.set_text(file.text() + "{\"benchmark\": \"gemm\", \"label\": \"b\", \"median_s\": -1}\n");
  CHECK_THROWS_AS(CalibrationJournal(file.path(), kHere), SpecError);
}

TEST_CASE("one journal serves one run at a time") {
  const JournalFile file;
  const CalibrationJournal first(file.path(), kHere);
  CHECK_THROWS_WITH_AS(CalibrationJournal(file.path(), kHere),
                       doctest::Contains("another calibration is writing this journal"), IoError);
}

}  // namespace
}  // namespace roofcast
