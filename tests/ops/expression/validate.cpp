#include "tests/ops/expression/validate.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace kiln::expr {
namespace {

bool is_installed(const std::string& program) {
  return std::system(("command -v " + program + " > /dev/null 2>&1").c_str()) == 0;
}

/// Runs `command FILE` on a file of that ending; its output, if it fails.
std::string run(const std::string& command, const std::string& ending, const std::string& text) {
  const auto path = std::filesystem::temp_directory_path() / ("kiln_" + std::to_string(::getpid()) + ending);
  std::ofstream(path) << text;
  std::string output;
  std::FILE* pipe = ::popen((command + " " + path.string() + " 2>&1").c_str(), "r");
  if (!pipe) return "cannot run " + command;
  char letters[512];
  while (const std::size_t count = std::fread(letters, 1, sizeof letters, pipe)) output.append(letters, count);
  const int status = ::pclose(pipe);
  std::filesystem::remove(path);
  if (status == 0) return "";
  return output.empty() ? "it failed without a word" : output.substr(0, 4000);
}

}  // namespace

std::string complaints_of_glslang(const std::string& text) {
  if (!is_installed("glslangValidator")) return kNoValidator;
  return run("glslangValidator --target-env vulkan1.2 -o /dev/null -S comp", ".comp", text);
}

std::string complaints_of_wgsl(const std::string& text) {
  const char* command = std::getenv("KILN_WGSL_VALIDATOR");
  if (command) return run(command, ".wgsl", text);
  for (const std::string each : {"tint", "naga"})
    if (is_installed(each)) return run(each == "tint" ? "tint --format wgsl -o /dev/null" : each, ".wgsl", text);
  return kNoValidator;
}

std::string complaints_of_metal(const std::string& text, const std::string& declarations) {
  if (!is_installed("c++")) return kNoValidator;
  return run("c++ -std=c++20 -fsyntax-only -x c++ -isystem " + declarations, ".metal", text);
}

void expect_stored(const std::string& name, const std::string& text, bool grows) {
  const std::string path = std::string(KILN_STORED) + "/" + name;
  if (std::getenv("KILN_STORE_TEXT")) std::ofstream(path) << text;
  std::ifstream stored(path);
  ASSERT_TRUE(stored) << path;
  std::istringstream lines(text);
  std::string expected, found;
  for (int line = 1; std::getline(stored, expected); ++line) {
    do ASSERT_TRUE(std::getline(lines, found)) << name << ", line " << line << " is missing: " << expected;
    while (grows && found != expected);
    ASSERT_EQ(found, expected) << name << ", line " << line;
  }
  EXPECT_TRUE(grows || !std::getline(lines, found)) << name << " lacks " << found;
}

}  // namespace kiln::expr
