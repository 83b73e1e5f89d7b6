#include "tests/book/page.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <system_error>

#include <unistd.h>

namespace kiln::book {
namespace {

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    while (!line.empty() && line.back() == ' ') line.remove_suffix(1);
    lines.push_back(line);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

// Lines that follow each other without a gap: a block, or what of it stands between two lines that are `...` alone.
using Run = std::vector<Line>;

std::vector<Run> runs_of(const std::vector<Line>& expected) {
  std::vector<Run> runs;
  bool begins = true;
  for (const Line& line : expected) {
    const bool gap = std::string_view(line.text) == "...";
    if (begins || line.begins_block) runs.emplace_back();
    begins = gap;
    if (!gap) runs.back().push_back(line);
  }
  return runs;
}

std::size_t fitting(const Run& run, const std::vector<std::string_view>& printed, std::size_t at) {
  std::size_t count = 0;
  while (count < run.size() && at + count < printed.size() && fits(run[count].text, printed[at + count])) ++count;
  return count;
}

// An empty folder of this process, left and removed at the end.
class EmptyFolder {
 public:
  EmptyFolder() : before_(std::filesystem::current_path()) {
    std::string name = (std::filesystem::temp_directory_path() / "kiln_book_XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder can be made");
    here_ = name;
    std::filesystem::current_path(here_);
  }
  ~EmptyFolder() {
    std::error_code ignored;
    std::filesystem::current_path(before_, ignored);
    std::filesystem::remove_all(here_, ignored);
  }
  EmptyFolder(const EmptyFolder&) = delete;
  EmptyFolder& operator=(const EmptyFolder&) = delete;

 private:
  std::filesystem::path before_, here_;
};

std::optional<std::string> error_of(void (*run)()) {
  try {
    run();
  } catch (const std::exception& error) { return error.what(); }
  return std::nullopt;
}

}  // namespace

bool never() { return false; }

bool fits(std::string_view expected, std::string_view printed) {
  const std::size_t dots = expected.find("...");
  if (dots == std::string_view::npos) return expected == printed;
  if (printed.substr(0, dots) != expected.substr(0, dots)) return false;
  const std::string_view rest = expected.substr(dots + 3);
  for (std::size_t at = dots; at <= printed.size(); ++at)
    if (fits(rest, printed.substr(at))) return true;
  return false;
}

std::string difference(std::string_view page, const std::vector<Line>& expected, std::string_view printed) {
  const std::vector<std::string_view> lines = lines_of(printed);
  std::size_t from = 0;
  for (const Run& run : runs_of(expected)) {
    std::size_t best = 0, where = from;
    for (std::size_t at = from; at < lines.size() && best < run.size(); ++at)
      if (const std::size_t count = fitting(run, lines, at); count > best) best = count, where = at;
    if (best == run.size()) {
      from = where + best;
      continue;
    }
    const std::string found =
        where + best < lines.size() ? "'" + std::string(lines[where + best]) + "'" : "nothing more";
    return std::string(page) + ":" + std::to_string(run[best].number) + ": expected\n  '" + run[best].text +
           "'\nprinted\n  " + found + "\nThe whole of what was printed:\n" + std::string(printed);
  }
  return {};
}

void check(const char* page, void (*run)(), const Line* expected) {
  if (run == nullptr) return;
  std::vector<Line> lines;
  for (const Line* line = expected; line->number != 0; ++line) lines.push_back(*line);
  const EmptyFolder folder;
  testing::internal::CaptureStdout();
  const std::optional<std::string> error = error_of(run);
  std::fflush(stdout);
  const std::string printed = testing::internal::GetCapturedStdout();
  if (error && error->find("this Kiln was built without") != std::string::npos) GTEST_SKIP() << *error;
  if (error) { FAIL() << page << " ends with an error: " << *error << "\nPrinted before:\n" << printed; }
  const std::string wrong = difference(page, lines, printed);
  EXPECT_TRUE(wrong.empty()) << wrong;
}

}  // namespace kiln::book
