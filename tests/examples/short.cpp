// Short examples, as programs.
#include <gtest/gtest.h>

#include <unistd.h>

#include <filesystem>
#include <string>

#include "kiln/core/text.hpp"

#include "output_of.hpp"

namespace kiln {
namespace {

namespace fs = std::filesystem;

TEST(NamedTensor, PrintsNamesAndSizes) {
  const std::string said = output_of(NAMED_TENSOR_PROGRAM);
  EXPECT_NE(said.find("result  float32 [batch 2, head 4, time 5, feature 8]\n"), said.npos) << said;
  EXPECT_NE(said.find("heads   float32 [batch 2, time 5, feature 8]\n"), said.npos) << said;
  EXPECT_LT(number_after(said, "in another order: "), 1e-5) << said;
}

TEST(CustomRenderer, DrawsABarForEachEpoch) {
  const std::string said = output_of(CUSTOM_RENDERER_PROGRAM " --epochs 2 --width 10");
  EXPECT_NE(said.find("50890 parameters, 80 steps in an epoch\n"), said.npos) << said;
  EXPECT_NE(said.find("\r[#####.....] loss "), said.npos) << said;
  const std::size_t full = said.find("\r[##########] loss "), again = said.rfind("\r[##########] loss ");
  EXPECT_LT(full, again) << said;
  EXPECT_NE(said.find(", the best so far\n"), said.npos) << said;
  EXPECT_GT(number_after(said, "; best accuracy "), 0.8) << said;
}

TEST(CustomStrategy, LearnsByItsOwnSteps) {
  const std::string said = output_of(CUSTOM_STRATEGY_PROGRAM " --plain --epochs 2");
  const std::string usual = output_of(CUSTOM_STRATEGY_PROGRAM " --plain --epochs 2 --radius 0");
  const auto accuracy = [](const std::string& lines) {
    return number_after(lines.substr(lines.rfind("epoch 2/2, step 160, valid")), "accuracy ");
  };
  EXPECT_GT(accuracy(said), 0.75) << said;
  EXPECT_GT(accuracy(usual), 0.75) << usual;
  EXPECT_NE(said.substr(said.rfind("valid")), usual.substr(usual.rfind("valid")));
}

// Activations go to the second device once, their gradient comes back once, and the targets follow in two small moves.
TEST(TwoDevices, MoveOnceInEachDirectionForAMicroBatch) {
  const std::string said = output_of(TWO_DEVICES_PROGRAM);
  EXPECT_NE(said.find("125 steps on router:cpu,reference, 16.00 moves and "), said.npos) << said;
  EXPECT_GT(number_after(said, "accuracy "), 0.7) << said;
}

TEST(ImportWeights, GivesPyTorchsScores) {
  const fs::path saved = fs::temp_directory_path() / text("kiln-imported-", ::getpid(), ".safetensors");
  const std::string said =
      output_of(text("cd ", KILN_SOURCE_DIR, " && ", IMPORT_WEIGHTS_PROGRAM, " --save ", saved.string()));
  EXPECT_NE(said.find("8 loaded"), said.npos) << said;
  EXPECT_EQ(number_after(said, "right about "), 100) << said;
  // train.py prints these.
  EXPECT_NE(said.find("scores of (0.3, -0.5): [[-7.3665  4.1166  0.3554]]"), said.npos) << said;
  EXPECT_TRUE(fs::exists(saved));
  fs::remove(saved);
}

TEST(ModernLstm, ContinuesSums) {
  const std::string said = output_of(MODERN_LSTM_PROGRAM " --steps 150 --hidden 16 --batch 32");
  EXPECT_LT(number_after(said, "test: error "), number_after(said, "of the last number again: ") / 2) << said;
}

#ifdef PIPELINE_PROGRAM  // these need the network
TEST(Pipeline, ComputesOverTwoServersWhatOneDeviceDoes) {
  EXPECT_EQ(output_of(PIPELINE_PROGRAM), "4 of 4 batches are what one device computes\n");
}

TEST(Federated, FindsTheLineThatNoClientSeesWhole) {
  const std::string said = output_of(FEDERATED_PROGRAM " 40");
  EXPECT_NE(said.find("round 2: client "), said.npos) << said;
  EXPECT_NEAR(number_after(said, "y = "), 2, 0.05) << said;
  EXPECT_NEAR(number_after(said, " x + "), 0.5, 0.05) << said;
}
#endif

}  // namespace
}  // namespace kiln
