#include "cli/trained_run.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <utility>

#include "kiln/core/config/json.hpp"
#include "kiln/core/error/error.hpp"
#include "kiln/core/error/shown.hpp"
#include "kiln/core/file.hpp"
#include "kiln/train/show/flatten.hpp"

namespace kiln::cli {

namespace fs = std::filesystem;

std::optional<double> number_in(std::string_view text) {
  double number = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (problem != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

bool is_run(const fs::path& directory) {
  std::error_code ignored;
  return fs::is_regular_file(directory / "experiment.log", ignored);
}

namespace {

std::vector<fs::path> entries_in(const fs::path& directory) {
  std::error_code problem;
  std::vector<fs::path> found;
  for (fs::directory_iterator at(directory, problem), end; !problem && at != end; at.increment(problem))
    found.push_back(at->path());
  require<IoError>(!problem, "cannot read ", shown(directory.string()), ": ", problem.message());
  std::ranges::sort(found);
  return found;
}

std::vector<fs::path> directories_in(const fs::path& directory) {
  std::vector<fs::path> found = entries_in(directory);
  std::error_code ignored;
  std::erase_if(found, [&](const fs::path& path) { return !fs::is_directory(path, ignored); });
  return found;
}

/// Returns what `read` returns, or nothing where the path is no more: runs may be deleted while they are read.
template <class Read>
auto unless_gone(const fs::path& path, Read read) -> std::optional<decltype(read(path))> {
  try {
    return read(path);
  } catch (const IoError&) {
    if (std::error_code ignored; fs::exists(path, ignored)) throw;
    return std::nullopt;
  }
}
std::optional<std::string> text_of(const fs::path& file) {
  return unless_gone(file, [](const fs::path& path) { return read_text_file(path.string()); });
}

/// Reads lines of a step and a value. A line that a killed run did not finish is ignored.
void read_curve(const std::string& contents, Series& series) {
  for (std::size_t at = 0, end; (end = contents.find('\n', at)) != std::string::npos; at = end + 1) {
    const std::string_view line = std::string_view(contents).substr(at, end - at);
    const std::size_t space = line.find(' ');
    if (space == std::string_view::npos) continue;
    const auto step = number_in(line.substr(0, space)), value = number_in(line.substr(space + 1));
    if (step && value) series.add(*step, *value);
  }
}

/// Returns the last sentence of experiment.log, without its time.
std::string last_sentence(std::string contents) {
  while (contents.ends_with('\n')) contents.pop_back();
  const std::string line = contents.substr(contents.rfind('\n') + 1);
  constexpr std::size_t kTime = std::string_view("2026-11-23 01:15:00 ").size();
  return line.size() > kTime ? line.substr(kTime) : line;
}

TrainedRun read_run(const fs::path& directory, const std::string& name) {
  TrainedRun run{name, last_sentence(text_of(directory / "experiment.log").value_or("")), {}, {}, 0};
  const std::size_t reason = run.state.find(": ");
  if (!run.state.starts_with("ends after step ") || reason == std::string::npos) run.state = "runs, or was killed";
  else run.state = run.state.substr(reason + 2);
  const fs::path config = directory / "config.json";
  if (const auto written = text_of(config)) run.config = flattened(parse_json(*written, config.string()));
  for (const fs::path& split : unless_gone(directory, directories_in).value_or(std::vector<fs::path>())) {
    std::map<std::int64_t, fs::path> epochs;
    for (const fs::path& folder : unless_gone(split, directories_in).value_or(std::vector<fs::path>())) {
      const std::string epoch = folder.filename().string();
      if (!epoch.starts_with("epoch-")) continue;
      const auto number = number_in(std::string_view(epoch).substr(6));
      if (number && *number >= 0 && *number < 1e15) epochs.emplace(static_cast<std::int64_t>(*number), folder);
    }
    for (const auto& [epoch, folder] : epochs) {
      for (const fs::path& file : unless_gone(folder, entries_in).value_or(std::vector<fs::path>())) {
        if (file.extension() != ".log") continue;
        const std::string metric = split.filename().string() + '/' + file.stem().string();
        auto& series = run.curves.try_emplace(metric, Series{name, metric}).first->second;
        read_curve(text_of(file).value_or(""), series);
        if (!series.points.empty()) run.steps = std::max(run.steps, series.points.back().step);
      }
    }
  }
  return run;
}

}  // namespace

std::vector<TrainedRun> runs_in(const fs::path& root) {
  std::vector<TrainedRun> found;
  for (const fs::path& directory : is_run(root) ? std::vector{root} : directories_in(root)) {
    const fs::path named = directory.has_filename() ? directory : directory.parent_path();  // "runs/first/"
    if (!is_run(directory)) continue;
    TrainedRun run = read_run(directory, named.filename().string());
    if (is_run(directory)) found.push_back(std::move(run));
  }
  require<DataError>(!found.empty(), shown(root.string()),
                     ": has no run; the directory of a run has an experiment.log");
  return found;
}

}  // namespace kiln::cli
