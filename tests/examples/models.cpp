// The examples that train the models of models/, for a step or two: they start, learn from small data, and say what they
// are to say.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>

#include "kiln/core/text.hpp"

#include "output_of.hpp"
#include "tests/data/idx_files.hpp"

namespace kiln {
namespace {

/// Files in the form of MNIST's: squares whose place tells their class.
void write_mnist(const test::TemporaryDirectory& folder, const std::string& split, std::uint32_t count) {
  std::vector<std::uint8_t> pixels(count * 28 * 28), labels(count);
  for (std::size_t i = 0; i < count; ++i) {
    labels[i] = static_cast<std::uint8_t>(i % 10);
    for (std::size_t row = 0; row < 8; ++row)
      for (std::size_t column = 0; column < 8; ++column)
        pixels[(i * 28 + row + i % 5 * 4) * 28 + column + i % 10 / 5 * 14] = 255;
  }
  test::write_file(folder / (split + "-images-idx3-ubyte"), test::idx_file({count, 28, 28}, pixels));
  test::write_file(folder / (split + "-labels-idx1-ubyte"), test::idx_file({count}, labels));
}

class ModelExamples : public testing::Test {
 protected:
  ModelExamples() {
    write_mnist(folder_, "train", 64);
    write_mnist(folder_, "t10k", 40);
  }
  std::string in_folder(const std::string& command) {
    return output_of(text("cd ", folder_.path().string(), " && ", command));
  }
  bool has_picture(const std::string& name) {
    return std::filesystem::exists(folder_ / name) && std::filesystem::file_size(folder_ / name) > 100;
  }

