// Each example works where there is no network and no file: it draws its data, or says in a sentence how to get them.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>

#include "kiln/core/text.hpp"
#include "output_of.hpp"
#include "own_folder.hpp"

namespace kiln {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrograms[] = {EXAMPLE_PROGRAMS};

/// How an example is tried: with settings that make it quick, until it has done all that it does.
struct Trial {
  std::string_view name, words = "";
  std::string_view remedy = "";  // what it says where it needs a file or a setting
};
constexpr Trial kTrials[] = {
    {"custom_loop"},
    {"custom_metric", "--plain --epochs 1"},
    {"custom_renderer", "--epochs 1"},
    {"custom_strategy", "--plain --epochs 1"},
    {"data_parallel"},
    {"diffusion", "--digits 64 --epochs 1 --batch 32 --draw.steps 2 --model.widths=8,8,8"},
    {"dqn", "--plain --steps 200 --agent.warm_up 100 --episodes 1"},
    {"federated", "3"},
    {"generate", "--gpt2.width 16 --gpt2.heads 2 --gpt2.layers 1 --tokens 2"},
    {"image_classification", "", "name it by --model"},
    {"image_folder", "--plain --digits 40 --epochs 1 --width 4"},
    {"import_weights", "", "name it by --file"},
    {"modern_lstm", "--steps 2"},
    {"named_tensor"},
    {"object_detection", "--plain --pictures 10 --side 32 --epochs 1"},
    {"onnx_inference", "", "name a network by --model"},
    {"onnx_training", "", "name a network by --model"},
    {"own_environment", "--plain --steps 2048 --agent.epochs 1 --episodes 1"},
    {"own_memory", "."},
    {"peers", "", "set KILN_RANK_SECRET"},
    {"pico", "--images 64"},
    {"pipeline"},
    {"ppo", "--plain --steps 512 --agent.epochs 1 --episodes 1"},
    {"regression", "", "curl -LO https://"},
    {"sac", "--plain --steps 300 --agent.common.warm_up 200 --episodes 1"},
    {"segment", "--plain --pictures 10 --side 32 --epochs 1 --model.width 4"},
    {"sentences", "--bert.layers 1 --bert.width 16 --bert.heads 2 --bert.hidden 32"},
    {"serve_model", "", "by --model"},
    {"shakespeare", "", "curl -LO https://"},
    {"stylize", "--side 32 --width 4 --steps 1"},
    {"text_classification", "", "curl -LO https://"},
    {"truecase", "", "curl -LO https://"},
    {"vision"},
    {"wgan", "--steps 1 --batch 4 --critic_steps 1 --generator.width 4 --critic.width 4"},
};
/// Examples that are not tried here, and why: others of these tests run them.
struct Elsewhere {
  std::string_view name, why;
};
constexpr Elsewhere kElsewhere[] = {
    {"classify", "an epoch of its drawn digits takes minutes: models.cpp gives it fewer"},
    {"custom_kernel", "it has no settings and takes seconds: custom_kernel.cpp"},
    {"custom_op", "it has no settings and takes seconds: custom_op.cpp"},
    {"guide", "an epoch of its drawn digits takes minutes: guide.cpp gives it fewer"},
    {"remote_training", "it is the guide"},
    {"server", "it serves until it is ended: tests/backend/remote"},
    {"two_devices", "it has no settings and takes seconds: short.cpp"},
    {"vae", "an epoch of its drawn digits takes seconds: models.cpp gives it fewer"},
    {"web", "it serves until it is ended: web.cpp"},
};

std::string_view program_of(std::string_view name) {
  const auto* const found =
      std::ranges::find_if(kPrograms, [&](auto path) { return fs::path(path).filename() == name; });
  return found == std::end(kPrograms) ? "" : *found;
}

class ExampleOffline : public testing::TestWithParam<Trial> {};

TEST_P(ExampleOffline, DrawsItsDataOrSaysHowToGetThem) {
  const Trial& trial = GetParam();
  const std::string_view program = program_of(trial.name);
  if (program.empty()) GTEST_SKIP() << "this build has no " << trial.name;
  const OwnFolder folder(trial.name);
  // Whatever asks for a proxy is refused at once.
  const std::string away =
      text("cd ", folder.path().string(), " && env -u KILN_RANK_SECRET HOME=", folder.path().string(),
           " http_proxy=http://127.0.0.1:9 https_proxy=http://127.0.0.1:9 ");
  if (trial.remedy.empty()) {
    EXPECT_FALSE(output_of(text(away, program, ' ', trial.words)).empty());
  } else {
    const std::string said = output_of(text("(", away, program, ") 2>&1; test $? -eq 1"));
    EXPECT_NE(said.find(trial.remedy), said.npos) << said;
    EXPECT_TRUE(fs::is_empty(folder.path()));
  }
}

INSTANTIATE_TEST_SUITE_P(Each, ExampleOffline, testing::ValuesIn(kTrials),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(ExamplesOffline, AreAllTriedHereOrElsewhere) {
  for (const std::string_view program : kPrograms) {
    const std::string name = fs::path(program).filename().string();
    const auto rows =
        std::ranges::count(kTrials, name, &Trial::name) + std::ranges::count(kElsewhere, name, &Elsewhere::name);
    EXPECT_EQ(rows, 1) << name;
  }
}

/// Programs that take words say which they do not take, rather than go on without them.
TEST(ExamplesOffline, RefuseWordsThatTheyDoNotTake) {
  for (const std::string_view name : {"custom_kernel", "custom_loop", "custom_op", "data_parallel", "federated",
                                      "named_tensor", "own_memory", "pipeline", "remote_training", "two_devices"}) {
    const std::string_view program = program_of(name);
    if (program.empty()) continue;
    EXPECT_EQ(output_of(text("(", program, " --no-such-option) 2>&1; test $? -eq 1")),
              "this program does not take '--no-such-option'; --help says what it takes\n")
        << name;
  }
  const std::string_view federated = program_of("federated");
  if (federated.empty()) return;
  EXPECT_EQ(output_of(text("(", federated, " many) 2>&1; test $? -eq 1")),
            "ArgumentError: ROUNDS is 'many', it must be a whole number from 1 to 1000000\n");
}

}  // namespace
}  // namespace kiln
