// PyTorch's files: what torch.save(model.state_dict(), "model.pt") writes, as a zip archive (since 1.6) or as pickles one
// after another. Nothing in them is run (unpickler.hpp).
#pragma once
#include "kiln/store/format/source.hpp"

namespace kiln {

/// A zip archive with a data.pkl; see read_zip().
bool is_pytorch_zip(const FileBytes& file);
bool is_pytorch_legacy(std::span<const std::byte> bytes);

/// The tensors of nested dicts and lists, by dotted names, and their other contents as metadata. Tensors that lie in the
/// file row by row, uncompressed, are lent from there; so are those that share their elements. Throws DataError.
TensorSource open_pytorch(const FileBytes& file);

/// A state dict that torch.load(file, weights_only=True) reads, and maps. Throws ArgumentError for element types that
/// PyTorch has no storage of. A tensor of several names (TensorSource::also) is written once and named by each. Metadata are
/// left out: PyTorch would take them for tensors.
void write_pytorch(const TensorSource& source, ByteSink sink);
/// Dicts of dicts: "state.0.step" is d["state"][0]["step"], as PyTorch's optimizers have them.
void write_pytorch_nested(const TensorSource& source, ByteSink sink);

}  // namespace kiln
