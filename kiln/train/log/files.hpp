// Callbacks of a Learner that write events to files. A resumed run removes entries that it will write again. If a file
// cannot be written during training, the Learner reports that and goes on, as for every callback with kIsALog.
#pragma once
#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "kiln/core/config/json.hpp"
#include "kiln/train/log/line_log.hpp"

namespace kiln {

/// Writes a line of JSON for each step and each evaluation:
///   {"step":7,"event":"step","epoch":0,"loss":0.25,"rates":[0.001],"items":64,"seconds":0.01}
///   {"step":7,"event":"valid","epoch":0,"complete":true,"metrics":{"loss":0.3,"accuracy":0.9}}
/// Checkpoints, histograms, matrices of metrics, pictures and the end have lines too:
///   {"step":7,"event":"histogram","epoch":0,"name":"weights/bias","content":{"edges":[0,1],"counts":[3]}}
/// Numbers that are not finite become null; words are strings.
class JsonLinesLog {
 public:
  static constexpr bool kIsALog = true;
  explicit JsonLinesLog(const std::filesystem::path& path) : log_(path) {}
  void on(const training::Begin& begin) { log_.begin(begin.at.step); }
  void on(const training::Step& step);
  void on(const training::Evaluation& evaluation);
  void on(const training::Distribution& values);
  void on(const training::Drawing& drawing);
  void on(const training::Saved& saved);
  void on(const training::RunEnd& ending);

 private:
  LineLog log_;
};

/// A row for each number, or words with \n for ends of lines: step,epoch,split,metric,value. The loss and the rates of steps have the split "step".
class CsvLog {
 public:
  static constexpr bool kIsALog = true;
  explicit CsvLog(const std::filesystem::path& path) : log_(path, "step,epoch,split,metric,value") {}
  void on(const training::Begin& begin) { log_.begin(begin.at.step); }
  void on(const training::Step& step);
  void on(const training::Evaluation& evaluation);

 private:
  void row(const training::Position& at, std::string_view split, std::string_view metric, double value);
  void row(const training::Position& at, std::string_view split, std::string_view metric, std::string_view value);
  LineLog log_;
};

/// A directory that is laid out for people:
///   experiment.log              sentences, with the time
///   config.json                 the user's configuration
///   figures.jsonl               histograms, matrices of metrics and pictures, as JsonLinesLog writes them
///   train/epoch-1/accuracy.log  lines of step and value, words as JSON strings; also valid/, and step/ with each step's loss and rates
/// A new run removes the curves of an earlier one, but keeps its lines in experiment.log. If there is no
/// experiment.log, the files belong to someone else: none is removed, and an existing config.json or figures.jsonl is a
/// ConfigError.
class RunDirectory {
 public:
  static constexpr bool kIsALog = true;
  explicit RunDirectory(std::filesystem::path directory, Json configuration = {});
  void on(const training::Begin& begin);
  void on(const training::Step& step);
  void on(const training::Evaluation& evaluation);
  void on(const training::Distribution& values);
  void on(const training::Drawing& drawing);
  void on(const training::Saved& saved);
  void on(const training::Message& note);
  void on(const training::RunEnd& ending);

 private:
  void show(const std::string& line);
  void say(std::string_view sentence);
  void log(const training::Position& at, std::string_view split, std::string_view metric, std::string_view value);
  void take_back(const training::Position& at) const;

  std::filesystem::path directory_;
  Json configuration_;
  std::int64_t begun_at_ = 0, epoch_ = -1;  // step; epoch of the open files
  std::map<std::filesystem::path, LineLog> logs_;
  std::optional<LineLog> figures_;
};

/// "train: loss 0.25, accuracy 0.9; auroc: nothing was measured"
std::string sentence_of(const training::Evaluation& evaluation);

}  // namespace kiln
