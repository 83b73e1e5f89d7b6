// Ranks that are processes, started by mpirun or by something else, as a user would start them.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <future>
#include <set>

#include <sys/wait.h>
#include <unistd.h>
#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/lsan_interface.h>
#endif

#include "kiln/collective/mpi_ranks.hpp"
#include "kiln/collective/socket_ranks.hpp"
#include "kiln/collective/thread_ranks.hpp"
#include "tests/support/mpirun.hpp"
#include "tests/support/own_loopback.hpp"
#include "tests/support/sentence.hpp"
#include "tests/train/together.hpp"

namespace kiln::test {
namespace {

struct Said {
  int status = 0;
  std::vector<std::string> lines{};
  double seconds = 0;

  bool has(std::string_view part) const {
    return std::ranges::any_of(lines, [&](const std::string& line) { return line.find(part) != line.npos; });
  }
};
std::ostream& operator<<(std::ostream& out, const Said& said) {
  out << "status " << said.status << ":\n";
  for (const std::string& line : said.lines) out << "  " << line << '\n';
  return out;
}

Said run(const std::string& command) {
  Said said;
  const auto began = std::chrono::steady_clock::now();
  std::FILE* const pipe = ::popen(text("timeout 120 ", command, " 2>&1").c_str(), "r");
  std::array<char, 4096> buffer{};
  std::string line;
  while (std::fgets(buffer.data(), buffer.size(), pipe)) {
    line += buffer.data();
    if (!line.ends_with('\n')) continue;
    line.pop_back();
    said.lines.push_back(std::exchange(line, {}));
  }
  const int status = ::pclose(pipe);
  said.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  said.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  return said;
}

Said launch(int ranks, const std::string& words, const std::string& options = "") {
  return run(text(mpirun(ranks, options), RANKS_PROGRAM, ' ', words));
}

class Processes : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_mpi()) GTEST_SKIP() << "Kiln was built without MPI";
  }
};

TEST_F(Processes, CombineWhatTheyHave) {
  for (const int ranks : {1, 2, 4}) {
    const Said said = launch(ranks, "collectives");
    EXPECT_EQ(said.status, 0) << said;
    std::string gathered;
    for (int rank = 0; rank < ranks; ++rank) gathered += text(' ', rank, " 1");
    for (int rank = 0; rank < ranks; ++rank)
      EXPECT_TRUE(said.has(text("rank ", rank, ": of ", ranks, ", 0 wrong, gathered", gathered, ", of the last ",
                                ranks - 1, " 1, scattered ", rank, " 1")))
          << said;
  }
}

TEST_F(Processes, TrainAsOneDoesWithTheWholeBatch) {
  const Trained one = train_together({}, alone(), another(Device::cpu()).autodiff());
  for (const int ranks : {2, 3, 4}) {
    std::vector<Trained> threads(static_cast<std::size_t>(ranks));
    std::vector<Device> devices;
    for (int i = 0; i < ranks; ++i) devices.push_back(another(Device::cpu()).autodiff());
    on_each(devices, [&](const Ranks& rank, const Device& device) {
      threads[static_cast<std::size_t>(rank->rank())] = train_together({}, rank, device);
    });
    for (std::size_t i = 0; i < one.weights.size(); ++i) EXPECT_NEAR(threads[0].weights[i], one.weights[i], 1e-5);
    const Said said = launch(ranks, "train"), sharded = launch(ranks, "train - state");
    EXPECT_EQ(said.status, 0) << said;
    EXPECT_EQ(sharded.status, 0) << sharded;
    // The same bits as of threads, which together_test.cpp compares with one rank; also if ranks share the state.
    for (const auto* const each : {&said, &sharded})
      for (int rank = 0; rank < ranks; ++rank)
        EXPECT_TRUE(
            each->has(text("rank ", rank, ": step ", one.ending.at.step, ", weights ", bits_of(threads[0].weights))))
            << *each;
  }
}

