// What all formats of tensor files have in common.
//
//   TensorSource   named tensors that are read on demand: what a file contains, and what a file is written from
//   Format         one row of a table: how its files are recognised, opened and written
//
// Opening a file reads its headers only. A tensor that is stored in the file as Kiln has it in memory is borrowed from
// the mapped file; any other one (compressed, quantised, strided) is made when it is read. Converting a file into
// another one, or loading it into a model, therefore needs memory for one tensor at a time. Tensors are renamed, left
// out, converted or transposed by making another TensorSource (kiln/store/format/edit.hpp).
//
// Each format is a folder next to this one and a row in formats.cpp.
#pragma once
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "kiln/core/mapped_file.hpp"
#include "kiln/core/parallel.hpp"
#include "kiln/core/tensor_data.hpp"

namespace kiln {

using Metadata = std::map<std::string, std::string>;

/// A tensor that has not been read yet.
struct StoredTensor {
  Shape shape;
  DType dtype = DType::F32;          // the element type of what read() returns
  std::string encoding = {};         // how the file stores it, if not simply as its elements: "q4_k"
  std::int64_t stored_bytes = 0;     // size in the file
  std::function<TensorData()> read;  // returns that shape and type; throws DataError where the contents are damaged
};

struct TensorSource {
  std::map<std::string, StoredTensor> tensors;
  Metadata metadata;                   // other information in the file, as text
  std::string_view format = "memory";  // "safetensors"
  /// Maps other names of tensors to names in `tensors`: the tied parameters of a model. PyTorch's files contain them;
  /// other formats contain each tensor once.
  std::map<std::string, std::string> aliases = {};
  /// Maps the names of tensors that cannot be read to the reason, such as an element type that Kiln does not have.
  std::map<std::string, std::string> left_out = {};
};

/// Receives the bytes of a file, one piece after another.
using ByteSink = FunctionRef<void(std::span<const std::byte>)>;

struct Format {
  std::string_view name;                         // "safetensors"
  std::span<const std::string_view> extensions;  // ".safetensors"; the first is the usual one
  /// Returns whether the file is of this format, or was meant to be.
  bool (*matches)(const FileBytes& file);
  /// Throws DataError, whose message begins with the file's name, and names the tensor if there is one.
  TensorSource (*open)(const FileBytes& file);
  /// Reads one tensor after another. Throws ArgumentError for what the format cannot hold. It is null if Kiln only
  /// reads the format.
  void (*write)(const TensorSource& source, ByteSink sink);
};

/// Returns all formats. Those that are recognised by their first bytes with more certainty come first.
std::span<const Format> formats();
/// Chooses the format of a file to be written by its extension. Throws ArgumentError, which lists the known extensions.
const Format& format_for_writing(const std::string& path);
/// Does that for save(), which writes safetensors where the extension names no format, "weights" or "run.3". Throws
/// ArgumentError if the extension names a format that Kiln does not write tensors in, ".h5" or ".onnx".
const Format& format_for_saving(const std::string& path);

/// Opens the tensors of a file of any format, which is recognised by its first bytes; or of all the files that an index
/// of shards (model.safetensors.index.json) names; or of the only model in a directory. Throws IoError, DataError.
TensorSource open_tensors(const std::string& path);
TensorSource open_tensors(const FileBytes& file);

/// Replaces the file atomically. Throws IoError, ArgumentError, or what reading a tensor throws.
void write_tensors(const TensorSource& source, const std::string& path);

/// Throws DataError if `size` bytes are read out of `from` bytes of a file and `size` is more than `of_any` and more
/// than 100 times `from`, or as many times as the setting `inflation` (KILN_INFLATION) says: a small file must not fill
/// the memory unasked.
void require_inflation(std::string_view what, std::uint64_t size, std::uint64_t from,
                       std::uint64_t of_any = std::uint64_t{1} << 30);

/// A tensor that is already in memory.
StoredTensor stored(TensorData data);
/// A tensor whose bytes in the file, from `begin` on, are those that it has in memory. The caller has checked that they
/// are in the file.
StoredTensor stored(const FileBytes& file, std::size_t begin, const Shape& shape, DType dtype);

/// Returns numel(shape) * size_of(dtype). Throws DataError if that overflows, if a dimension is negative or if the
/// strides overflow: "file: tensor 'w': shape [4611686018427387904, 4] is over 2^63 - 1 bytes".
std::int64_t checked_bytes(std::string_view file, std::string_view tensor, const Shape& shape, DType dtype);

}  // namespace kiln
