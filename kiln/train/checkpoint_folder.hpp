// What lies in a directory of checkpoints. The files say it themselves: whole ones count, whatever index.json says or lost, and
// each has the name of the run that wrote it, so that no run removes what another wrote.
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
  double seconds = 0;             // of training
  std::optional<double> value{};  // of the metric, where it was measured then
};

namespace training {

/// A training, and what goes on with it. Of files that older versions of Kiln wrote, and that do not say it: nothing.
struct RunName {
  std::int64_t began = 0;  // nanoseconds since 1970
  std::string word = "";   // that no other has
  bool operator==(const RunName&) const = default;

  /// One that began now, and after `others`.
  static RunName fresh(std::int64_t others);
};

/// What a checkpoint says of itself, in its metadata.
struct CheckpointStamp {
  RunName run{};
  std::vector<RunName> replaces{};  // runs in whose place it began anew, and whose files may not all be gone yet
  double seconds = 0;
  std::optional<double> value{};
  std::string measured = "";  // what the value is of: "valid loss"
};
std::pair<std::string, std::string> metadata_of(const CheckpointStamp& stamp);

struct CheckpointIndex {
  std::vector<KeptCheckpoint> checkpoints{};
  std::optional<std::string> measured{};  // what their values are of
};
inline constexpr std::string_view kIndexFile = "index.json";

struct FoundCheckpoint {
  KeptCheckpoint kept{};
  CheckpointStamp stamp{};
};

struct CheckpointFolder {
  std::vector<FoundCheckpoint> whole{};  // those of the run, from the first step
  RunName run{};                         // that which began last
  std::vector<RunName> replaces{};       // by it
  // Files that its rules no longer keep, and those of runs that it replaces: what a process that was killed had no time for.
  std::vector<std::pair<std::string, RunName>> unwanted{};
  std::vector<std::string> notes{};  // of files that are damaged, and of an index that does not fit
};
/// Throws nothing for what it finds, whatever that is.
CheckpointFolder look_into(const std::filesystem::path& directory);

/// Gives a whole checkpoint of another run that has this name another one, "step-7.kiln.other": nothing is written over it.
void set_aside(const std::filesystem::path& file);
/// Removes a checkpoint if this run wrote it.
void remove_checkpoint(const std::filesystem::path& file, const RunName& run);

}  // namespace training
}  // namespace kiln
