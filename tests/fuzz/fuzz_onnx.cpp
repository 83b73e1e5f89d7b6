// ONNX files of whatever libFuzzer makes of sound ones: loaded, simplified or as they stand, or refused with an Error.
#include "kiln/core/error/error.hpp"
#include "kiln/onnx/model.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace kiln;
  for (const bool simplify : {false, true}) try {
      onnx::load(std::as_bytes(std::span(data, size)), "file.onnx", "/nowhere", Device::cpu(), {.simplify = simplify});
    } catch (const Error&) {}
  return 0;
}
