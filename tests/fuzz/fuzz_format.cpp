// One format's reader, given whatever libFuzzer makes of sound files: it reads all, or throws an Error of bad data.
#include <cstdlib>
#include <string>

#include "kiln/core/error/error.hpp"
#include "kiln/store/format/source.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace kiln;
  static const Format& format = format_for_writing("file." KILN_FUZZ_FORMAT);
  const FileBytes file{std::as_bytes(std::span(data, size)), "file." KILN_FUZZ_FORMAT, nullptr};
  try {
    for (const auto& [name, tensor] : format.open(file).tensors)
      if (tensor.read().shape() != tensor.shape) std::abort();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::Data && error.kind() != ErrorKind::Memory) std::abort();
  }
  return 0;
}
