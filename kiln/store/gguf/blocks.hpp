// The element types of GGUF (ggml.h of llama.cpp): plain ones, and blocks of quantised weights, which are read as
// float32.
#pragma once
#include <optional>

#include "kiln/core/tensor_data.hpp"

namespace kiln::gguf {

struct Encoding {
  std::uint32_t id;                                             // the number in the file
  std::string_view name;                                        // "q4_k"
  std::int64_t block;                                           // elements per block
  std::int64_t bytes;                                           // bytes per block
  DType dtype = DType::F32;                                     // the type that it is read as
  void (*decode)(const std::byte* block, float* to) = nullptr;  // null for plain elements
  /// Null for types that Kiln does not write. `from` must be finite, and its scale must fit in float16.
  void (*encode)(const float* from, std::byte* block) = nullptr;
};

/// Returns null for a type that Kiln does not read.
const Encoding* find_encoding(std::uint32_t id);
/// Finds a type by its name. Returns null for one that Kiln does not write, or that is plain.
const Encoding* find_written(std::string_view name);
/// Returns the plain encoding of an element type, or null if GGUF has none.
const Encoding* plain_encoding(DType dtype);

}  // namespace kiln::gguf
