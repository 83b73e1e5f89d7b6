// Computes with tensors that lie in a file: ./dev run own_memory [FOLDER]
#include "examples/own_memory/file_pages.hpp"
#include "kiln/core/config/arguments.hpp"
#include "kiln/kiln.hpp"

using namespace kiln;

namespace {
constexpr std::string_view kHelp = R"(Computes with tensors that lie in a file: ./dev run own_memory [FOLDER])";
}  // namespace

int main(int count, char** words) try {
  if (const auto status = kiln::answered(count, words, kHelp, 1)) return *status;
  static FilePages pages(count > 1 ? words[1] : std::filesystem::temp_directory_path());
  set_memory_options({.source = &pages});  // before the first tensor

  const Device device = Device::cpu();
  const Tensor<2> x = ones({1024, 1024}, device);
  const double sum = (x.matmul(x) * 2).sum().item();
  print("the sum is {}, and {} MiB lie in the file\n", sum, pages.size() >> 20);

  try {
    set_memory_options({.strategy = MemoryStrategy::Exact});
  } catch (const ArgumentError& error) { print("{}\n", error.message()); }
  return 0;
} catch (const std::exception& error) {
  print("{}\n", error.what());
  return 1;
}
