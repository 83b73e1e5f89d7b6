// The examples that take a network from an ONNX file, as programs; where that and MNIST lie beside the repository.
#include <unistd.h>

#include <filesystem>

#include "kiln/core/text.hpp"
#include "tests/examples/output_of.hpp"
#include "tests/support/shared_data.hpp"

namespace kiln {
namespace {

class OnnxExamples : public testing::Test {
 protected:
  void SetUp() override {
    for (const std::string& needed : {network(), mnist()})
      if (!std::filesystem::exists(needed)) GTEST_SKIP() << "there is no " << needed;
  }
  static std::string network() { return text(shared_data("KILN_WEIGHTS", "weights"), "/mnist.onnx"); }
  static std::string mnist() { return shared_data("KILN_DATA", "mnist"); }
  /// What it says, with `more` options.
  static std::string said_by(const std::string& program, const std::string& more) {
    return output_of(text(program, " --model ", network(), " --data ", mnist(), ' ', more, " 2>&1"));
  }
};

TEST_F(OnnxExamples, ANetworkOfAFileSeesDigits) {
  const std::string said = said_by(ONNX_INFERENCE_PROGRAM, "--batch 500");
  EXPECT_GT(number_after(said, mnist() + ": "), 98) << said;
  EXPECT_EQ(number_after(said, " % of "), 10000) << said;
}

TEST_F(OnnxExamples, AnotherHeadLearnsAndIsWritten) {
  const std::string to = std::filesystem::temp_directory_path() / text("kiln-parity-", ::getpid(), ".onnx");
  const std::string said = said_by(ONNX_TRAINING_PROGRAM, text("--steps 20 --rate 0.01 --to ", to));
  const double before = number_after(said, "learnt nothing: "), all = number_after(said, "all of it: ");
  EXPECT_GT(number_after(said, "that has learnt: "), before) << said;
  EXPECT_GT(all, 80) << said;  // half of the digits are even
  EXPECT_EQ(number_after(said, to + ": "), all) << said;
  std::filesystem::remove(to);
}

}  // namespace
}  // namespace kiln
