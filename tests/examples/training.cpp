// The examples of training, as programs.
#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <filesystem>
#include <string>

#include "kiln/core/file.hpp"
#include "kiln/core/text.hpp"

namespace kiln {
namespace {

namespace fs = std::filesystem;

std::string output_of(const std::string& command) {
  std::FILE* const pipe = ::popen(command.c_str(), "r");
  std::string output;
  for (int c; (c = std::fgetc(pipe)) != EOF;) output += static_cast<char>(c);
  EXPECT_EQ(::pclose(pipe), 0) << output;
  return output;
}

TEST(CustomLoop, GoesOnToTheSameBitsAfterBeingKilled) {
  const fs::path folder = fs::temp_directory_path() / text("kiln-custom-loop-", ::getpid());
  const std::string whole = (folder / "whole").string(), parts = (folder / "parts").string();
  const std::string said = output_of(text(CUSTOM_LOOP_PROGRAM, ' ', whole));
  EXPECT_NE(said.find("epoch 3: loss "), std::string::npos) << said;
  const pid_t child = ::fork();
  if (child == 0) {
    ::execl(CUSTOM_LOOP_PROGRAM, CUSTOM_LOOP_PROGRAM, parts.c_str(), nullptr);
    ::_exit(127);
  }
  // In the middle of the first epoch, which has 80 steps.
  bool ended = false;
  while (!ended && !fs::exists(folder / "parts/checkpoint/step-40.kiln")) {
    ::usleep(500);
    ended = ::waitpid(child, nullptr, WNOHANG) == child;
  }
  ASSERT_FALSE(ended);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_FALSE(fs::exists(folder / "parts/checkpoint/step-240.kiln"));
  const std::string resumed = output_of(text(CUSTOM_LOOP_PROGRAM, ' ', parts));
  EXPECT_EQ(resumed.substr(resumed.find("epoch 3")), said.substr(said.find("epoch 3")));
  const auto file = [&](const char* name) { return read_file((folder / name / "checkpoint/step-240.kiln").string()); };
  EXPECT_EQ(file("parts"), file("whole"));
  fs::remove_all(folder);
}

TEST(CustomMetric, IsLoggedAsAnyOther) {
  const std::string said = output_of(CUSTOM_METRIC_PROGRAM);
  EXPECT_NE(said.find("epoch 3/3, step 240, valid: loss "), std::string::npos) << said;
  EXPECT_NE(said.find(", confident_mistakes 0.0"), std::string::npos) << said;
}

}  // namespace
}  // namespace kiln