TEST_F(Processes, GoOnFromTheCheckpointsOfRankZero) {
  const auto place = std::filesystem::temp_directory_path() / text("kiln-ranks-", ::getpid());
  const Said first = launch(2, text("train ", place.string())), again = launch(3, text("train ", place.string()));
  EXPECT_EQ(first.status, 0) << first;
  EXPECT_EQ(again.status, 0) << again;  // it was at its end: other ranks take its weights
  std::set<std::string> weights;
  for (const auto* said : {&first, &again})
    for (const std::string& line : said->lines)
      if (const auto at = line.find("step "); at != line.npos) weights.insert(line.substr(at));
  EXPECT_EQ(weights.size(), 1u) << first << again;
  std::filesystem::remove_all(place);
}

TEST_F(Processes, StopTogether) {
  const Said said = launch(3, "stop");
  EXPECT_EQ(said.status, 0) << said;
  for (int rank = 0; rank < 3; ++rank) EXPECT_TRUE(said.has(text("rank ", rank, ": interrupted at step 4"))) << said;
}

TEST_F(Processes, TellOfRanksThatLeaveOrDoNotCome) {
  const Said different = launch(2, "differ");
  EXPECT_TRUE(
      different.has("ArgumentError: all_reduce (sum) of float32 [1]: rank 1 has reached another call, all_reduce "
                    "(sum) of float32 [2]"))
      << different;
  EXPECT_NE(different.status, 0);
  for (const std::string word : {"throw", "end"}) {
    const Said said = launch(2, word);
    EXPECT_TRUE(said.has("said: IoError: barrier: rank 1 has left: its program has ended")) << said;
    EXPECT_NE(said.status, 0);
    EXPECT_LT(said.seconds, 55);  // less than the time that ranks wait for others
  }
  const Said late = launch(2, "late");
  EXPECT_TRUE(late.has("said: IoError: barrier: rank 1 has not arrived within 1 s")) << late;
  EXPECT_LT(late.seconds, 55);
}

TEST_F(Processes, EndWithOneThatIsKilled) {
  // "kill" and "exit" while the others wait for it; "kill busy" while they are busy themselves for longer than mpirun lets them
  // live, and tell it beside that.
  for (const std::string word : {"kill", "exit", "kill busy", "kill gradients"}) {
    const Said said = launch(3, word);
    EXPECT_TRUE(said.has("rank 1 has left: it was killed, or ended without a message")) << said;
    EXPECT_TRUE(said.has("started again, training continues from its last checkpoint")) << said;
    EXPECT_FALSE(said.has("rank 0 has left") || said.has("rank 2 has left")) << said;
    EXPECT_NE(said.status, 0) << said;
    EXPECT_NE(said.status, 124) << "they hung";
    EXPECT_LT(said.seconds, 55);
  }
  // A launcher that leaves the others alone: the first of them to end says why, and ends all.
  const Said left = launch(3, "kill", "--enable-recovery");
  EXPECT_TRUE(std::ranges::any_of(left.lines, [](const std::string& line) {
    return line.starts_with("said: IoError: ") && line.find(": rank 1 has left: it was killed") != line.npos;
  })) << left;
  EXPECT_NE(left.status, 124) << "they hung";
  EXPECT_LT(left.seconds, 55);
}

/// Programs that somebody starts who is no MPI, but says who is who in the environment that `variables` are for a rank.
Said start(int ranks, const std::string& words, const std::string& variables) {
  std::string command = "sh -c '";
  for (int rank = 0; rank < ranks; ++rank)
    command += text("env rank=", rank, " sh -c \"env ", variables, ' ', RANKS_PROGRAM, ' ', words, "\" & ");
  // Ends as the first that ends otherwise than well, after all have.
  return run(command + "status=0; for p in $(jobs -p); do wait $p || status=$?; done; exit $status'");
}
/// As torchrun says it, at a place that no other launch has.
std::string variables(int ranks) {
  static int port = 21'000;
  return text("RANK=\\$rank WORLD_SIZE=", ranks, " MASTER_ADDR=", own_loopback(), " MASTER_PORT=", ++port);
}

