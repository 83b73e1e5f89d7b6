// GGUF, the files of llama.cpp (ggml's docs/gguf.md), versions 2 and 3.
#pragma once
#include "kiln/store/format/source.hpp"

namespace kiln {

bool is_gguf(std::span<const std::byte> bytes);
/// Quantised tensors are read as float32; shapes have the slowest dimension first, where the file has it last. The file's
/// keys and values are metadata, arrays as "[1, 2]". Throws DataError.
TensorSource open_gguf(const FileBytes& file);
/// Version 3. Metadata that read as whole numbers, real ones or booleans are written as such, others as strings. Throws
/// ArgumentError for element types that GGUF does not have, booleans and unsigned integers, and for over four dimensions.
void write_gguf(const TensorSource& source, ByteSink sink);

}  // namespace kiln
