// A process is killed before each call that changes the disk: the newest checkpoint that is whole is never lost.
#include <gtest/gtest.h>

#include <atomic>
#include <csignal>
#include <cstdarg>
#include <filesystem>
#include <fstream>
#include <set>

#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kiln/core/file.hpp"
#include "kiln/train/checkpointer.hpp"
#include "tests/support/sentence.hpp"
#include "tests/train/fresh_directory.hpp"

namespace {

std::atomic<int> calls_left{-1};  // until this process is killed; negative: it is not

void count_call() {
  if (calls_left > 0 && --calls_left == 0) ::kill(::getpid(), SIGKILL);
}

}  // namespace

// In the places of the C library's, for this program.
extern "C" {
ssize_t write(int file, const void* bytes, std::size_t count) {
  count_call();
  return ::syscall(SYS_write, file, bytes, count);
}
int fsync(int file) {
  count_call();
  return file < 0 ? -1 : 0;  // a process that is killed needs no disk to be waited for
}
int linkat(int from, const char* old_path, int to, const char* new_path, int flags) noexcept {
  count_call();
  return static_cast<int>(::syscall(SYS_linkat, from, old_path, to, new_path, flags));
}
int rename(const char* from, const char* to) noexcept {
  count_call();
  return static_cast<int>(::syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0));
}
int unlink(const char* path) noexcept {
  count_call();
  return static_cast<int>(::syscall(SYS_unlinkat, AT_FDCWD, path, 0));
}
int remove(const char* path) noexcept { return unlink(path) == 0 ? 0 : ::rmdir(path); }
}

namespace kiln {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kSteps = 4;

/// A loop by hand that goes on where it was; `anew`: that begins anew.
std::int64_t count_to(const fs::path& directory, std::int64_t steps, bool anew = false) {
  std::int64_t number = 1;
  training::Position at;
  RecordedObjects all;
  all.add("number", number), all.add("at", at);
  Checkpointer checkpoints(directory, {.every_steps = 1, .last = 2});
  if (anew) checkpoints.begin_new_run();
  else if (const auto file = checkpoints.latest()) checkpoints.restore(all, *file);
  while (at.step < steps) {
    number = number * 3 + ++at.step;
    checkpoints.save(all, at);
  }
  checkpoints.finish();
  return number;
}

std::set<std::string> files_in(const fs::path& directory) {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(directory)) names.insert(entry.path().filename());
  return names;
}

/// The greatest step of which there is a file that can be read to its end; -1 where there is none.
std::int64_t newest_whole(const fs::path& directory) {
  std::int64_t newest = -1;
  for (const std::string& name : files_in(directory)) {
    if (!name.starts_with("step-") || !name.ends_with(".kiln")) continue;
    std::int64_t number = 0;
    training::Position at;
    RecordedObjects all;
    all.add("number", number), all.add("at", at);
    if (sentence_of([&] {
          all.restore(open_tensors((directory / name).string()), name);
          return 0;
        }).empty())
      newest = std::max(newest, at.step);
  }
  return newest;
}

/// Whether it was killed.
template <class F>
bool killed_before(int call, F&& program) {
  const pid_t child = ::fork();
  if (child == 0) {
    calls_left = call;
    program();
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status) ? WTERMSIG(status) == SIGKILL : WEXITSTATUS(status) == 0) << status;
  return WIFSIGNALED(status);
}

TEST(KillPoints, LoseNoCheckpointThatIsWhole) {
  const std::int64_t expected = count_to(fresh_directory("not-killed"), kSteps + 1);
  int call = 1;
  for (bool killed = true; killed; ++call) {
    const fs::path directory = fresh_directory("killed-before");
    killed = killed_before(call, [&] { count_to(directory, kSteps); });
    if (!fs::exists(directory)) continue;
    const std::int64_t newest = newest_whole(directory);
    const auto latest = Checkpointer(directory, {}).latest();
    ASSERT_EQ(latest ? fs::path(*latest).filename() : "", newest < 0 ? "" : text("step-", newest, ".kiln"))
        << "before call " << call;
    if (newest >= 0) { ASSERT_EQ(latest_checkpoint(directory), *latest); }
    ASSERT_EQ(count_to(directory, kSteps + 1), expected) << "before call " << call;
    ASSERT_EQ(files_in(directory), (std::set<std::string>{"index.json", "step-4.kiln", "step-5.kiln"}))
        << "before call " << call;
  }
  EXPECT_GT(call, 25);  // some calls for each of four files, and for each index
}

