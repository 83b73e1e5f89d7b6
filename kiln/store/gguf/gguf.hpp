// GGUF, the file format of llama.cpp (ggml's docs/gguf.md), versions 2 and 3.
#pragma once
#include "kiln/store/format/source.hpp"

namespace kiln {

bool is_gguf(std::span<const std::byte> bytes);
/// Quantised tensors are read as float32. Shapes have the slowest dimension first, where the file has it last. The
/// file's keys and values become metadata, and arrays have the form "[1, 2]". Throws DataError.
TensorSource open_gguf(const FileBytes& file);
/// Returns the source with a request to write matrices and larger tensors of floats as "q8_0" or "q4_0", which take 8.5
/// and 4.5 bits per element, if their rows are multiples of 32. Throws ArgumentError for another encoding.
TensorSource quantised_for_gguf(const TensorSource& source, std::string_view encoding);
/// Writes version 3. Tensors that quantised_for_gguf() marked, or that came from a file in one of these two encodings,
/// are written in that encoding; tensors that came in other encodings are written as float32. Metadata that read as
/// integers, real numbers or booleans are written as such, others as strings. Throws ArgumentError for element types
/// that GGUF does not have, which are booleans and unsigned integers, for more than four dimensions, and for values
/// that quantised tensors cannot hold: NaN, infinities, numbers over 65504.
void write_gguf(const TensorSource& source, ByteSink sink);

}  // namespace kiln
