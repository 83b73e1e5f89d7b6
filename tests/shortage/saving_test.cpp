// Models to files and back, with the memory running out at each of their allocations.
#include <gtest/gtest.h>

#include <filesystem>

#include "kiln/core/file.hpp"
#include "kiln/store/record/object_record.hpp"
#include "kiln/store/save.hpp"
#include "tests/shortage/shortage.hpp"
#include "tests/train/fresh_directory.hpp"
#include "tests/train/line.hpp"

namespace kiln::test {
namespace {

namespace fs = std::filesystem;

/// Files of a folder that are no half ones of writers that have gone.
int files_in(const fs::path& folder) {
  int count = 0;
  for (const auto& entry : fs::directory_iterator(folder)) {
    ++count;
    EXPECT_NE(entry.path().extension(), ".tmp") << entry.path();
  }
  return count;
}

// The file is the old one or the new one, whole.
TEST(SavingShortage, LeavesAWholeFile) {
  const fs::path folder = fresh_directory("shortage_save");
  fs::create_directories(folder);
  const Line model = line();
  for (const char* name : {"m.safetensors", "m.kiln", "m.pt", "m.npz", "m.gguf", "m.any"}) {
    const std::string path = (folder / name).string();
    save(model, path);
    const std::vector<std::byte> whole = read_file(path);
    expect_memory_error(name, [&] { save(model, path); }, {.dense = 20, .caches = true, .lasting = false, .after = [&] {
                                                             EXPECT_EQ(read_file(path), whole);
                                                           }});
    if (HasFailure()) return;
  }
  EXPECT_EQ(files_in(folder), 6);
}

TEST(SavingShortage, OfSomethingElseLeavesTheOldFile) {
  const fs::path folder = fresh_directory("shortage_old");
  fs::create_directories(folder);
  const std::string path = (folder / "m.safetensors").string();
  const Line model = line(), other{{}, nn::LinearConfig{.in = 3, .out = 5}.init(Device::cpu())};
  save(other, path);
  const std::vector<std::byte> theirs = read_file(path);
  save(model, path);
  const std::vector<std::byte> ours = read_file(path);
  for (std::int64_t at = 1;; ++at) {
    write_file_atomically(path, theirs);
    bool told = false;
    try {
      const Shortage shortage(at, Fails::Once);
      save(model, path);
    } catch (const MemoryError&) { told = true; }
    const bool failed = has_failed();
    EXPECT_EQ(read_file(path), told ? theirs : ours) << at;
    if (!failed || HasFailure()) break;
  }
  EXPECT_EQ(files_in(folder), 1);
}

TEST(LoadingShortage, LeavesTheModelAsItWas) {
  const fs::path folder = fresh_directory("shortage_load");
  fs::create_directories(folder);
  const std::string path = (folder / "m.safetensors").string();
  Line model = line();
  save(model, path);
  const std::vector<float> saved = weights(model);
  expect_memory_error("load", [&] { load(model, path); }, {.dense = 20, .caches = true, .lasting = false, .after = [&] {
                                                             EXPECT_EQ(weights(model), saved);
                                                           }});
  expect_memory_error("save_record", [&] { save_record(model, path); },
                      {.dense = 20, .caches = true, .lasting = false, .after = [] {}});
  expect_memory_error(
      "load_record", [&] { load_record(model, path); },
      {.dense = 20, .caches = true, .lasting = false, .after = [&] { EXPECT_EQ(weights(model), saved); }});
}

}  // namespace
}  // namespace kiln::test
