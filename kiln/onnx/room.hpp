// Memory that operators use on the host beside tensors: strings, and lists of numbers. The processor's memory limit counts it.
#pragma once
#include <cstdint>
#include <string_view>

namespace kiln::onnx {

/// Throws MemoryError where `count` times so many bytes, the strings that there are and what the processor's tensors take are
/// more than its memory limit: "StringConcat: ...".
void require_room(std::string_view what, std::int64_t count, std::int64_t bytes_each);

/// Counts strings of so many bytes as long as it lives. Throws as require_room does.
class StringBytes {
 public:
  explicit StringBytes(std::int64_t bytes);
  ~StringBytes();
  StringBytes(const StringBytes&) = delete;
  StringBytes& operator=(const StringBytes&) = delete;

 private:
  std::int64_t bytes_;
};

}  // namespace kiln::onnx
