// PyTorch's files, which torch.save(model.state_dict(), "model.pt") writes as a zip archive (since 1.6) or as a
// sequence of pickles. Nothing in them is executed (unpickler.hpp).
#pragma once
#include "kiln/store/format/source.hpp"

namespace kiln {

/// Returns whether it is a zip archive with a data.pkl; see read_zip().
bool is_pytorch_zip(const FileBytes& file);
bool is_pytorch_legacy(std::span<const std::byte> bytes);

/// Opens the tensors of nested dicts and lists under dotted names, and other contents as metadata. Tensors that are
/// row-major and uncompressed in the file are borrowed from it; so are those that share elements. Throws DataError.
TensorSource open_pytorch(const FileBytes& file);

/// Writes a state dict that torch.load(file, weights_only=True) can read and map. Throws ArgumentError for element
/// types that PyTorch has no storage of. A tensor of several names (TensorSource::also) is written once and referenced
/// under each name. Metadata are left out, because PyTorch would treat them as tensors.
void write_pytorch(const TensorSource& source, ByteSink sink);
/// Writes dicts of dicts: "state.0.step" becomes d["state"][0]["step"], as PyTorch's optimizers have it.
void write_pytorch_nested(const TensorSource& source, ByteSink sink);

}  // namespace kiln
