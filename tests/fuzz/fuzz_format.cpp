// The reader of one format, which KILN_FUZZ_FORMAT names, given whatever libFuzzer makes of sound files: it reads all, or
// throws an Error of bad data.
#include <cstdlib>
#include <string>

#include "kiln/core/error/error.hpp"
#include "kiln/store/format/source.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace kiln;
  static const char* const said = std::getenv("KILN_FUZZ_FORMAT");
  static const std::string name = said ? std::string("file.") + said : "KILN_FUZZ_FORMAT names no format";
  static const Format& format = format_for_writing(name);
  const FileBytes file{std::as_bytes(std::span(data, size)), name, nullptr};
  try {
    for (const auto& [name, tensor] : format.open(file).tensors)
      if (tensor.read().shape() != tensor.shape) std::abort();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::Data && error.kind() != ErrorKind::Memory) std::abort();
  }
  return 0;
}
