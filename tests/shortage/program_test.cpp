// The program `kiln` with the memory running out at each of its allocations.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "cli/commands.hpp"
#include "kiln/core/file.hpp"
#include "kiln/nn/linear.hpp"
#include "kiln/store/save.hpp"
#include "tests/shortage/shortage.hpp"
#include "tests/train/fresh_directory.hpp"

namespace kiln::test {
namespace {

namespace fs = std::filesystem;

/// What a call of the program left; the buffers are as long as they will be, so that it is not they that find no memory.
struct Left {
  int status = -1;
  std::string out, error;
};

void run(const std::vector<std::string>& words, Left& left) {
  left.out.clear();
  left.error.clear();
  const cli::Print out = [&left](std::string_view text) { left.out += text; };
  const cli::Print error = [&left](std::string_view text) { left.error += text; };
  left.status = cli::run(words, out, error);
}

/// Each command ends as it would, or with status 2 and a sentence, and comes through afterwards.
void expect_sentences(const std::vector<std::string>& words, FunctionRef<void()> after) {
  Left whole, left;
  run(words, whole);
  ASSERT_EQ(whole.status, 0) << words[0] << ": " << whole.error;
  left.out.reserve(whole.out.size() + 4096);
  left.error.reserve(4096);
  int told = 0;
  for (const Fails fails : {Fails::Once, Fails::FromThenOn}) {
    for (std::int64_t at = 1;; at += 1 + at / 40) {
      try {
        const Shortage shortage(at, fails);
        run(words, left);
      } catch (const std::exception& error) {
        ADD_FAILURE() << words[0] << ", allocation " << at << ": " << error.what();
        return;
      }
      const bool failed = has_failed();
      if (left.status == 0) {
        EXPECT_EQ(left.out, whole.out) << words[0] << ", allocation " << at;
      } else {
        ++told;
        EXPECT_EQ(left.status, 2) << words[0] << ", allocation " << at;
        EXPECT_TRUE(left.error.starts_with("kiln: ")) << left.error;
        EXPECT_EQ(std::ranges::count(left.error, '\n'), 1) << left.error;
      }
      after();
      Left again;
      run(words, again);
      EXPECT_EQ(again.out, whole.out) << words[0] << " after allocation " << at << ": " << again.error;
      if (!failed || testing::Test::HasFailure()) break;
    }
  }
  EXPECT_GT(told, 20) << words[0];
}

TEST(ProgramShortage, EndsInASentence) {
  const fs::path folder = fresh_directory("shortage_program");
  fs::create_directories(folder);
  const std::string from = (folder / "m.safetensors").string(), to = (folder / "m.npz").string();
  save(nn::LinearConfig{.in = 3, .out = 4}.init(Device::cpu()), from);
  expect_sentences({"convert", from, to}, [] {});
  const std::vector<std::byte> whole = read_file(to);
  expect_sentences({"convert", from, to}, [&] { EXPECT_EQ(read_file(to), whole); });
  expect_sentences({"inspect", from}, [] {});
  expect_sentences({"diff", from, to}, [] {});
  expect_sentences({"--help"}, [] {});
}

}  // namespace
}  // namespace kiln::test
