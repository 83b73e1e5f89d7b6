// What files of tensors have in common, whatever their format.
//
//   TensorSource   named tensors that are read when somebody asks: what a file holds, and what a file is written from
//   Format         one row of a table: what files of it look like, how they are opened and written
//
// Opening a file reads its headers. A tensor that lies in the file as Kiln has it in memory is lent from the mapped file,
// and any other (compressed, quantised, strided) is made when it is asked for, so that what goes from a file to another,
// or into a model, needs memory for one tensor at a time. To rename, leave out, convert or transpose tensors is to make
// another TensorSource (kiln/store/format/edit.hpp).
//
// A format is a folder beside this one and a row in formats.cpp.
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
  DType dtype = DType::F32;          // of what read() gives
  std::string encoding = {};         // how the file keeps it, where that is not simply its elements: "q4_k"
  std::int64_t stored_bytes = 0;     // that it takes up in the file
  std::function<TensorData()> read;  // of that shape and type; throws DataError where the contents are damaged
};

struct TensorSource {
  std::map<std::string, StoredTensor> tensors;
  Metadata metadata;                   // what else the file says, as text
  std::string_view format = "memory";  // "safetensors"
  /// Other names of tensors, by these: a model's tied parameters. PyTorch's files have them, others each tensor once.
  std::map<std::string, std::string> also = {};
  /// What else the file has by such names and cannot be read here, and why: element types that Kiln does not have.
  std::map<std::string, std::string> left_out = {};
};

/// What takes the bytes of a file, one piece after another.
using ByteSink = FunctionRef<void(std::span<const std::byte>)>;

struct Format {
  std::string_view name;                         // "safetensors"
  std::span<const std::string_view> extensions;  // ".safetensors"; the first is the usual one
  /// Is this a file of it, or one that was meant to be?
  bool (*matches)(const FileBytes& file);
  /// Throws DataError, whose sentence begins with the file's name, and names the tensor where there is one.
  TensorSource (*open)(const FileBytes& file);
  /// Reads one tensor after another. Throws ArgumentError for what the format cannot hold. Null: such files are only read.
  void (*write)(const TensorSource& source, ByteSink sink);
};

/// All of them; those that are told by their first bytes with more certainty stand before others.
std::span<const Format> formats();
/// By the extension, of a file to be written. Throws ArgumentError with the extensions that there are.
const Format& format_for_writing(const std::string& path);
/// The same for save(), which writes safetensors where the extension names no format, "weights" or "run.3". Throws
/// ArgumentError where it names one that Kiln does not write tensors in, ".h5" or ".onnx".
const Format& format_for_saving(const std::string& path);

/// The file's tensors, whatever its format, which its first bytes tell; or of all the files that an index of shards
/// (model.safetensors.index.json) names, or of the only one in a directory. Throws IoError, DataError.
TensorSource open_tensors(const std::string& path);
TensorSource open_tensors(const FileBytes& file);

/// Replaces the file in one step. Throws IoError, ArgumentError, or what reading a tensor throws.
void write_tensors(const TensorSource& source, const std::string& path);

/// Throws DataError where `size` bytes come out of `from` in a file, more than `of_any` and more than 100 times as much, or as
/// many times as the setting `inflation` (KILN_INFLATION) says: a small file is not to fill the memory unasked.
void require_inflation(std::string_view what, std::uint64_t size, std::uint64_t from,
                       std::uint64_t of_any = std::uint64_t{1} << 30);

/// A tensor that is in memory already.
StoredTensor stored(TensorData data);
/// A tensor that lies in the file as it is in memory, from `begin` on; the caller has checked that it does.
StoredTensor stored(const FileBytes& file, std::size_t begin, const Shape& shape, DType dtype);

/// numel(shape) * size_of(dtype) where that is a size, each dimension is at least 0 and strides of it can be counted;
/// otherwise a DataError: "file: tensor 'w': shape [4611686018427387904, 4] is over 2^63 - 1 bytes".
std::int64_t checked_bytes(std::string_view file, std::string_view tensor, const Shape& shape, DType dtype);

}  // namespace kiln