  test::TemporaryDirectory folder_;
};

TEST_F(ModelExamples, ClassifyWithEachNetwork) {
  for (const char* network : {"resnet", "mobilenet", "vgg", "transformer"}) {
    const std::string said = in_folder(text(CLASSIFY_PROGRAM, " --data . --batch 16 --model ", network));
    EXPECT_GT(number_after(said, "epoch 1: cross entropy "), 0) << network;
    EXPECT_NE(said.find("test accuracy "), std::string::npos) << said;
  }
}

TEST_F(ModelExamples, StylizeGoesDownItsLoss) {
  const std::string said = in_folder(STYLIZE_PROGRAM " --side 32 --width 4 --steps 30");
  EXPECT_LT(number_after(said.substr(said.find("step 30")), ", "), 60) << said;
  EXPECT_TRUE(has_picture("stylize.png"));
}

TEST_F(ModelExamples, VisionDrawsWhatItsFunctionsMake) {
  in_folder(VISION_PROGRAM);
  EXPECT_TRUE(has_picture("vision.png"));
}

TEST_F(ModelExamples, SegmentDrawsWhatItSees) {
  const auto said = [&](const std::string& more) {
    return in_folder(text(SEGMENT_PROGRAM " --plain --pictures 20 --side 32 --epochs 2 --batch 8 --model.width 4 "
                                          "--model.depth 2 ",
                          more));
  };
  const std::string drawn = said("--run run"), read = said("--workers 0 --data shapes-20-32");
  EXPECT_NE(drawn.find("20 pictures of 3 classes and the background"), std::string::npos) << drawn;
  const double overlap = number_after(drawn, "mean overlap with the truth ");
  EXPECT_GE(overlap, 0);
  EXPECT_EQ(number_after(read, "mean overlap with the truth "), overlap);
  EXPECT_TRUE(std::filesystem::exists(folder_ / "run/valid/epoch-2/iou.log"));
  EXPECT_TRUE(has_picture("segment.png"));
}

TEST_F(ModelExamples, ObjectDetectionDrawsWhatItFinds) {
  const auto said = [&](const std::string& more) {
    return in_folder(text(OBJECT_DETECTION_PROGRAM " --plain --pictures 20 --side 32 --epochs 2 --batch 8 ", more));
  };
  const std::string drawn = said("--run run"), read = said("--workers 0 --data shapes-20-32");
  EXPECT_NE(drawn.find("20 pictures of 3 classes\n"), std::string::npos) << drawn;
  const double precision = number_after(drawn, "mean average precision ");
  EXPECT_GE(precision, 0);
  EXPECT_EQ(number_after(read, "mean average precision "), precision);
  EXPECT_TRUE(std::filesystem::exists(folder_ / "run/valid/epoch-2/map.log"));
  EXPECT_TRUE(has_picture("object_detection.png"));
  const std::string wrong = in_folder(text("(", OBJECT_DETECTION_PROGRAM, " --side 100) 2>&1; test $? -eq 1"));
  EXPECT_NE(wrong.find("ConfigError: command line: --side 100 must be a multiple of 32, up to 2048"), std::string::npos)
      << wrong;
}

TEST_F(ModelExamples, ShakespeareWritesBeyondItsContext) {
  std::string words;
  for (int i = 0; i < 60; ++i) words += "to be, or not to be: ";
  folder_.write("input.txt", words);
  const std::string said = in_folder(SHAKESPEARE_PROGRAM
                                     " --model.context 16 --model.width 16 --model.heads 2 --model.layers 1 --steps 2 "
                                     "--batch 2 --prompt 'to be' --letters 50");
  EXPECT_GT(number_after(said, "validation loss "), 0);
  const std::size_t at = said.find("\n\nto be");
  ASSERT_NE(at, std::string::npos) << said;
  EXPECT_EQ(said.size() - at - 2, 5u + 50u + 1u) << said;  // the prompt, the letters, a line's end
}

TEST_F(ModelExamples, GenerateGoesOnInNumbersThatASeedDecides) {
  const auto said = [&](const std::string& more) {
    return in_folder(text(GENERATE_PROGRAM
                          " --gpt2.context 64 --gpt2.width 16 --gpt2.heads 2 --gpt2.layers 1 --llama.width 16 "
                          "--llama.heads 2 --llama.kv_heads 1 --llama.layers 1 --llama.hidden 16 --tokens 20 ",
                          more));
  };
  const auto numbers = [](const std::string& all) { return all.substr(0, all.rfind("\n\n")); };
  for (const char* family : {"--family gpt2", "--family llama", "--bf16"}) {
    const std::string once = said(family);
    EXPECT_GT(number_after(once.substr(once.rfind("\n\n")), "\n\n"), 0) << once;
    EXPECT_EQ(std::ranges::count(numbers(once).substr(once.find(';')), ' '), 20) << once;
    EXPECT_EQ(numbers(said(family)), numbers(once));
    EXPECT_NE(numbers(said(text(family, " --seed 2"))), numbers(once));
  }
}

TEST_F(ModelExamples, SentencesAreComparedByTheirOwnWordsAlone) {
  const auto said = [&](const std::string& lines) {
    folder_.write("lines.txt", lines);
    return in_folder(SENTENCES_PROGRAM
                     " --lines lines.txt --bert.width 16 --bert.heads 2 --bert.layers 1 --bert.hidden 16");
  };
  const std::string two = said("one\n\nanother one\n"), three = said("one\nanother one\none among many others\n");
  const double near = number_after(two, "1.000 ");
  EXPECT_LT(near, 0.999) << two;
  EXPECT_GT(near, -1) << two;
  EXPECT_EQ(number_after(three, "1.000 "), near) << three;  // what fills the lines up makes no difference
  EXPECT_GT(number_after(two, "another one\n"), 0) << two;
}

TEST_F(ModelExamples, TruecaseTagsWhatItHeldOut) {
  std::string table;
  for (int i = 0; i < 100; ++i) table += text("\"1\",\"Rome wins\",\"Team ", i % 7, " of Rome beats NATO again\"\n");
  folder_.write("test.csv", table);
  const std::string said = in_folder(TRUECASE_PROGRAM " --epochs 1 --batch 16 --model.width 8 --model.hidden 8");
  EXPECT_GT(number_after(said, "epoch 1: "), 0);
}

TEST_F(ModelExamples, VaeDrawsDigits) {
  const std::string said = in_folder(VAE_PROGRAM " --data . --epochs 1 --batch 32");
  EXPECT_GT(number_after(said, "epoch 1: "), 0);
  EXPECT_TRUE(has_picture("vae.png"));
}

TEST_F(ModelExamples, WganDrawsDigits) {
  const std::string said = in_folder(WGAN_PROGRAM
                                     " --data . --steps 1 --critic_steps 1 --batch 4 --generator.width 4 "
                                     "--critic.width 4");
  EXPECT_NE(said.find("step 1: the critic holds test images and made ones "), std::string::npos) << said;
  EXPECT_TRUE(has_picture("wgan.png"));
}

TEST_F(ModelExamples, DiffusionDrawsDigits) {
  const std::string said =
      in_folder(DIFFUSION_PROGRAM " --digits 64 --epochs 1 --batch 32 --draw.steps 2 --model.widths=8,8,8");
  EXPECT_GT(number_after(said, "mean square error of the noise "), 0);
  EXPECT_NE(said.find("a classifier reads "), std::string::npos) << said;
  EXPECT_TRUE(has_picture("diffusion.png"));
}

}  // namespace
}  // namespace kiln
