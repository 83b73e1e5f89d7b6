// Tables and pages of the directories that RunDirectory (kiln/train/log/files.hpp) wrote. A row for each run has the configuration
// values that differ between runs, and the last value of each metric.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include <unistd.h>

#include "cli/commands.hpp"
#include "cli/run_figures.hpp"
#include "cli/statistics.hpp"
#include "cli/table.hpp"
#include "cli/trained_run.hpp"
#include "kiln/core/config/json.hpp"
#include "kiln/core/error/error.hpp"
#include "kiln/core/error/shown.hpp"
#include "kiln/core/error/suggest.hpp"
#include "kiln/train/log/line_log.hpp"
#include "kiln/train/show/flatten.hpp"
#include "kiln/train/show/plot.hpp"
#include "kiln/train/show/runs_page.hpp"

namespace kiln::cli {
namespace {

namespace fs = std::filesystem;

std::optional<std::string> value_of(const TrainedRun& run, const std::string& key) {
  if (const auto found = run.config.find(key); found != run.config.end()) return found->second;
  const auto curve = run.curves.find(key);
  if (curve == run.curves.end() || curve->second.points.empty()) return std::nullopt;
  return short_number(curve->second.points.back().value);
}

/// Parses conditions such as "valid/accuracy>0.9" and "optimizer.beta1=0.8".
bool matches_condition(const TrainedRun& run, const std::string& condition) {
  const std::size_t at = condition.find_first_of("=<>!");
  require<ArgumentError>(at != std::string::npos && at > 0, "runs: '", shown(condition),
                         "' is not a condition, such as valid/accuracy>0.9 or optimizer.beta1=0.8");
  std::size_t end = at;
  while (end < condition.size() && std::string_view("=<>!").find(condition[end]) != std::string_view::npos) ++end;
  const std::string sign = condition.substr(at, end - at), wanted = condition.substr(end);
  const auto value = value_of(run, condition.substr(0, at));
  if (!value) return false;
  if (sign == "=" || sign == "==")
    return *value == wanted || (number_in(*value) && number_in(*value) == number_in(wanted));
  if (sign == "!=") return !matches_condition(run, condition.substr(0, at) + '=' + wanted);
  const auto a = number_in(*value), b = number_in(wanted);
  require<ArgumentError>(b && (sign == "<" || sign == ">" || sign == "<=" || sign == ">="), "runs: '", shown(condition),
                         "' compares with something that is not a number");
  if (!a) return false;
  return sign == "<" ? *a < *b : sign == ">" ? *a > *b : sign == "<=" ? *a <= *b : *a >= *b;
}

/// Returns the keys of configurations whose values differ between runs.
std::vector<std::string> differing(const std::vector<TrainedRun>& runs) {
  std::set<std::string> keys;
  for (const TrainedRun& run : runs)
    for (const auto& [key, value] : run.config)
      for (const TrainedRun& other : runs)
        if (const auto found = other.config.find(key); found == other.config.end() || found->second != value)
          keys.insert(key);
  return {keys.begin(), keys.end()};
}

/// Cycles through six colours that are visible on light and on dark backgrounds.
int colour_of_run(std::size_t index) {
  constexpr int kColours[] = {31, 34, 32, 35, 36, 33};
  return kColours[index % std::size(kColours)];
}

/// Sorts by the last value of a metric; runs without it come last.
void sort_by(const std::string& metric, std::vector<TrainedRun>& runs) {
  std::ranges::stable_sort(runs, {}, [&](const TrainedRun& run) {
    const auto curve = run.curves.find(metric);
    return curve == run.curves.end() || curve->second.points.empty() ? std::numeric_limits<double>::infinity()
                                                                     : curve->second.points.back().value;
  });
}

std::string table_of(const std::vector<TrainedRun>& runs, const std::set<std::string>& metrics) {
  const std::vector<std::string> keys = differing(runs);
  std::vector<Row> rows = {{"run", "steps"}};
  rows[0].insert(rows[0].end(), keys.begin(), keys.end());
  rows[0].insert(rows[0].end(), metrics.begin(), metrics.end());
  rows[0].emplace_back("state");
  for (const TrainedRun& run : runs) {
    Row& row = rows.emplace_back(Row{shown(run.name), short_number(run.steps)});
    for (const auto& key : keys) row.push_back(shown(value_of(run, key).value_or("")));
    for (const auto& metric : metrics) row.push_back(value_of(run, metric).value_or(""));
    row.push_back(shown(run.state));
  }
  return table(rows);
}

/// The curves of a metric, with the names of the runs below.
std::string plot_of(const std::vector<TrainedRun>& runs, const RunsOptions& options) {
  std::vector<const Series*> curves;
  for (const TrainedRun& run : runs)
    if (const auto curve = run.curves.find(options.plot); curve != run.curves.end()) curves.push_back(&curve->second);
  std::string out = '\n' + options.plot + '\n';
  std::vector<int> colours;
  for (std::size_t i = 0; i < curves.size(); ++i) colours.push_back(colour_of_run(i));
  for (const std::string& line : plot(curves, options.width, options.height, {}, options.colours, colours))
    out += line + '\n';
  for (std::size_t i = 0; i < curves.size(); ++i) {
    const std::string name = "━ " + shown(curves[i]->split);
    out += text(i == 0 ? std::string(11, ' ') : "  ",
                options.colours ? text("\x1b[", colours[i], 'm', name, "\x1b[0m") : name);
  }
  return out + (options.colours || curves.size() < 2 ? "\n" : "; --colours tells them apart\n");
}

std::string json_of_run(const fs::path& root, const TrainedRun& run, RunFigures& figures) {
  std::string curves;
  for (const auto& [name, series] : run.curves) {
    const std::size_t slash = name.find('/');
    std::string points;
    for (const auto& [step, value] : series.points)
      points += text(points.empty() ? "" : ",", '[', json_number(step), ',', json_number(value), ']');
    curves += text(curves.empty() ? "" : ",", '[', json_text(name.substr(slash + 1)), ',',
                   json_text(name.substr(0, slash)), ",[", points, "]]");
  }
  return text("{\"name\":", json_text(run.name), ",\"state\":", json_text(run.state),
              ",\"parameters\":", json_of(run.config), ",\"curves\":[", curves,
              "],\"shown\":", figures.of(is_run(root) ? root : root / run.name), '}');
}

}  // namespace

std::string runs_json(const RunsOptions& options, RunFigures& figures) {
  std::vector<TrainedRun> found = runs_in(options.directory);
  for (const std::string& condition : options.where)
    std::erase_if(found, [&](const auto& run) { return !matches_condition(run, condition); });
  std::string list;
  for (const TrainedRun& run : found) list += (list.empty() ? "" : ",") + json_of_run(options.directory, run, figures);
  return '[' + list + ']';
}

void serve_runs(const RunsOptions& options, const Print& out) {
  const auto figures = std::make_shared<RunFigures>();
  (void)runs_json(options, *figures);  // an error comes now, not in the browser
  const RunsPage page([options, figures] { return runs_json(options, *figures); }, {.port = options.web.value_or(0)});
  out(text("the runs are shown on ", page.address(), " until Ctrl-C\n"));
  for (;;) ::pause();  // the signal ends the program
}

std::string runs(const RunsOptions& options) {
  std::vector<TrainedRun> found = runs_in(options.directory);
  std::set<std::string> metrics;
  for (const TrainedRun& run : found)
    for (const auto& [metric, series] : run.curves) metrics.insert(metric);
  const std::set<std::string> known = metrics;
  const auto require_metric = [&](const std::string& metric) {
    const std::vector<std::string_view> names(known.begin(), known.end());
    std::string all;
    for (const std::string_view name : names) all += text(all.empty() ? "" : ", ", shown(name));
    require<ArgumentError>(known.contains(metric), "runs: no run has a metric '", shown(metric), "'",
                           did_you_mean(metric, names), all.empty() ? "; none has any" : "; there are " + all);
  };
  for (const std::string& condition : options.where)
    std::erase_if(found, [&](const auto& run) { return !matches_condition(run, condition); });
  if (found.empty()) return "no run fulfils these conditions\n";
  if (!options.metrics.empty()) metrics = {options.metrics.begin(), options.metrics.end()};
  for (const std::string& metric : options.metrics) require_metric(metric);

  if (!options.sort.empty()) {
    require_metric(options.sort);
    sort_by(options.sort, found);
  }
  std::string out = table_of(found, metrics);
  if (!options.plot.empty()) {
    require_metric(options.plot);
    out += plot_of(found, options);
  }
  return out;
}

}  // namespace kiln::cli
