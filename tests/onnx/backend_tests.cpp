// onnx_backend_tests DIR...: runs the standard's tests below the directories and says how each went. With
// --as-it-stands models are not simplified first; --table prints the operator table of docs/onnx.md.
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "kiln/onnx/backend_test.hpp"
#include "kiln/onnx/table.hpp"

int main(int count, char** words) {
  kiln::onnx::LoadOptions options;
  std::vector<std::string> paths;
  for (int i = 1; i < count; ++i) {
    if (std::strcmp(words[i], "--as-it-stands") == 0) options.simplify = false;
    else if (std::strcmp(words[i], "--table") == 0) return std::fputs(kiln::onnx::operator_table().c_str(), stdout) < 0;
    else paths.emplace_back(words[i]);
  }
  const auto print = [](const std::string& line) {
    std::puts(line.c_str());
    std::fflush(stdout);
  };
  return kiln::onnx::run_backend_tests(paths, kiln::Device::cpu(), print, options) ? 1 : 0;
}
