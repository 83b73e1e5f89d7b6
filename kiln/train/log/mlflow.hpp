// Runs in MLflow's file store: `mlflow ui --backend-store-uri DIRECTORY`.
#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "kiln/core/config/json.hpp"
#include "kiln/train/events.hpp"
#include "kiln/train/log/growing_file.hpp"

namespace kiln {

struct MlflowRun {
  std::string experiment = "kiln";  // made if the store has none of that name
  std::string name{};  // a training that is resumed under it goes on with its run. Empty: a new run each time
  Json params{};       // a configuration: nested keys are joined by dots
};

/// A callback: writes a folder for the run, as MLflow's own FileStore does: meta.yaml, params, tags and metrics. Metrics are
/// called "valid/accuracy", and "step/loss" and "step/rate" for each step; words of a metric become a tag, which keeps the last
/// ones. The run's status is RUNNING until RunEnd, then FINISHED. A resumed training takes back what it will measure again;
/// one that begins anew under a name that there is takes that run's place. Characters that MLflow has not in keys become '_'.
class MlflowLog {
 public:
  static constexpr bool kIsALog = true;
  explicit MlflowLog(std::filesystem::path store, MlflowRun run = {});

  void on(const training::Begin& begin);
  void on(const training::Step& step);
  void on(const training::Evaluation& evaluation);
  void on(const training::RunEnd& ending);

  /// The folder of the run; empty before Begin.
  const std::filesystem::path& directory() const { return directory_; }

 private:
  std::filesystem::path experiment_folder();
  void write_meta(std::int64_t status, std::int64_t ended);
  void measure(const std::string& metric, double value, std::int64_t step);

  std::filesystem::path store_, directory_;
  MlflowRun run_;
  std::string experiment_id_, run_id_, run_name_;
  std::int64_t started_ = 0;  // milliseconds since 1970
  std::map<std::string, GrowingFile> metrics_;
};

}  // namespace kiln
