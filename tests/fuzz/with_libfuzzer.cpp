// libFuzzer changes files by our means half of the time, and by its own.
#include <algorithm>
#include <cstring>

#include "tests/fuzz/target.hpp"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t most,
                                               unsigned int seed) {
  using namespace kiln::test;
  kiln::Random random(seed);
  const Reader& reader = chosen_reader();
  if (size == 0 || random.below(2)) {
    const std::size_t now = LLVMFuzzerMutate(data, size, most);
    if (!reader.mend || random.below(2)) return now;
    size = now;
  }
  const auto bytes = std::as_bytes(std::span(data, size));
  FileContents file(bytes.begin(), bytes.end());
  if (reader.mend && random.below(2)) reader.mend(file);
  else change_file(reader, file, random);
  const std::size_t length = std::min(file.size(), most);
  if (length > 0) std::memcpy(data, file.data(), length);
  return length;
}
