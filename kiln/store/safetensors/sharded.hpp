// Models in several files, with an index of which tensor is in which: model.safetensors.index.json, as Hugging Face's
// transformers writes them (also pytorch_model.bin.index.json).
#pragma once
#include "kiln/store/format/source.hpp"

namespace kiln {

bool is_shard_index(std::string_view path);
/// The tensors of all shards, which lie beside the index. Throws DataError for one that names files elsewhere, or tensors
/// that are not there, and IoError for a missing file.
TensorSource open_sharded(const FileBytes& index);
/// The model in a directory: its index, or its only file that has the extension of a format. Throws IoError.
std::string only_model_in(const std::string& directory);

/// Files of at most `bytes` each, where tensors are no larger: model-00001-of-00003.safetensors and so on for
/// "model.safetensors", and their index, which is written last. Throws IoError, ArgumentError.
void write_sharded(const TensorSource& source, const std::string& path, std::int64_t bytes);

}  // namespace kiln
