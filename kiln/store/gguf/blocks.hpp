// The element types of GGUF (ggml.h of llama.cpp): plain ones, and blocks of quantised weights, which are read as float32.
#pragma once
#include <optional>

#include "kiln/core/tensor_data.hpp"

namespace kiln::gguf {

struct Encoding {
  std::uint32_t id;                                             // in the file
  std::string_view name;                                        // "q4_k"
  std::int64_t block;                                           // elements of a block
  std::int64_t bytes;                                           // of a block
  DType dtype = DType::F32;                                     // of what is read
  void (*decode)(const std::byte* block, float* to) = nullptr;  // null of plain elements
  /// Null of what Kiln does not write. `from` is finite, and float16 has its scale.
  void (*encode)(const float* from, std::byte* block) = nullptr;
};

/// Null for one that Kiln does not read.
const Encoding* find_encoding(std::uint32_t id);
/// By its name; null for one that Kiln does not write, or that is plain.
const Encoding* find_written(std::string_view name);
/// The plain one of an element type; null where GGUF has none.
const Encoding* plain_encoding(DType dtype);

}  // namespace kiln::gguf
