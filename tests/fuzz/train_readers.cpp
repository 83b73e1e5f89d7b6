// The index of a folder of checkpoints: whatever it says, nothing outside is touched.
#include <algorithm>
#include <filesystem>
#include <map>

#include "kiln/core/file.hpp"
#include "kiln/train/checkpointer.hpp"
#include "tests/fuzz/changes.hpp"

namespace kiln::test {
namespace {

namespace fs = std::filesystem;

struct Counted {
  std::int64_t number = 0;
  RecordedObjects all{};
  Counted() { all.add("number", number); }
};

/// A folder with checkpoints of its own and what is somebody else's, in it and beside it.
struct Run {
  fs::path folder;
  std::map<std::string, FileContents> files;  // in the folder
};
const Run& run() {
  static const Run made = [] {
    const fs::path folder = fs::path(on_disk("run/checkpoints/notes.txt", contents_of("mine"))).parent_path();
    on_disk("run/weights.kiln", contents_of("mine too"));
    Checkpointer checkpoints(folder, {.last = 2, .best = 1});
    Counted counted;
    for (std::int64_t step = 1; step <= 2; ++step) {
      training::Position at{};
      at.step = step;
      checkpoints.save(counted.all, at);
    }
    checkpoints.finish();
    Run run{folder, {}};
    for (const auto& entry : fs::directory_iterator(folder))
      run.files.emplace(entry.path().filename().string(), read_file(entry.path().string()));
    return run;
  }();
  return made;
}

void read_index(std::span<const std::byte> file) {
  const fs::path place = run().folder;
  for (const auto& [name, contents] : run().files) on_disk("run/checkpoints/" + name, contents);
  on_disk("run/checkpoints/index.json", file);
  const auto check = [&] {
    expect(fs::exists(place / "notes.txt") && fs::exists(place.parent_path() / "weights.kiln"),
           "an index had somebody else's file deleted");
  };
  try {
    const std::string newest = door([&] { return latest_checkpoint(place); });
    expect(fs::path(newest).parent_path() == place, "an index names a checkpoint elsewhere");
    Counted counted;
    const CheckpointRules rules{.last = 2};
    const Checkpointer checkpoints(place, rules);
    door([&] { checkpoints.restore(counted.all, newest); });
  } catch (const Error&) {
    check();
    throw;
  }
  check();
}

const Reader kTrainReaders[] = {{.name = "checkpoints",
                                 .sound = [] { return Files{run().files.at("index.json")}; },
                                 .read = read_index,
                                 .change = change_json,
                                 .text = true}};

}  // namespace

std::span<const Reader> train_readers() { return kTrainReaders; }

}  // namespace kiln::test
