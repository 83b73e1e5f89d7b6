// GGUF, the files of llama.cpp (ggml's docs/gguf.md), versions 2 and 3.
#pragma once
#include "kiln/store/format/source.hpp"

namespace kiln {

bool is_gguf(std::span<const std::byte> bytes);
/// Quantised tensors are read as float32; shapes have the slowest dimension first, where the file has it last. The file's
/// keys and values are metadata, arrays as "[1, 2]". Throws DataError.
TensorSource open_gguf(const FileBytes& file);
/// The same, where matrices and larger tensors of floats are to be written as "q8_0" or "q4_0", 8.5 and 4.5 bits an
/// element: those whose rows are multiples of 32. Throws ArgumentError for another encoding.
TensorSource quantised_for_gguf(const TensorSource& source, std::string_view encoding);
/// Version 3. What was quantised so, or came from a file in one of these two ways, is written so; what came in others, as
/// float32. Metadata that read as whole numbers, real ones or booleans are written as such, others as strings. Throws
/// ArgumentError for element types that GGUF does not have, booleans and unsigned integers, for over four dimensions, and
/// for what quantised tensors cannot hold: NaN, infinities, numbers over 65504.
void write_gguf(const TensorSource& source, ByteSink sink);

}  // namespace kiln
