#include "kiln/train/log/files.hpp"

#include <charconv>
#include <system_error>
#include <utility>
#include <vector>

#include "kiln/core/error/error.hpp"
#include "kiln/core/error/shown.hpp"
#include "kiln/core/file.hpp"
#include "kiln/core/folder.hpp"

namespace kiln {

namespace fs = std::filesystem;

namespace {

std::string head(const training::Position& at, std::string_view event) {
  return text("{\"step\":", at.step, ",\"event\":", json_text(event), ",\"epoch\":", at.epoch);
}

/// The subdirectories of a directory; none if it cannot be read.
std::vector<fs::path> directories_in(const fs::path& directory) {
  std::error_code ignored;
  std::vector<fs::path> found;
  for (const fs::path& path : paths_in(directory, ignored))
    if (fs::is_directory(fs::symlink_status(path, ignored))) found.push_back(path);
  return found;
}

/// 3 for "epoch-3"; 0 for other names.
std::int64_t epoch_number(const fs::path& folder) {
  constexpr std::string_view kPrefix = "epoch-";
  const std::string name = folder.filename().string();
  std::int64_t number = 0;
  if (name.starts_with(kPrefix)) std::from_chars(name.data() + kPrefix.size(), name.data() + name.size(), number);
  return number;
}

/// A cell of a CSV file (RFC 4180).
std::string cell(std::string_view word) {
  if (word.find_first_of(",\"\r\n") == word.npos) return std::string(word);
  std::string quoted = "\"";
  for (const char letter : word) quoted += letter == '"' ? std::string("\"\"") : std::string(1, letter);
  return quoted += '"';
}

std::string json_value(const Reading& reading) {
  return reading.words ? json_text(*reading.words) : json_number(reading.value);
}

/// The words with \n for ends of lines, so that a record is a line.
std::string one_line(std::string_view words) {
  std::string line;
  for (const char letter : words) {
    if (letter == '\n') line += "\\n";
    else if (letter == '\r') line += "\\r";
    else line += letter;
  }
  return line;
}

std::string figure_line(const training::Position& at, std::string_view kind, std::string_view name,
                        std::string_view content) {
  return text(head(at, kind), ",\"name\":", json_text(name), ",\"content\":", content, '}');
}
/// The lines of an evaluation's matrices.
std::vector<std::string> matrix_lines(const training::Evaluation& evaluation) {
  std::vector<std::string> lines;
  for (const Reading& reading : evaluation.readings)
    if (reading.matrix)
      lines.push_back(
          figure_line(evaluation.at, "matrix", text(evaluation.split, ' ', reading.name), json_of(*reading.matrix)));
  return lines;
}

}  // namespace

void JsonLinesLog::on(const training::Step& step) {
  std::string rates;
  for (const double rate : step.rates) rates += text(rates.empty() ? "" : ",", json_number(rate));
  log_.write(text(head(step.at, "step"), ",\"loss\":", json_number(step.loss), ",\"rates\":[", rates,
                  "],\"items\":", step.items, ",\"seconds\":", json_number(step.seconds), '}'));
}

void JsonLinesLog::on(const training::Evaluation& evaluation) {
  std::string metrics;
  for (const Reading& reading : evaluation.readings)
    metrics += text(metrics.empty() ? "" : ",", json_text(reading.name), ':', json_value(reading));
  log_.write(text(head(evaluation.at, evaluation.split), ",\"complete\":", evaluation.complete, ",\"metrics\":{",
                  metrics, "}}"));
  for (const std::string& line : matrix_lines(evaluation)) log_.write(line);
}

void JsonLinesLog::on(const training::Distribution& values) {
  log_.write(figure_line(values.at, "histogram", values.name, json_of(values.histogram)));
}

void JsonLinesLog::on(const training::Drawing& drawing) {
  log_.write(figure_line(drawing.at, "picture", drawing.name, json_of(drawing.picture)));
}

void JsonLinesLog::on(const training::Saved& saved) {
  log_.write(text(head(saved.at, "saved"), ",\"file\":", json_text(saved.path), '}'));
}

void JsonLinesLog::on(const training::RunEnd& ending) {
  log_.write(text(head(ending.at, "end"), ",\"reason\":", json_text(ending.reason), '}'));
}

void CsvLog::on(const training::Step& step) {
  row(step.at, "step", "loss", step.loss);
  for (std::size_t i = 0; i < step.rates.size(); ++i) row(step.at, "step", training::rate_name(i), step.rates[i]);
}

void CsvLog::on(const training::Evaluation& evaluation) {
  for (const Reading& reading : evaluation.readings)
    if (reading.words) row(evaluation.at, evaluation.split, reading.name, one_line(*reading.words));
    else row(evaluation.at, evaluation.split, reading.name, reading.value);
}

void CsvLog::row(const training::Position& at, std::string_view split, std::string_view metric, double value) {
  const std::string number = json_number(value);
  row(at, split, metric, number == "null" ? "" : number);
}
void CsvLog::row(const training::Position& at, std::string_view split, std::string_view metric,
                 std::string_view value) {
  log_.write(text(at.step, ',', at.epoch, ',', cell(split), ',', cell(metric), ',', cell(value)));
}

RunDirectory::RunDirectory(fs::path directory, Json configuration)
    : directory_(std::move(directory)), configuration_(std::move(configuration)) {}

void RunDirectory::on(const training::Begin& begin) {
  std::error_code error;
  fs::create_directories(directory_, error);
  require<IoError>(!error, "cannot write to ", directory_.string(), ": ", error.message());
  begun_at_ = begin.at.step;
  logs_.clear();
  figures_.reset();
  const bool configured = !std::holds_alternative<std::nullptr_t>(configuration_.is);
  const fs::path config = directory_ / "config.json", sentences = directory_ / "experiment.log";
  // Without experiment.log the files belong to someone else, whatever their names.
  if (fs::exists(sentences, error)) {
    take_back(begin.at);
  } else {
    const auto require_free = [&](const fs::path& file) {
      require<ConfigError>(!fs::exists(file, error), file.string(),
                           " exists already, and no training was logged here: choose another directory");
    };
    if (configured) require_free(config);
    require_free(directory_ / "figures.jsonl");
  }
  say(begin.at.step > 0 ? text("goes on after step ", begin.at.step)
                        : text("begins: ", begin.parameters, " parameters, ", begin.batches, " batches an epoch"));
  if (configured) write_file_atomically(config.string(), write_json(configuration_));
}

// Removes what an earlier process measured after the step from which this one resumes. Epochs that had ended by then
// are kept.
void RunDirectory::take_back(const training::Position& at) const {
  std::error_code ignored;
  if (const fs::path figures = directory_ / "figures.jsonl"; fs::exists(figures, ignored)) {
    LineLog(figures).begin(at.step);
    if (fs::file_size(figures, ignored) == 0) fs::remove(figures, ignored);
  }
  for (const auto& split : directories_in(directory_))
    for (const auto& epoch : directories_in(split)) {
      if (epoch_number(epoch) <= at.epoch) continue;
      for (const fs::path& path : paths_in(epoch, ignored)) {
        if (path.extension() != ".log") continue;
        LineLog log(path);
        log.begin(at.step);
        if (fs::file_size(path, ignored) == 0) fs::remove(path, ignored);
      }
      fs::remove(epoch, ignored);  // if it is empty
    }
}

void RunDirectory::log(const training::Position& at, std::string_view split, std::string_view metric,
                       std::string_view value) {
  if (std::exchange(epoch_, at.epoch) != at.epoch) logs_.clear();
  const auto path = directory_ / file_name_of(split) / text("epoch-", at.epoch + 1) / (file_name_of(metric) + ".log");
  auto found = logs_.find(path);
  if (found == logs_.end()) {
    found = logs_.emplace(path, LineLog(path)).first;
    found->second.begin(begun_at_);
  }
  found->second.write(text(at.step, ' ', value));
}

void RunDirectory::on(const training::Step& step) {
  log(step.at, "step", "loss", json_number(step.loss));
  for (std::size_t i = 0; i < step.rates.size(); ++i)
    log(step.at, "step", training::rate_name(i), json_number(step.rates[i]));
}

void RunDirectory::on(const training::Evaluation& evaluation) {
  for (const Reading& reading : evaluation.readings)
    log(evaluation.at, evaluation.split, reading.name, json_value(reading));
  for (const std::string& line : matrix_lines(evaluation)) show(line);
  if (evaluation.complete) say(text("step ", evaluation.at.step, ", ", sentence_of(evaluation)));
}

void RunDirectory::on(const training::Distribution& values) {
  show(figure_line(values.at, "histogram", values.name, json_of(values.histogram)));
}
void RunDirectory::on(const training::Drawing& drawing) {
  show(figure_line(drawing.at, "picture", drawing.name, json_of(drawing.picture)));
}
void RunDirectory::show(const std::string& line) {
  if (!figures_) figures_.emplace(directory_ / "figures.jsonl").begin(begun_at_);
  figures_->write(line);
}

void RunDirectory::on(const training::Saved& saved) { say(text("saves ", saved.path)); }
void RunDirectory::on(const training::Message& note) { say(note.text); }
void RunDirectory::on(const training::RunEnd& ending) {
  say(text("ends after step ", ending.at.step, ": ", ending.reason));
}

void RunDirectory::say(std::string_view sentence) {
  std::error_code ignored;
  fs::create_directories(directory_, ignored);
  GrowingFile file;
  file.open(directory_ / "experiment.log", true);
  file.append(text(time_stamp(), ' ', sentence, '\n'));
}

std::string sentence_of(const training::Evaluation& evaluation) {
  std::string sentence, problems;
  for (const Reading& reading : evaluation.readings)
    if (!reading.problem.empty()) problems += "; " + reading.problem;
    else if (reading.words)
      sentence += text(sentence.empty() ? " " : ", ", reading.name, " \"", shown(*reading.words), '"');
    else sentence += text(sentence.empty() ? " " : ", ", reading.name, ' ', reading.value);
  if (sentence.empty() && !problems.empty()) problems.erase(0, 1);
  return evaluation.split + ':' + sentence + problems;
}

}  // namespace kiln
