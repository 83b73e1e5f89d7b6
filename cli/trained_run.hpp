// The directories that RunDirectory (kiln/train/log/files.hpp) wrote, read again.
#pragma once
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kiln/train/show/plot.hpp"

namespace kiln::cli {

struct TrainedRun {
  std::string name, state;
  std::map<std::string, std::string> config;  // "optimizer.beta1": "0.9"
  std::map<std::string, Series> curves;       // "valid/accuracy": the values at their steps, in all epochs
  double steps = 0;
};

/// The number that the whole text is.
std::optional<double> number_in(std::string_view text);

/// Returns whether RunDirectory wrote this directory.
bool is_run(const std::filesystem::path& directory);
/// The run in this directory, or those in the directories below it. Throws IoError, and DataError if there is none.
std::vector<TrainedRun> runs_in(const std::filesystem::path& root);

}  // namespace kiln::cli
