// The safetensors format (huggingface.co/docs/safetensors): an 8-byte length, a JSON header of names, types, shapes and
// byte ranges, then the tensors' bytes. This part reads from memory, without files and streams, so that a small build
// can use it.
#pragma once
#include <vector>

#include "kiln/store/format/source.hpp"

namespace kiln {

/// The contents of a file.
struct TensorFile {
  std::map<std::string, TensorData> tensors;
  Metadata metadata;
};

/// A tensor in the file's bytes: row-major, little-endian, not necessarily aligned.
struct TensorView {
  Shape shape;
  DType dtype = DType::F32;
  std::span<const std::byte> bytes;
};

/// The contents of a file without a copy, valid as long as the bytes are.
struct TensorFileView {
  std::map<std::string, TensorView> tensors;
  Metadata metadata;
  std::map<std::string, std::string> left_out = {};  // see TensorSource
};

/// Checks everything: the header's length and grammar, names (UTF-8, each once), types, shapes of at most kMaxRank
/// sizes, byte ranges that fit the shape and cover the data without overlap, gap or rest, booleans that are 0 or 1.
/// Throws DataError, whose message begins with `file` and names the tensor.
TensorFileView view_safetensors(std::span<const std::byte> bytes, std::string_view file);

/// Reads the same with a copy of the tensors.
TensorFile read_safetensors(std::span<const std::byte> bytes, std::string_view file);

/// Passes the bytes of a file to `sink` piece by piece, one tensor after another. The same contents always give the
/// same bytes: tensors are sorted by decreasing element size, so that each is aligned, then by name. Throws
/// ArgumentError for a name that is not UTF-8 or is the format's own "__metadata__".
void write_safetensors(const TensorSource& source, ByteSink sink);
void write_safetensors(const TensorFile& file, ByteSink sink);
std::vector<std::byte> write_safetensors(const TensorFile& file);

/// These make up the row of the format's table (kiln/store/format/formats.cpp).
bool is_safetensors(std::span<const std::byte> bytes);
TensorSource open_safetensors(const FileBytes& file);

/// The tensors of `file` without a copy, valid as long as it is.
TensorSource source_of(const TensorFile& file);

}  // namespace kiln