TEST(Launched, MeetBySockets) {
  for (const int ranks : {1, 2, 4}) {
    const Said said = start(ranks, "collectives", variables(ranks));
    EXPECT_EQ(said.status, 0) << said;
    std::string gathered;
    for (int rank = 0; rank < ranks; ++rank) gathered += text(' ', rank, " 1");
    for (int rank = 0; rank < ranks; ++rank)
      EXPECT_TRUE(said.has(text("rank ", rank, ": of ", ranks, ", 0 wrong, gathered", gathered, ", of the last ",
                                ranks - 1, " 1, scattered ", rank, " 1")))
          << said;
  }
}

TEST(Launched, TrainToTheBitsOfThreads) {
  std::vector<Trained> threads(3);
  const std::vector<Device> devices = {another(Device::cpu()).autodiff(), another(Device::cpu()).autodiff(),
                                       another(Device::cpu()).autodiff()};
  on_each(devices, [&](const Ranks& rank, const Device& device) {
    threads[static_cast<std::size_t>(rank->rank())] = train_together({}, rank, device);
  });
  const std::string expected = text("step ", threads[0].ending.at.step, ", weights ", bits_of(threads[0].weights));
  // By RANK and WORLD_SIZE, and by what Slurm's srun says.
  const std::string slurm = text(
      "SLURM_PROCID=\\$rank SLURM_STEP_NUM_TASKS=3 SLURM_STEP_NODELIST=localhost "
      "SLURM_STEP_ID=1 SLURM_JOB_ID=",
      ::getpid());
  for (const auto& [words, said_by] : {std::pair<std::string, std::string>("train", variables(3)),
                                       {"train", slurm},
                                       {"train - gradients", variables(3)}}) {
    const Said said = start(3, words, said_by);
    EXPECT_EQ(said.status, 0) << said;
    for (int rank = 0; rank < 3; ++rank) EXPECT_TRUE(said.has(text("rank ", rank, ": ", expected))) << said;
  }
}

TEST(Launched, StopTogetherAndEndWithOneThatGoes) {
  const Said stopped = start(3, "stop", variables(3));
  EXPECT_EQ(stopped.status, 0) << stopped;
  for (int rank = 0; rank < 3; ++rank) EXPECT_TRUE(stopped.has(text("rank ", rank, ": interrupted at step 4")));
  const Said different = start(2, "differ", variables(2));
  EXPECT_TRUE(different.has("rank 1 has reached another call, all_reduce (sum) of float32 [2]")) << different;
  const Said late = start(2, "late", variables(2));
  EXPECT_TRUE(late.has("said: IoError: barrier: rank 1 has not arrived within 1 s")) << late;
  for (const std::string word : {"throw", "end"}) {
    const Said said = start(2, word, variables(2));
    EXPECT_TRUE(said.has("said: IoError: barrier: rank 1 has left: its program has ended")) << said;
  }
  for (const std::string word : {"kill", "exit", "kill gradients"}) {
    const Said said = start(3, word, variables(3));
    EXPECT_TRUE(said.has("rank 1 has left: it was killed, or ended without a message")) << said;
    EXPECT_LT(said.seconds, 55);
  }
}

TEST(Launched, SayWhoDoesNotCome) {  // for which they wait ten seconds: all at once
  const auto begun = [](int n, const std::string& as) { return std::async(std::launch::async, start, n, "late", as); };
  auto waiting = begun(1, text("RANK=0 WORLD_SIZE=2 ", variables(2).substr(variables(2).find("MASTER"))));
  auto losing = begun(1, "RANK=1 WORLD_SIZE=2 MASTER_PORT=1");
  auto doubled = begun(2, text("RANK=0 WORLD_SIZE=2 MASTER_PORT=20999 MASTER_ADDR=", own_loopback()));
  const Said alone = waiting.get(), lost = losing.get(), twice = doubled.get();
  EXPECT_TRUE(alone.has("said: IoError: ranks: rank 1 has not connected to port ")) << alone;
  EXPECT_TRUE(lost.has("said: IoError: ranks: rank 0 cannot be reached at 127.0.0.1:1: ")) << lost;
  EXPECT_TRUE(lost.has("cannot be reached: Connection refused")) << lost;
  EXPECT_TRUE(twice.has("said: IoError: ranks: cannot wait at port ")) << twice;
  const Said unknown = start(1, "late", "RANK=2 WORLD_SIZE=2"), nonsense = start(1, "late", "RANK=x WORLD_SIZE=2");
  EXPECT_TRUE(unknown.has("said: IoError: ranks: the launcher says rank 2 of 2")) << unknown;
  EXPECT_TRUE(nonsense.has("said: IoError: ranks: RANK says x, which is not a number")) << nonsense;
}

