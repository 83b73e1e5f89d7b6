// Callbacks of a Learner that write what happens to files. A resumed training takes back what it will write again. Where a file
// cannot be written once the training has begun, a Learner says so and goes on, as it does for whatever has kIsALog.
#pragma once
#include <filesystem>
#include <map>
#include <string>

#include "kiln/core/config/json.hpp"
#include "kiln/train/log/line_log.hpp"

namespace kiln {

/// A line of JSON for each step and each evaluation:
///   {"step":7,"event":"step","epoch":0,"loss":0.25,"rates":[0.001],"items":64,"seconds":0.01}
///   {"step":7,"event":"valid","epoch":0,"complete":true,"metrics":{"loss":0.3,"accuracy":0.9}}
/// Notes, checkpoints and the end have lines too. What is no finite number is null.
class JsonLinesLog {
 public:
  static constexpr bool kIsALog = true;
  explicit JsonLinesLog(const std::filesystem::path& path) : log_(path) {}
  void on(const training::Begin& begin) { log_.begin(begin.at.step); }
  void on(const training::Step& step);
  void on(const training::Evaluation& evaluation);
  void on(const training::Saved& saved);
  void on(const training::Ending& ending);

 private:
  LineLog log_;
};

/// A row for each number: step,epoch,split,metric,value. Of steps the loss and the rates, as split "step".
class CsvLog {
 public:
  static constexpr bool kIsALog = true;
  explicit CsvLog(const std::filesystem::path& path) : log_(path, "step,epoch,split,metric,value") {}
  void on(const training::Begin& begin) { log_.begin(begin.at.step); }
  void on(const training::Step& step);
  void on(const training::Evaluation& evaluation);

 private:
  void row(const training::Position& at, std::string_view split, std::string_view metric, double value);
  LineLog log_;
};

/// A directory that is laid out for people:
///   experiment.log              sentences, with the time
///   config.json                 the user's configuration
///   train/epoch-1/accuracy.log  lines of step and value; valid/ likewise, step/ with each step's loss and rates
/// A training that begins takes the curves of an earlier one out of it, but leaves what experiment.log says of that. Where there
/// is no experiment.log, files are somebody else's: none is taken out, and a config.json there is a ConfigError.
class RunDirectory {
 public:
  static constexpr bool kIsALog = true;
  explicit RunDirectory(std::filesystem::path directory, Json configuration = {});
  void on(const training::Begin& begin);
  void on(const training::Step& step);
  void on(const training::Evaluation& evaluation);
  void on(const training::Saved& saved);
  void on(const training::Note& note);
  void on(const training::Ending& ending);

 private:
  void say(std::string_view sentence);
  void log(const training::Position& at, std::string_view split, std::string_view metric, double value);
  void take_back(const training::Position& at) const;

  std::filesystem::path directory_;
  Json configuration_;
  std::int64_t begun_at_ = 0, epoch_ = -1;  // step; epoch of the files that are open
  std::map<std::filesystem::path, LineLog> logs_;
};

/// "train: loss 0.25, accuracy 0.9; auroc: nothing was measured"
std::string sentence_of(const training::Evaluation& evaluation);

}  // namespace kiln
