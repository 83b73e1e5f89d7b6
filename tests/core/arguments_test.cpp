// Configs from the command line.
#include "kiln/core/config/arguments.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>

namespace kiln {
namespace {

enum class Schedule { Constant, Cosine };

struct Adam {
  double beta1 = 0.9;
  bool amsgrad = false;
  void check() const { require<ArgumentError>(beta1 < 1, "Adam: beta1 = ", beta1, " must be below 1"); }
};
struct Settings {
  std::string data;
  int epochs = 3;
  Adam optimizer;
  Schedule schedule = Schedule::Cosine;
  std::vector<int> sizes = {8, 4};
  std::vector<std::string> tags = {"none"};
  std::optional<double> clip;
  bool shuffle = true;
  std::map<std::string, double> weights = {{"a", 1}};
};

Settings read(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "program");
  return from_arguments<Settings>(static_cast<int>(arguments.size()), arguments.data());
}
std::string error_of(const std::vector<const char*>& arguments) {
  try {
    read(arguments);
  } catch (const Error& error) { return error.what(); }
  return "nothing";
}

TEST(Arguments, SetFields) {
  const Settings run =
      read({"--data=42", "--epochs", "10", "--optimizer.beta1=0.5", "--optimizer.amsgrad", "--schedule", "Constant",
            "--sizes=1,2,3", "--tags", "x,7", "--clip=1e-2", "--no-shuffle", "--weights.b=2"});
  EXPECT_EQ(run.data, "42");
  EXPECT_EQ(run.epochs, 10);
  EXPECT_EQ(run.optimizer.beta1, 0.5);
  EXPECT_TRUE(run.optimizer.amsgrad);
  EXPECT_EQ(run.schedule, Schedule::Constant);
  EXPECT_EQ(run.sizes, (std::vector<int>{1, 2, 3}));
  EXPECT_EQ(run.tags, (std::vector<std::string>{"x", "7"}));
  EXPECT_EQ(run.clip, 0.01);
  EXPECT_FALSE(run.shuffle);
  EXPECT_EQ(run.weights, (std::map<std::string, double>{{"b", 2}}));
}

TEST(Arguments, LeaveDefaults) {
  const Settings run = read({"--data=x"});
  EXPECT_EQ(run.epochs, 3);
  EXPECT_EQ(run.sizes, (std::vector<int>{8, 4}));
  EXPECT_EQ(run.clip, std::nullopt);
  EXPECT_TRUE(run.shuffle);
}

TEST(Arguments, MayBeJsonNegativeEmptyOrSaidTwice) {
  EXPECT_EQ(read({"--data=x", "--sizes=[5]"}).sizes, std::vector<int>{5});
  EXPECT_TRUE(read({"--data=x", "--sizes="}).sizes.empty());
  EXPECT_EQ(read({"--data=x", "--epochs", "-2"}).epochs, -2);
  EXPECT_EQ(read({"--data=x", "--epochs=1", "--epochs=2"}).epochs, 2);
  EXPECT_EQ(read({"--data=x", "--clip=3", "--clip=null"}).clip, std::nullopt);
  EXPECT_EQ(read({"--data="}).data, "");
  EXPECT_FALSE(read({"--data=x", "--shuffle=false"}).shuffle);
}

TEST(Arguments, ChangeAFile) {
  const std::string path = std::filesystem::temp_directory_path() / "kiln_arguments_test.json";
  std::ofstream(path) << R"({"data": "file", "epochs": 7, "optimizer": {"amsgrad": true}})";
  const Settings run = read({"--epochs=8", "--config", path.c_str(), "--optimizer.beta1=0.1"});
  EXPECT_EQ(run.data, "file");
  EXPECT_EQ(run.epochs, 8);
  EXPECT_TRUE(run.optimizer.amsgrad);
  EXPECT_EQ(run.optimizer.beta1, 0.1);
  EXPECT_EQ(error_of({"--config", path.c_str(), "--epochs=x"}),
            "ConfigError: " + path + " and the command line: 'epochs' must be an integer, got \"x\"");
  std::filesystem::remove(path);
}

TEST(Arguments, SayWhatIsWrong) {
  EXPECT_EQ(error_of({}), "ConfigError: command line: 'data' is missing");
  EXPECT_EQ(error_of({"--data=x", "--optimzer.beta1=1"}),
            "ConfigError: command line: unknown option '--optimzer.beta1' (did you mean 'optimizer.beta1'?)");
  EXPECT_EQ(error_of({"--data=x", "--optimizer.beta1=high"}),
            "ConfigError: command line: 'optimizer.beta1' must be a number, got \"high\"");
  EXPECT_EQ(error_of({"--data=x", "--optimizer.beta1=2"}),
            "ConfigError: command line: 'optimizer': Adam: beta1 = 2 must be below 1");
  EXPECT_EQ(error_of({"--data=x", "--sizes=1,two"}),
            "ConfigError: command line: 'sizes[1]' must be an integer, got \"two\"");
  EXPECT_EQ(
      error_of({"--data=x", "--schedule=Cosin"}),
      "ConfigError: command line: 'schedule' must be one of \"Constant\", \"Cosine\", got \"Cosin\" (did you mean "
      "'Cosine'?)");
  EXPECT_EQ(error_of({"data"}), "ConfigError: command line: 'data' is not an option: options are written --key=value");
  EXPECT_EQ(error_of({"--epochs"}), "ConfigError: command line: '--epochs' has no value");
  EXPECT_EQ(error_of({"--no-epochs"}),
            "ConfigError: command line: unknown option '--no-epochs' (did you mean 'epochs'?)");
  EXPECT_EQ(error_of({"--config=/no/such"}).substr(0, 8), "IoError:");
}

TEST(Arguments, AreListed) {
  EXPECT_EQ(options_of<Settings>(),
            "  --data TEXT                     required\n"
            "  --epochs INTEGER                3\n"
            "  --optimizer.beta1 NUMBER        0.9\n"
            "  --optimizer.amsgrad true|false  false\n"
            "  --schedule Constant|Cosine      \"Cosine\"\n"
            "  --sizes INTEGER,...             [8,4]\n"
            "  --tags TEXT,...                 [\"none\"]\n"
            "  --clip NUMBER                   null\n"
            "  --shuffle true|false            true\n"
            "  --weights JSON                  {\"a\": 1.0}\n"
            "  --config FILE                   a JSON file with any of these\n");
  const char* const help[] = {"program", "--epochs=1", "-h"};
  EXPECT_TRUE(asks_for_help(3, help));
  EXPECT_FALSE(asks_for_help(2, help));
  EXPECT_FALSE(asks_for_help(0, help));
}

struct Nested {
  int steps = 3;
  Adam optimizer;
};

TEST(Arguments, OfProgramsThatTakeWords) {
  const auto status = [](std::vector<const char*> words, int most) {
    words.insert(words.begin(), "program");
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    const auto status = answered(static_cast<int>(words.size()), words.data(), "what it does", most, {"--text"});
    return std::tuple(status.value_or(-1), testing::internal::GetCapturedStdout(),
                      testing::internal::GetCapturedStderr());
  };
  const auto refused = [](const std::string& word) {
    return std::tuple(1, std::string(), text("this program does not take '", word, "'; --help says what it takes\n"));
  };
  const std::tuple goes_on(-1, std::string(), std::string());
  EXPECT_EQ(status({}, 0), goes_on);
  EXPECT_EQ(status({"5", "a b"}, 2), goes_on);
  EXPECT_EQ(status({"--text", "a"}, 2), goes_on);
  EXPECT_EQ(status({"a", "--help"}, 0), std::tuple(0, std::string("what it does\n"), std::string()));
  EXPECT_EQ(status({"a"}, 0), refused("a"));
  EXPECT_EQ(status({"a", "b\x1b", "c"}, 1), refused("b\\x1b"));
  EXPECT_EQ(status({"--txt"}, 2), refused("--txt"));
  EXPECT_EQ(answered(0, nullptr, "", 0), std::nullopt);

  const auto said = [](const char* word) -> std::string {
    try {
      whole_number(word, "ROUNDS", 1, 99);
    } catch (const Error& error) { return error.what(); }
    return "";
  };
  EXPECT_EQ(whole_number("40", "ROUNDS", 1, 99), 40);
  for (const char* const wrong : {"", "x", "4x", " 4", "0", "100", "-1", "1e1", "99999999999999999999"})
    EXPECT_TRUE(said(wrong).ends_with(text("ROUNDS is '", wrong, "', it must be a whole number from 1 to 99")))
        << said(wrong);
}

TEST(Arguments, AreExplained) {
  const auto said = [](const Help& help) { return config::help(config::options_for<Nested>(), help); };
  EXPECT_EQ(said({"Learns.", {{"steps", "how many steps"}, {"optimizer", "of Adam"}, {"optimizer.beta1", "memory"}}}),
            "Learns.\n\n"
            "  how many steps:\n    --steps INTEGER  (3)\n"
            "  memory:\n    --optimizer.beta1 NUMBER  (0.9)\n"
            "  of Adam:\n    --optimizer.amsgrad true|false  (false)\n"
            "  a JSON file with any of these:\n    --config FILE\n");
  EXPECT_EQ(said({"Learns.", {}}), "Learns.\n\n" + options_of<Nested>());
  const auto error = [&](std::vector<Help::Meaning> meanings) {
    try {
      said({"Learns.", std::move(meanings)});
    } catch (const ConfigError& wrong) { return std::string(wrong.what()); }
    return std::string();
  };
  EXPECT_EQ(error({{"steps", "how many steps"}}), "ConfigError: help: nothing says what '--optimizer.beta1' means");
  EXPECT_EQ(error({{"stepz", "how many steps"}}), "ConfigError: help: the program has no option 'stepz'");
}

TEST(Arguments, OfSwitchesMayBeAWordOfTheirOwn) {
  EXPECT_TRUE(read({"--data=x", "--optimizer.amsgrad", "true"}).optimizer.amsgrad);
  EXPECT_FALSE(read({"--data=x", "--shuffle", "false", "--epochs=1"}).shuffle);
  EXPECT_EQ(error_of({"--data=x", "--shuffle", "maybe"}).find("ConfigError: command line: 'maybe' is not an option"),
            0u);
}

struct Job {
  int steps = 3;
};
void work(const Job& job) { require<DataError>(job.steps < 5, "work: ", job.steps, " steps are too many"); }

TEST(Arguments, MakeAMain) {
  const auto outcome = [](std::vector<const char*> arguments) {
    arguments.insert(arguments.begin(), "program");
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    const int status = run_main(static_cast<int>(arguments.size()), arguments.data(), work);
    return text(status, " ", testing::internal::GetCapturedStdout(), testing::internal::GetCapturedStderr());
  };
  EXPECT_EQ(outcome({}), "0 ");
  EXPECT_EQ(outcome({"--help"}), "0 " + options_of<Job>());
  EXPECT_EQ(outcome({"--steps=7"}), "1 DataError: work: 7 steps are too many\n");
  EXPECT_EQ(outcome({"--step=7"}), "1 ConfigError: command line: unknown option '--step' (did you mean 'steps'?)\n");
}

}  // namespace
}  // namespace kiln