TEST(Launched, AreOneWithoutALauncher) {
  const Said one = run(text(RANKS_PROGRAM, " collectives"));
  EXPECT_EQ(one.status, 0) << one;
  EXPECT_TRUE(one.has("rank 0: of 1, 0 wrong")) << one;
}

TEST(Launch, IsWhatTheEnvironmentSays) {
  const auto of = [](std::initializer_list<std::pair<const char*, const char*>> variables) {
    for (const auto& [name, value] : variables) ::setenv(name, value, 1);
    const Launch launch = Launch::from_environment();
    for (const auto& [name, value] : variables) ::unsetenv(name);
    return text(launch.rank, " of ", launch.size, " at ", launch.address, ':', launch.port);
  };
  EXPECT_EQ(of({}), "0 of 1 at 127.0.0.1:29400");
  EXPECT_EQ(of({{"RANK", "1"}, {"WORLD_SIZE", "2"}}), "1 of 2 at 127.0.0.1:29400");
  EXPECT_EQ(of({{"RANK", "0"},
                {"WORLD_SIZE", "2"},
                {"MASTER_ADDR", "a.b"},
                {"MASTER_PORT", "5"},
                {"TORCHELASTIC_USE_AGENT_STORE", "True"}}),
            "0 of 2 at a.b:6");
  for (const auto& [list, first] : {std::pair("n[07-09,12],login", "n07"),
                                    {"n3", "n3"},
                                    {"a,b[1-2]", "a"},
                                    {"gpu[3,5]", "gpu3"},
                                    {"x[12]", "x12"},
                                    {"x[", "x"}})
    EXPECT_EQ(of({{"SLURM_PROCID", "3"},
                  {"SLURM_STEP_NUM_TASKS", "4"},
                  {"SLURM_STEP_NODELIST", list},
                  {"SLURM_JOB_ID", "10007"},
                  {"SLURM_STEP_ID", "2"}}),
              text("3 of 4 at ", first, ":20201"));
  EXPECT_EQ(sentence_of([&] { return of({{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"MASTER_PORT", "70000"}}); }),
            "IoError: ranks: the port 70000 must be 1 to 65535");
  ::unsetenv("RANK");
  ::unsetenv("WORLD_SIZE");
  ::unsetenv("MASTER_PORT");
}

TEST(Mpi, RefusesALauncherThatItDoesNotKnow) {
  if (!has_mpi()) GTEST_SKIP() << "Kiln was built without MPI";
#if defined(__SANITIZE_ADDRESS__)
  const __lsan::ScopedDisabler of_openmpi;  // which unloads its plugins, whose leaks have no names by then
#endif
  ::setenv("WORLD_SIZE", "4", 1);
  EXPECT_EQ(
      sentence_of([] {
        return mpi_ranks()->size();
      }).find("IoError: mpi_ranks: WORLD_SIZE says that there are 4 processes, but MPI was started for this one alone"),
      0u);
  ::unsetenv("WORLD_SIZE");
}

TEST(WithoutMpi, IsSaidWithWhatToInstall) {
  if (has_mpi()) GTEST_SKIP() << "Kiln was built with MPI";
  EXPECT_EQ(
      sentence_of([] { return mpi_ranks(); }),
      "IoError: mpi_ranks: this Kiln was built without MPI: install it (Debian: libopenmpi-dev) and configure again");
}

}  // namespace
}  // namespace kiln::test
