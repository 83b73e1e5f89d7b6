// The examples of reinforcement learning, for a few updates: they start, learn, report a score and film an episode.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "kiln/core/text.hpp"
#include "tests/data/temporary_directory.hpp"

#include "output_of.hpp"

namespace kiln {
namespace {

class RlExamples : public testing::Test {
 protected:
  std::string in_folder(const std::string& command) {
    return output_of(text("cd ", folder_.path().string(), " && ", command));
  }
  bool has_film(const std::string& example) {
    const auto film = folder_ / ("artifacts/" + example + "/episode-0001.gif");
    return std::filesystem::exists(film) && std::filesystem::file_size(film) > 1000;
  }

  test::TemporaryDirectory folder_;
};

TEST_F(RlExamples, DqnBalancesAPole) {
  const std::string said = in_folder(DQN_PROGRAM " --plain --steps 2000 --agent.warm_up 500 --episodes 2");
  EXPECT_GE(number_after(said, "mean reward of 2 episodes: "), 8) << said;  // no pole falls sooner
  EXPECT_TRUE(has_film("dqn"));
}

TEST_F(RlExamples, PpoCatchesBalls) {
  const std::string said = in_folder(PPO_PROGRAM " --plain --steps 1024 --agent.epochs 1 --episodes 2");
  EXPECT_GE(number_after(said, "mean reward of 2 episodes: "), -5) << said;
  EXPECT_TRUE(has_film("ppo"));
}

TEST_F(RlExamples, SacSwingsAPendulum) {
  const std::string said =
      in_folder(SAC_PROGRAM
                " --plain --steps 230 --agent.common.warm_up 200 --agent.common.batch 32 --hidden=16,16 --episodes 2");
  EXPECT_LT(number_after(said, "mean reward of 2 episodes: "), 0) << said;
  EXPECT_TRUE(has_film("sac"));
}

TEST_F(RlExamples, OwnEnvironmentGoesOnFromItsCheckpoints) {
  const std::string whole =
      in_folder(OWN_ENVIRONMENT_PROGRAM " --plain --steps 4096 --agent.epochs 1 --episodes 2 --directory whole");
  const std::string command =
      OWN_ENVIRONMENT_PROGRAM " --plain --agent.epochs 1 --episodes 2 --directory artifacts/own_environment --steps ";
  in_folder(command + "2048");
  const std::string score = "mean reward of 2 episodes: ";
  EXPECT_EQ(number_after(in_folder(command + "4096"), score), number_after(whole, score));
  EXPECT_TRUE(has_film("own_environment"));
}

}  // namespace
}  // namespace kiln
