#include "tests/fuzz/readers.hpp"

#include <fstream>
#include <stdexcept>

#include "tests/data/temporary_directory.hpp"

namespace kiln::test {

std::string on_disk(std::string_view name, std::span<const std::byte> file) {
  static const TemporaryDirectory folder;
  const std::filesystem::path path = folder / name;
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << text_of(file);  // which nobody need find after a crash of the machine
  return path.string();
}

void expect(bool holds, const char* what) {
  if (!holds) throw std::logic_error(what);
}

void look_at(std::span<const std::byte> bytes) {
  static volatile unsigned seen = 0;
  unsigned sum = 0;
  for (const std::byte byte : bytes) sum += std::to_integer<unsigned>(byte);
  seen = seen + sum;
}

}  // namespace kiln::test
