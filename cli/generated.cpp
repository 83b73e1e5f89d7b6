#include "cli/generated.hpp"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <thread>
#include <utility>

#include "kiln/core/error/shown.hpp"
#include "kiln/core/file.hpp"
#include "kiln/onnx/backend_test.hpp"

namespace kiln::cli {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t kGroup = 100;  // models per compiled file

// Checks that `path` can be in quotes in the text of a shell, or of C++.
std::string quoted(const std::string& path) {
  for (const char c : path)
    require<ArgumentError>(static_cast<unsigned char>(c) >= ' ' && c != '\'' && c != '"' && c != '\\' && c != '$',
                           "onnx test --generated: the path ", shown(path),
                           " has a letter that build files do not take");
  return path;
}

constexpr const char* kHarness = R"(#pragma once
#include <string>
#include <vector>

#include <kiln/onnx/backend_test.hpp>

struct Test {
  std::string directory, error;
  kiln::onnx::Runner run;
};
using Tests = std::vector<Test>;
)";

constexpr const char* kMain = R"(
int main() {
  using namespace kiln::onnx;
  Tests tests;
  add_all(tests);
  std::size_t passed = 0;
  for (const Test& test : tests) {
    BackendTestResult result{BackendTestResult::Outcome::Failed, test.error};
    if (test.run) result = run_backend_test(test.directory, kiln::Device::cpu(), {}, test.run);
    const bool fine = result.outcome == BackendTestResult::Outcome::Passed;
    passed += fine;
    std::printf("%s %s%s%s\n", fine ? "passed" : "failed", test.directory.c_str(), fine ? "" : ": ", fine ? "" : result.reason.c_str());
    std::fflush(stdout);
  }
  std::printf("passed %zu of %zu\n", passed, tests.size());
  return passed == tests.size() ? 0 : 1;
}
)";

struct Group {
  std::string includes, runners, table;
  std::size_t count = 0;
  std::string text(std::size_t number) const {
    return kiln::text("#include \"harness.hpp\"\n", includes, "\nnamespace {\n", runners,
                      "}  // namespace\n\nvoid add_", number, "(Tests& tests) {\n", table, "}\n");
  }
};

// The caller passes a short `name`, because the names of tests may be longer than identifiers.
void add_test(Group& group, const std::string& test, const std::string& work, const std::string& name) {
  const std::string directory = quoted(fs::absolute(test).string());
  ++group.count;
  try {
    const fs::path data = fs::path(test) / "test_data_set_0";
    const onnx::GeneratedCode code = onnx::generate((fs::path(test) / "model.onnx").string(),
                                                    {.name = name, .data = fs::exists(data) ? data.string() : ""});
    const std::string place = (fs::path(work) / "models" / code.name).string();
    write_code(code, place);
    group.includes += kiln::text("#include \"models/", code.name, '/', code.name, ".cpp\"\n");
    group.runners += kiln::text("namespace of_", code.name, " {\nusing namespace ::", code.name, ";\n", code.adapter,
                                "std::vector<onnx::Datum> test(const std::vector<onnx::Datum>& in) {\n  static const ",
                                code.type, " model = load_", code.name, "(\"", quoted(place), '/', code.name,
                                ".safetensors\", Device::cpu());\n  return run(model, in);\n}\n}  // namespace of_",
                                code.name, "\n");
    group.table += kiln::text("  tests.push_back({\"", directory, "\", \"\", of_", code.name, "::test});\n");
  } catch (const Error& error) {
    std::string why;  // goes into a string literal of C++
    for (const char c : std::string(error.what()))
      why += c == '"' || c == '\\' || static_cast<unsigned char>(c) < ' ' ? '\'' : c;
    group.table += kiln::text("  tests.push_back({\"", directory, "\", \"", why, "\", {}});\n");
  }
}

void run_or_throw(const std::string& command, const std::string& log) {
  const int status = std::system(kiln::text(command, " > '", log, "' 2>&1").c_str());
  const std::string said = fs::exists(log) ? read_text_file(log) : "";
  require<IoError>(status == 0, "onnx test --generated: this failed: ", command, "\n",
                   said.substr(said.size() - std::min<std::size_t>(said.size(), 4000)));
}

/// Prints the program's output as it comes. Returns whether its exit status is 0.
bool run_and_print(const std::string& program, const Print& print) {
  std::FILE* const pipe = ::popen(kiln::text("'", program, "'").c_str(), "r");
  require<IoError>(pipe != nullptr, "onnx test --generated: ", program, " does not start");
  std::string line;
  for (int letter; (letter = std::fgetc(pipe)) != EOF;) {
    line += static_cast<char>(letter);
    if (letter == '\n') print(std::exchange(line, {}));
  }
  print(line);
  return ::pclose(pipe) == 0;
}

std::string default_prefix() { return fs::read_symlink("/proc/self/exe").parent_path().parent_path().string(); }

}  // namespace

bool test_generated(const OnnxTestOptions& options, const Print& print) {
  require<ArgumentError>(options.device == "cpu" && !options.plain,
                         "onnx test: --generated runs on the processor, and models as `import` simplifies them");
  const bool temporary = options.work.empty();
  std::string work = options.work;
  if (temporary) {
    std::string pattern = (fs::temp_directory_path() / "kiln-generated-XXXXXX").string();
    require<IoError>(mkdtemp(pattern.data()) != nullptr, "there is no place for files in ", shown(pattern));
    work = pattern;
  }
  work = quoted(fs::absolute(work).string());
  const std::string prefix = quoted(fs::absolute(options.kiln.empty() ? default_prefix() : options.kiln).string());
  fs::create_directories(work);
  const std::vector<std::string> tests = onnx::find_backend_tests(options.directories);
  std::size_t count = 0;
  std::vector<Group> groups;
  for (const std::string& test : tests) {
    if (groups.empty() || groups.back().count == kGroup) groups.emplace_back();
    add_test(groups.back(), test, work, kiln::text("model_", ++count));
  }
  std::string sources, declared, called;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    write_file_atomically(kiln::text(work, "/group_", i, ".cpp"), groups[i].text(i));
    sources += kiln::text(" group_", i, ".cpp");
    declared += kiln::text("void add_", i, "(Tests& tests);\n");
    called += kiln::text("  add_", i, "(tests);\n");
  }
  write_file_atomically(work + "/harness.hpp", std::string_view(kHarness));
  write_file_atomically(work + "/main.cpp",
                        kiln::text("#include <cstdio>\n\n#include \"harness.hpp\"\n\n", declared,
                                   "\nstatic void add_all([[maybe_unused]] Tests& tests) {\n", called, "}\n", kMain));
  write_file_atomically(
      work + "/CMakeLists.txt",
      kiln::text("cmake_minimum_required(VERSION 3.25)\nproject(generated LANGUAGES CXX)\nfind_package(kiln REQUIRED)\n"
                 "add_executable(run main.cpp",
                 sources,
                 ")\ntarget_link_libraries(run PRIVATE kiln::kiln)\n"
                 "target_include_directories(run PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})\n"));
  run_or_throw(kiln::text("cmake -S '", work, "' -B '", work, "/build' -DCMAKE_PREFIX_PATH='", prefix, "'"),
               work + "/log");
  run_or_throw(
      kiln::text("cmake --build '", work, "/build' --parallel ", std::max(1U, std::thread::hardware_concurrency())),
      work + "/log");
  const bool same = run_and_print(work + "/build/run", print);
  if (temporary) fs::remove_all(work);
  return same;
}

}  // namespace kiln::cli
