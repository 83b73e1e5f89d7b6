#include "kiln/train/checkpoint_folder.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <random>
#include <system_error>
#include <utility>

#include "kiln/core/config/config.hpp"
#include "kiln/core/error/error.hpp"
#include "kiln/core/folder.hpp"

namespace kiln::training {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kStampKey = "checkpoint", kTrainingKey = "kiln.training";

/// 7 for "step-7.kiln"; none for names of other files.
std::optional<std::int64_t> step_of(std::string_view name) {
  constexpr std::string_view kBegin = "step-", kEnd = ".kiln";
  if (!name.starts_with(kBegin) || !name.ends_with(kEnd) || name.size() <= kBegin.size() + kEnd.size())
    return std::nullopt;
  const std::string_view digits = name.substr(kBegin.size(), name.size() - kBegin.size() - kEnd.size());
  std::int64_t step = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), step);
  const bool whole = error == std::errc() && end == digits.data() + digits.size() && digits[0] != '-';
  return whole ? std::optional(step) : std::nullopt;
}

/// The stamp of a complete checkpoint; none for another file. Throws DataError if it is damaged.
std::optional<CheckpointStamp> stamp_of(const std::string& file) {
  const Metadata metadata = open_tensors(file).metadata;
  if (!metadata.contains(std::string(kTrainingKey))) return std::nullopt;
  const auto said = metadata.find(std::string(kStampKey));
  if (said == metadata.end()) return CheckpointStamp();
  return from_json<CheckpointStamp>(std::string_view(said->second), file);
}

CheckpointIndex index_of(const fs::path& directory, std::vector<std::string>& notes) {
  const fs::path index = directory / kIndexFile;
  std::error_code ignored;
  if (!fs::exists(index, ignored)) return {};
  try {
    return load_config<CheckpointIndex>(index.string());
  } catch (const MemoryError&) { throw; } catch (const Error& error) {
    notes.push_back(text(error.message(), "; the checkpoints beside it count as they are"));
    return {};
  }
}

const KeptCheckpoint* entry_of(const CheckpointIndex& index, std::string_view file) {
  const auto found = std::ranges::find(index.checkpoints, file, &KeptCheckpoint::file);
  return found == index.checkpoints.end() ? nullptr : &*found;
}

}  // namespace

RunName RunName::fresh(std::int64_t others) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto since = std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
  std::random_device random;
  char word[17];
  std::snprintf(word, sizeof word, "%08x%08x", static_cast<unsigned>(random()), static_cast<unsigned>(random()));
  return {std::max<std::int64_t>(since, others + 1), word};
}

std::pair<std::string, std::string> metadata_of(const CheckpointStamp& stamp) {
  return {std::string(kStampKey), write_json(to_json(stamp))};
}

CheckpointFolder scan(const fs::path& directory) {
  CheckpointFolder folder;
  const CheckpointIndex index = index_of(directory, folder.notes);
  std::vector<FoundCheckpoint> all;
  std::error_code error;
  for (const fs::path& path : paths_in(directory, error)) {
    const std::string name = path.filename().string();
    std::error_code ignored;
    const auto step = step_of(name);
    if (!step || !fs::is_regular_file(path, ignored)) continue;
    try {
      const auto stamp = stamp_of(path.string());
      if (!stamp) continue;
      FoundCheckpoint found{{name, *step, stamp->seconds, stamp->value}, *stamp};
      if (const KeptCheckpoint* const said = entry_of(index, name); said && stamp->run == RunName()) {
        found.kept.seconds = said->seconds;
        found.kept.value = said->value;
        found.stamp.measured = index.measured.value_or("");
      }
      all.push_back(std::move(found));
    } catch (const MemoryError&) { throw; } catch (const Error& damage) {
      folder.notes.push_back(text("a checkpoint that is damaged is left where it is: ", damage.message()));
    }
  }
  for (const FoundCheckpoint& found : all)
    if (found.stamp.run.began >= folder.run.began) folder.run = found.stamp.run;
  std::vector<RunName> replaced;
  for (const FoundCheckpoint& found : all)
    if (found.stamp.run == folder.run && !found.stamp.replaces.empty()) replaced = found.stamp.replaces;
  for (FoundCheckpoint& found : all) {
    const RunName& run = found.stamp.run;
    if (run == folder.run) {
      folder.complete.push_back(std::move(found));
    } else if (std::ranges::find(replaced, run) != replaced.end()) {
      if (std::ranges::find(folder.replaces, run) == folder.replaces.end()) folder.replaces.push_back(run);
      folder.unwanted.emplace_back(found.kept.file, run);
    }
  }
  std::ranges::sort(folder.complete, {}, [](const FoundCheckpoint& found) { return found.kept.step; });

  // Files that a killed process could not remove are older than those that its index names; files that it could not
  // name there are newer.
  std::int64_t newest_named = -1;
  for (const FoundCheckpoint& found : folder.complete)
    if (entry_of(index, found.kept.file)) newest_named = found.kept.step;
  std::erase_if(folder.complete, [&](const FoundCheckpoint& found) {
    const bool unwanted = found.kept.step < newest_named && !entry_of(index, found.kept.file);
    if (unwanted) folder.unwanted.emplace_back(found.kept.file, folder.run);
    return unwanted;
  });
  return folder;
}

void rename_foreign(const fs::path& file) {
  std::error_code ignored;
  if (!fs::exists(file, ignored)) return;
  try {
    if (!stamp_of(file.string())) return;
  } catch (const Error&) { return; }  // damaged, and of no use
  std::string other = file.string() + ".other";
  for (int i = 2; fs::exists(other, ignored); ++i) other = text(file.string(), ".other-", i);
  fs::rename(file, other, ignored);
}

void remove_checkpoint(const fs::path& file, const RunName& run) {
  std::error_code ignored;
  try {
    if (const auto stamp = stamp_of(file.string()); stamp && stamp->run == run) fs::remove(file, ignored);
  } catch (const Error&) {}  // removed meanwhile, or damaged
}

}  // namespace kiln::training
