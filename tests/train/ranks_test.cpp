// Ranks that are processes, started by mpirun, as a user would start them.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <set>

#include <sys/wait.h>
#include <unistd.h>

#include "kiln/collective/mpi_ranks.hpp"
#include "kiln/collective/thread_ranks.hpp"
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

Said launch(int ranks, const std::string& words) {
  return run(text("env OMPI_MCA_btl_base_warn_component_unused=0 OMPI_MCA_btl_vader_single_copy_mechanism=none ",
                  MPIRUN, " --allow-run-as-root --oversubscribe -n ", ranks, ' ', RANKS_PROGRAM, ' ', words));
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
    const Said said = launch(ranks, "train");
    EXPECT_EQ(said.status, 0) << said;
    // The same bits as of threads, which together_test.cpp compares with one rank.
    for (int rank = 0; rank < ranks; ++rank)
      EXPECT_TRUE(
          said.has(text("rank ", rank, ": step ", one.ending.at.step, ", weights ", bits_of(threads[0].weights))))
          << said;
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
      different.has("ArgumentError: all_reduce (sum) of float32 [1]: rank 1 has come to another call, all_reduce "
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
  EXPECT_TRUE(late.has("said: IoError: barrier: rank 1 has not come within 1 s")) << late;
  EXPECT_LT(late.seconds, 55);
}

TEST_F(Processes, EndWithOneThatIsKilled) {
  for (const std::string word : {"kill", "exit"}) {
    const Said said = launch(3, word);
    EXPECT_NE(said.status, 0) << said;
    EXPECT_NE(said.status, 124) << "they hung";
    EXPECT_LT(said.seconds, 55);
  }
}

TEST_F(Processes, AreOneWithoutALauncherAndRefuseOneThatMpiDoesNotKnow) {
  const Said one = run(text(RANKS_PROGRAM, " collectives"));
  EXPECT_EQ(one.status, 0) << one;
  EXPECT_TRUE(one.has("rank 0: of 1, 0 wrong")) << one;
  const Said unknown = run(text("env WORLD_SIZE=4 ", RANKS_PROGRAM, " collectives"));
  EXPECT_EQ(unknown.status, 1);
  EXPECT_TRUE(
      unknown.has("IoError: mpi_ranks: WORLD_SIZE says that there are 4 processes, but MPI was started for this one "
                  "alone"))
      << unknown;
}

TEST(WithoutMpi, IsSaidWithWhatToInstall) {
  if (has_mpi()) GTEST_SKIP() << "Kiln was built with MPI";
  EXPECT_EQ(
      sentence_of([] { return mpi_ranks(); }),
      "IoError: mpi_ranks: this Kiln was built without MPI: install it (Debian: libopenmpi-dev) and configure again");
}

}  // namespace
}  // namespace kiln::test
