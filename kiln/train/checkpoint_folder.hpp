// The contents of a directory of checkpoints. The files themselves are authoritative: complete ones count even if
// index.json is missing or wrong, and each names the run that wrote it, so that no run removes another's files.
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kiln/store/format/source.hpp"

namespace kiln {

/// A line of index.json.
struct KeptCheckpoint {
  std::string file = "";
  std::int64_t step = 0;
  double seconds = 0;             // duration of training
  std::optional<double> value{};  // value of the metric, if it was measured at that step
};

namespace training {

/// A training run, including its resumptions. Empty for files of older versions of Kiln, which do not name it.
struct RunName {
  std::int64_t began = 0;  // nanoseconds since 1970
  std::string word = "";   // random, unique to the run
  bool operator==(const RunName&) const = default;

  /// A run that begins now, and after `others`.
  static RunName fresh(std::int64_t others);
};

/// The description of a checkpoint in its metadata.
struct CheckpointStamp {
  RunName run{};
  std::vector<RunName> replaces{};  // runs that this one replaced, whose files may not all be removed yet
  double seconds = 0;
  std::optional<double> value{};
  std::string measured = "";  // which metric the value is: "valid loss"
};
std::pair<std::string, std::string> metadata_of(const CheckpointStamp& stamp);

struct CheckpointIndex {
  std::vector<KeptCheckpoint> checkpoints{};
  std::optional<std::string> measured{};  // which metric their values are
};
inline constexpr std::string_view kIndexFile = "index.json";

struct FoundCheckpoint {
  KeptCheckpoint kept{};
  CheckpointStamp stamp{};
};

struct CheckpointFolder {
  std::vector<FoundCheckpoint> complete{};  // the run's checkpoints, by step
  RunName run{};                            // the run that began last
  std::vector<RunName> replaces{};          // runs that `run` replaces
  // Files that the rules no longer keep, and those of replaced runs, which a killed process could not remove.
  std::vector<std::pair<std::string, RunName>> unwanted{};
  std::vector<std::string> notes{};  // about damaged files, and an index that does not fit
};
/// Throws no errors because of the files' contents.
CheckpointFolder scan(const std::filesystem::path& directory);

/// Renames a complete checkpoint of another run that has this name to "step-7.kiln.other", so that it is not
/// overwritten.
void rename_foreign(const std::filesystem::path& file);
/// Removes a checkpoint if this run wrote it.
void remove_checkpoint(const std::filesystem::path& file, const RunName& run);

}  // namespace training
}  // namespace kiln
