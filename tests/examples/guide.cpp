// The guide, end to end: on a small data set in MNIST's format, and as the program that users call.
#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <set>

#include "examples/guide/infer.hpp"
#include "examples/guide/model.hpp"
#include "examples/guide/picture.hpp"
#include "examples/guide/source.hpp"
#include "examples/guide/train.hpp"
#include "kiln/core/file.hpp"
#include "kiln/core/parallel.hpp"
#include "kiln/data/compose/kept.hpp"
#include "kiln/data/digits.hpp"
#include "kiln/optim/rules/adam.hpp"
#include "kiln/train/checkpointer.hpp"
#include "tests/support/long.hpp"

namespace guide {
namespace {

namespace fs = std::filesystem;

class Guide : public testing::Test {
 protected:
  void SetUp() override {
    const auto* info = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = fs::temp_directory_path() / text("kiln-guide-", info->name(), "-", ::getpid());
    fs::create_directories(folder_ / "data");
    write("train", {.count = 320, .seed = 1});
    write("t10k", {.count = 100, .seed = 2});
  }
  void TearDown() override { fs::remove_all(folder_); }

  fs::path artifacts(const char* name) const { return folder_ / name; }
  std::string data() const { return (folder_ / "data").string(); }
  TrainOptions options(const char* name, std::int64_t epochs) const {
    return {.settings = {.data = data(), .epochs = epochs, .batch_size = 32}, .artifacts = artifacts(name)};
  }
  std::map<std::string, std::vector<std::byte>> weights(const char* name) const {
    std::map<std::string, std::vector<std::byte>> tensors;
    for (const auto& [path, tensor] : open_tensors(latest_checkpoint(checkpoints_of(artifacts(name)))).tensors) {
      const TensorData data = tensor.read();
      tensors[path].assign(data.bytes().begin(), data.bytes().end());
    }
    return tensors;
  }
  std::set<std::string> files(const fs::path& below) const {
    std::set<std::string> names;
    for (const auto& file : fs::directory_iterator(folder_ / below)) names.insert(file.path().filename());
    return names;
  }

 private:
  static void put_big_endian(std::ofstream& file, std::int64_t number) {
    for (int shift = 24; shift >= 0; shift -= 8) file.put(static_cast<char>(number >> shift));
  }
  void write(const std::string& prefix, const DigitsConfig& config) const {
    const Digits digits(config);
    std::ofstream images(folder_ / "data" / (prefix + "-images-idx3-ubyte"), std::ios::binary);
    std::ofstream labels(folder_ / "data" / (prefix + "-labels-idx1-ubyte"), std::ios::binary);
    for (const std::int64_t number : {std::int64_t{0x803}, config.count, config.side, config.side})
      put_big_endian(images, number);
    for (const std::int64_t number : {std::int64_t{0x801}, config.count}) put_big_endian(labels, number);
    for (std::int64_t i = 0; i < config.count; ++i) {
      const Image image = digits.get(i);
      for (const float pixel : image.pixels) images.put(static_cast<char>(static_cast<unsigned char>(pixel * 255)));
      labels.put(static_cast<char>(image.label));
    }
  }