TEST(KillPoints, OfATrainingThatBeginsAnewLeaveTheOldOneOrTheNewOne) {
  for (int call = 1;; ++call) {
    const fs::path directory = fresh_directory("anew");
    count_to(directory, kSteps);
    const bool killed = killed_before(call, [&] { count_to(directory, 2, true); });
    const std::string latest = fs::path(latest_checkpoint(directory)).filename();
    const auto files = files_in(directory);
    // The first file of the new one is what counts from then on, though its step is smaller.
    const bool has_new = files.contains("step-1.kiln") || files.contains("step-2.kiln");
    ASSERT_EQ(latest == "step-4.kiln", !has_new) << "before call " << call << ": " << latest;
    // What the other one left goes with the next process, and nothing else does.
    count_to(directory, kSteps + 1);
    ASSERT_EQ(files_in(directory), (std::set<std::string>{"index.json", "step-4.kiln", "step-5.kiln"}))
        << "before call " << call;
    if (!killed) break;
  }
}

TEST(KillPoints, ALostIndexLosesNothing) {
  const fs::path directory = fresh_directory("index-lost");
  count_to(directory, 4);
  fs::remove(directory / "index.json");
  EXPECT_EQ(latest_checkpoint(directory), (directory / "step-4.kiln").string());
  EXPECT_EQ(count_to(directory, 7), count_to(fresh_directory("index-kept"), 7));
  EXPECT_EQ(files_in(directory), (std::set<std::string>{"index.json", "step-6.kiln", "step-7.kiln"}));

  for (const char* const damage :
       {"", "{", "[]", "{\"checkpoints\": 3}", "\xff\xff", "{\"checkpoints\": [{\"step\": 1e300}]}"}) {
    std::ofstream(directory / "index.json") << damage;
    Checkpointer checkpoints(directory, {});
    EXPECT_EQ(checkpoints.latest(), (directory / "step-7.kiln").string());
    ASSERT_EQ(checkpoints.notes().size(), 1u);
    EXPECT_NE(checkpoints.notes()[0].find("index.json"), std::string::npos) << checkpoints.notes()[0];
  }
  fs::remove_all(directory);
  fs::create_directories(directory);
  EXPECT_EQ(sentence_of([&] { return latest_checkpoint(directory); }),
            text("IoError: ", directory.string(), " holds no checkpoint"));
}

TEST(KillPoints, AnotherRunsIndexRemovesNothing) {
  const fs::path own = fresh_directory("own"), other = fresh_directory("other");
  count_to(own, 4);
  count_to(other, 30);
  fs::copy_file(other / "index.json", own / "index.json", fs::copy_options::overwrite_existing);
  EXPECT_EQ(fs::path(latest_checkpoint(own)).filename(), "step-4.kiln");
  EXPECT_EQ(files_in(own), (std::set<std::string>{"index.json", "step-3.kiln", "step-4.kiln"}));
  EXPECT_EQ(count_to(own, 6), count_to(fresh_directory("six"), 6));

  // Names that lead out of the directory are names of nothing.
  const fs::path outside = fresh_directory("outside");
  count_to(outside, 9);
  const std::string victim = (outside / "step-9.kiln").string();
  std::ofstream(own / "index.json")
      << R"({"checkpoints": [{"file": "../outside/step-9.kiln", "step": 99, "seconds": 0, "value": null},
    {"file": ")"
      << victim << R"(", "step": 100, "seconds": 0, "value": null}], "measured": "valid loss"})";
  EXPECT_EQ(fs::path(latest_checkpoint(own)).filename(), "step-6.kiln");
  count_to(own, 8);
  EXPECT_TRUE(fs::exists(victim));
}

TEST(KillPoints, AnotherRunsCheckpointsStayWhereTheyAre) {
  const fs::path own = fresh_directory("mine"), other = fresh_directory("theirs");
  count_to(other, 20);
  count_to(own, 4);  // which began later
  fs::copy_file(other / "step-20.kiln", own / "step-20.kiln");
  EXPECT_EQ(fs::path(latest_checkpoint(own)).filename(), "step-4.kiln");
  count_to(own, 6);
  EXPECT_EQ(files_in(own), (std::set<std::string>{"index.json", "step-20.kiln", "step-5.kiln", "step-6.kiln"}));

  const std::string theirs = read_text_file((other / "step-20.kiln").string());
  count_to(own, 20);
  EXPECT_EQ(files_in(own), (std::set<std::string>{"index.json", "step-19.kiln", "step-20.kiln", "step-20.kiln.other"}));
  EXPECT_EQ(read_text_file((own / "step-20.kiln.other").string()), theirs);

  // Nor does anything remove what cannot be read: it is said, and the one before counts.
  fs::resize_file(own / "step-20.kiln", fs::file_size(own / "step-20.kiln") / 2);
  Checkpointer checkpoints(own, {});
  EXPECT_EQ(checkpoints.latest(), (own / "step-19.kiln").string());
  ASSERT_EQ(checkpoints.notes().size(), 1u);
  EXPECT_NE(checkpoints.notes()[0].find("step-20.kiln"), std::string::npos) << checkpoints.notes()[0];
  EXPECT_TRUE(fs::exists(own / "step-20.kiln"));
}

}  // namespace
}  // namespace kiln
