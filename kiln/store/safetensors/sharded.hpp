// Models in several files, with an index of which tensor is in which file: model.safetensors.index.json, as Hugging
// Face's transformers writes it (also pytorch_model.bin.index.json).
#pragma once
#include "kiln/store/format/source.hpp"

namespace kiln {

bool is_shard_index(std::string_view path);
/// Opens the tensors of all shards, which are in the directory of the index. Throws DataError for an index that names
/// files elsewhere, or tensors that do not exist, and IoError for a missing file.
TensorSource open_sharded(const FileBytes& index);
/// Finds the model in a directory: its index, or its only file that has the extension of a format. Throws IoError.
std::string only_model_in(const std::string& directory);

/// Writes files of at most `bytes` each, unless a tensor is larger: model-00001-of-00003.safetensors and so on for
/// "model.safetensors", and their index, which is written last. Throws IoError, ArgumentError.
void write_sharded(const TensorSource& source, const std::string& path, std::int64_t bytes);

}  // namespace kiln