  fs::path folder_;
};

TEST_F(Guide, LeavesTheSameBitsOnOneThreadAndOnTwo) {
  const int before = num_threads();
  set_num_threads(1);
  train(options("one", 1), Device::cpu());
  set_num_threads(2);
  TrainOptions two = options("two", 1);
  two.workers = 2;
  train(two, Device::cpu());
  set_num_threads(before);
  EXPECT_EQ(weights("one"), weights("two"));
}

TEST_F(Guide, ResumesToTheSameBits) {
  const double whole = train(options("whole", 3), Device::cpu());
  train(options("parts", 1), Device::cpu());
  TrainOptions rest = options("parts", 3);
  rest.resume = true;
  EXPECT_EQ(train(rest, Device::cpu()), whole);
  EXPECT_EQ(weights("whole"), weights("parts"));
}

TEST_F(Guide, RefusesOtherSettingsWhereItGoesOn) {
  train(options("others", 1), Device::cpu());
  const auto refused = [&](const std::string& option, auto change) {
    TrainOptions rest = options("others", 2);
    rest.resume = true;
    rest.said = {option};
    change(rest.settings);
    try {
      train(rest, Device::cpu());
    } catch (const ConfigError& error) { return std::string(error.message()); }
    return std::string();
  };
  EXPECT_EQ(refused("--lr", [](Settings& s) { s.learning_rate = 0.01; }),
            "--lr is 0.01, and the training that goes on has 0.001: leave --lr out, or begin anew, without --resume");
  EXPECT_NE(refused("--seed", [](Settings& s) { s.seed = 3; }).find("--seed is 3"), std::string::npos);
  EXPECT_NE(refused("--batch-size", [](Settings& s) { s.batch_size = 8; }).find("--batch-size is 8"),
            std::string::npos);
  EXPECT_NE(refused("--data", [](Settings& s) { s.data = "digits"; }).find("--data is digits"), std::string::npos);
  EXPECT_EQ(refused("--lr", [](Settings&) {}), "");  // the same
}

TEST_F(Guide, DrawsDigitsOnce) {
  const Source source = open_source("digits");
  EXPECT_NE(dynamic_cast<const Cached<Image>*>(source.train.get()), nullptr);
  EXPECT_EQ(source.train->get(3).pixels, Digits({.count = 10, .seed = 1}).get(3).pixels);
}

TEST_F(Guide, KeepsOneCheckpoint) {
  train(options("kept", 2), Device::cpu());
  EXPECT_EQ(files("kept/checkpoint"), (std::set<std::string>{"index.json", "step-20.kiln"}));
  EXPECT_EQ(files("kept"),
            (std::set<std::string>{"checkpoint", "config.json", "experiment.log", "step", "train", "valid"}));
  EXPECT_EQ(files("kept/valid/epoch-2"), (std::set<std::string>{"accuracy.log", "loss.log"}));
}

TEST_F(Guide, LearnsToReadAndSaysHowWell) {
  const double accuracy = train(options("learned", 4), Device::cpu());
  EXPECT_GT(accuracy, 50);  // one in ten is right by chance
  const Digits unseen({.count = 100, .seed = 2});
  int right = 0;
  for (std::int64_t i = 0; i < unseen.size(); ++i)
    right += infer({.artifacts = artifacts("learned"), .image = {}, .index = i}, Device::cpu()) == unseen.get(i).label;
  EXPECT_DOUBLE_EQ(accuracy, right);
}

// KILN_DEVICE says which (CMakeLists.txt). Rounding may decide a digit or two of the hundred.
TEST_F(Guide, LearnsOnAGpuAsWellAsOnTheProcessor) {
  const char* const name = std::getenv("KILN_DEVICE");
  if (!name) GTEST_SKIP() << "KILN_DEVICE names no device";
  if (!kiln::test::is_long()) GTEST_SKIP() << "a minute by lavapipe: ./dev test --long";
  std::optional<Device> gpu;
  try {
    gpu = Device::parse(name);
  } catch (const DeviceError& error) { GTEST_SKIP() << "no device: " << error.what(); }
  const double accuracy = train(options("gpu", 4), *gpu);
  EXPECT_GT(accuracy, 50);
  EXPECT_NEAR(accuracy, train(options("processor", 4), Device::cpu()), 3);
  for (std::int64_t i = 0; i < 10; ++i) {
    const InferOptions asked{.artifacts = artifacts("gpu"), .image = {}, .index = i};
    EXPECT_EQ(infer(asked, *gpu), infer(asked, Device::cpu())) << i;
  }
}

TEST_F(Guide, TrainsAgainWhereATrainingWas) {
  train(options("again", 1), Device::cpu());
  const auto first = weights("again");
  TrainOptions other = options("again", 1);
  other.settings.seed = 7;
  train(other, Device::cpu());
  EXPECT_NE(weights("again"), first);
  train(options("again", 1), Device::cpu());
  EXPECT_EQ(weights("again"), first);
  EXPECT_EQ(files("again/checkpoint").size(), 2u);
}

TEST_F(Guide, UsesNoMoreMemoryAfterManySteps) {
  const Device device = Device::cpu().autodiff();
  Model model = kiln::train(ModelConfig{.hidden_size = 32}.init(device));
  Adam optimizer = AdamConfig{}.init(model);
  const Tensor<3> images = uniform({8, 28, 28}, 0, 1, device);
  const Tensor<1, Int> targets = Tensor<1, Int>::of({0, 1, 2, 3, 4, 5, 6, 7}, device);
  const auto steps = [&](int count) {
    for (int i = 0; i < count; ++i) {
      auto [loss, grads] = value_and_grad(
          model, [&](const Model& m) { return nn::CrossEntropyLoss{}.forward(m.forward(images), targets); });
      model = optimizer.step(1e-3, std::move(model), grads);
    }
    return device.memory();
  };
  const auto early = steps(5), late = steps(50);
  EXPECT_EQ(early.in_use, late.in_use);
  EXPECT_EQ(early.reserved, late.reserved);
  // A step that is warm asks the system for nothing. (Beneath a sanitizer every block comes from there.)
  if (early.reserved > early.in_use) { EXPECT_EQ(early.system_requests, late.system_requests); }
}

TEST_F(Guide, ReadsPicturesOfAnySizeAndPolarity) {
  const fs::path file = artifacts("picture.pgm");
  std::ofstream out(file, std::ios::binary);
  out << "P5 56 56 255\n";  // a black bar on white, twice the size
  for (int y = 0; y < 56; ++y)
    for (int x = 0; x < 56; ++x) out.put(static_cast<char>(x >= 26 && x < 30 && y >= 8 && y < 48 ? 0 : 255));
  out.close();
  const Image image = read_picture(file);
  EXPECT_EQ(image.height, 28);
  EXPECT_EQ(image.width, 28);
  EXPECT_FLOAT_EQ(image.pixels[14 * 28 + 13], 1);
  EXPECT_FLOAT_EQ(image.pixels[14 * 28 + 5], 0);
}

// ---- the program ---------------------------------------------------------------------------------------------------

struct Outcome {
  int status;
  std::string output;
};

Outcome call(const std::string& arguments, const std::string& environment = "") {
  std::FILE* pipe = ::popen((environment + " " + GUIDE_PROGRAM + " " + arguments + " 2>&1").c_str(), "r");
  std::string output;
  for (int c; (c = std::fgetc(pipe)) != EOF;) output += static_cast<char>(c);
  return {WEXITSTATUS(::pclose(pipe)), output};
}

TEST_F(Guide, TrainsAndInfersFromTheCommandLine) {
  const std::string kept = artifacts("called").string();
  const Outcome trained = call("--data " + data() + " --epochs 1 --batch-size 50 --artifacts " + kept);
  EXPECT_EQ(trained.status, 0) << trained.output;
  const std::size_t last = trained.output.rfind("test accuracy ");
  ASSERT_NE(last, std::string::npos) << trained.output;
  double accuracy = -1;
  EXPECT_EQ(std::sscanf(trained.output.c_str() + last, "test accuracy %lf %%\n", &accuracy), 1);
  TrainOptions same = options("same", 1);
  same.settings.batch_size = 50;
  EXPECT_NEAR(accuracy, train(same, Device::cpu()), 0.006);  // two digits are printed
  EXPECT_EQ(trained.output.back(), '\n');
  const Outcome inferred = call("infer --index 7 --artifacts " + kept);
  EXPECT_EQ(inferred.status, 0) << inferred.output;
  const std::int64_t guess = infer({.artifacts = artifacts("same"), .image = {}, .index = 7}, Device::cpu());
  EXPECT_NE(inferred.output.find(text("the model says ", guess)), std::string::npos) << inferred.output;
}

TEST_F(Guide, SaysWhatIsWrongWithAnOption) {
  const auto said = [&](const std::string& option) {
    const Outcome outcome = call("--data " + data() + " --artifacts " + artifacts("none").string() + ' ' + option);
    EXPECT_NE(outcome.status, 0) << option;
    EXPECT_FALSE(fs::exists(artifacts("none"))) << option;
    return outcome.output;
  };
  for (const char* const wrong : {"nan", "inf", "-inf", "0", "-1", "fast"})
    EXPECT_NE(said(text("--lr=", wrong)).find(text("--lr: must be a number above 0, got ", wrong)), std::string::npos)
        << said(text("--lr=", wrong));
  for (const char* const wrong : {"-1", "1.5", "nan", "99999999999999999999"})
    EXPECT_NE(said(text("--seed=", wrong)).find(text("--seed: must be a whole number from 0 on, got ", wrong)),
              std::string::npos)
        << said(text("--seed=", wrong));
  call("--data " + data() + " --epochs 1 --batch-size 50 --artifacts " + artifacts("first").string());
  const Outcome other = call("--resume --lr 0.01 --artifacts " + artifacts("first").string());
  EXPECT_EQ(other.status, 1);
  EXPECT_NE(other.output.find("ConfigError: --lr is 0.01, and the training that goes on has 0.001"), std::string::npos)
      << other.output;
}

TEST_F(Guide, SaysAtOnceWhereNothingCanBeSaved) {
  std::ofstream(artifacts("file")) << "here";
  for (const std::string kept : {"file", "file/below"}) {
    const Outcome outcome = call("--data " + data() + " --epochs 1 --artifacts " + artifacts(kept.c_str()).string());
    EXPECT_EQ(outcome.status, 1);
    EXPECT_NE(outcome.output.find("IoError: cannot save to " + artifacts(kept.c_str()).string() + "/checkpoint: "),
              std::string::npos)
        << outcome.output;
    EXPECT_EQ(outcome.output.find("epoch"), std::string::npos) << outcome.output;
  }
}

/// Kills trainings at random moments; what the last of them leaves is a checkpoint, and no more than that.
TEST_F(Guide, LeavesNothingBehindHoweverOftenItIsKilled) {
  const std::string kept = artifacts("killed").string(), all = data();
  train(options("killed", 1), Device::cpu());
  std::ofstream(artifacts("killed") / "notes-1.safetensors") << "the user's own";
  std::ofstream(artifacts("killed") / "checkpoint" / "step-1.kiln.4000000-0.tmp") << "half of a model";
  unsigned seed = 1;
  int killed = 0;
  for (int i = 0; i < 40; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      if (!::freopen("/dev/null", "w", stdout)) ::_exit(126);
      if (i % 2)
        ::execl(GUIDE_PROGRAM, GUIDE_PROGRAM, "--data", all.c_str(), "--epochs", "1000000", "--artifacts", kept.c_str(),
                "--resume", nullptr);
      ::execl(GUIDE_PROGRAM, GUIDE_PROGRAM, "--data", all.c_str(), "--epochs", "1000000", "--batch-size", "320",
              "--artifacts", kept.c_str(), "--seed=3", nullptr);
      ::_exit(127);
    }
    ::usleep(50'000 + (seed = seed * 1664525u + 1013904223u) / 8192 % 450'000);
    ::kill(child, SIGKILL);
    int status = 0;
    ::waitpid(child, &status, 0);
    killed += WIFSIGNALED(status);
    // Whatever checkpoint is there is whole.
    EXPECT_GT(infer({.artifacts = kept, .image = {}, .index = 0}, Device::cpu()), -1);
    EXPECT_LE(files("killed/checkpoint").size(), 6u);  // two, the index, and what was being written
  }
  EXPECT_EQ(killed, 40);
  TrainOptions last = options("killed", 1'000'000);
  last.resume = true;
  const auto checkpoints = Checkpointer(checkpoints_of(artifacts("killed")), {}).kept();
  last.settings.epochs = checkpoints.back().step + 1;  // an epoch is a step
  train(last, Device::cpu());
  EXPECT_EQ(files("killed/checkpoint").size(), 2u) << testing::PrintToString(files("killed/checkpoint"));
  EXPECT_TRUE(fs::exists(artifacts("killed") / "notes-1.safetensors"));
}

TEST_F(Guide, IsProfiledAndVerifiedWhereTheEnvironmentSaysSo) {
  const std::string kept = " --artifacts " + artifacts("kept").string(), infer = "infer --index 3" + kept;
  const std::string trace = artifacts("trace.json").string();
  const Outcome profiled = call("--device cpu --data " + data() + " --epochs 1 --batch-size 50" + kept,
                                "KILN_VERIFY=1 KILN_PROFILE=" + trace);
  EXPECT_EQ(profiled.status, 0) << profiled.output;
  for (const char* part : {"profile of cpu: ", " matmul [50, ", "memory: "})
    EXPECT_NE(profiled.output.find(part), std::string::npos) << part << " in\n" << profiled.output;
  const std::string events = read_text_file(trace);
  for (const char* part : {"\"traceEvents\"", "[50, 1, 28, 28] x [8, 1, 3, 3] x [8] -> "})
    EXPECT_NE(events.find(part), std::string::npos) << part;
  const Outcome plain = call(infer, "KILN_PROFILE=0 KILN_VERIFY=reference");
  EXPECT_EQ(plain.status, 0) << plain.output;
  EXPECT_EQ(plain.output.find("profile of"), std::string::npos) << plain.output;
  EXPECT_NE(call(infer, "KILN_VERIFY=" + text(Device::best())).output.find("cannot be its own reference"),
            std::string::npos);
}

TEST_F(Guide, AnswersWrongCallsWithASentence) {
  struct Wrong {
    std::string arguments, sentence;
  };
  std::ofstream(artifacts("no.png")) << "this is no picture";
  train(options("kept", 1), Device::cpu());
  const std::string kept = " --artifacts " + artifacts("kept").string();
  const std::string best = text(Device::best()), gpu = best == "cpu" ? "" : best + ", ";
  const Wrong calls[] = {
      {"--epochs -1", "--epochs: Value -1 not in range"},
      {"--epoch 1", "--epoch"},
      {"--batch-size many", "--batch-size"},
      {"--device abacus --data " + data(), "DeviceError: no device 'abacus'; there are: " + gpu + "cpu, reference"},
      {"--data /nowhere/at/all", "/nowhere/at/all"},
      {"infer --artifacts /nowhere/at/all", "IoError: "},
      {"--resume --artifacts /nowhere/at/all", "IoError: "},
      {"infer --index 100" + kept, "IndexError: "},
      {"infer --image " + artifacts("no.png").string() + kept, "DataError: "},
      {"infer --image x.png --index 3" + kept, "--index"},
  };
  for (const auto& [arguments, sentence] : calls) {
    const Outcome outcome = call(arguments);
    EXPECT_NE(outcome.status, 0) << arguments;
    EXPECT_NE(outcome.output.find(sentence), std::string::npos) << arguments << ": " << outcome.output;
  }
}

}  // namespace
}  // namespace guide
