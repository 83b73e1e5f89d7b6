// What PyTorch's own functions would make of their arguments while a state dict is unpickled.
#pragma once
#include <string>

#include "kiln/store/pickle/value.hpp"

namespace kiln::pickle {

/// Describes a problem; empty if there is none.
using Problem = std::string;

/// Returns whether a pickle may name this: classes and functions that have a meaning here, element types, and nothing
/// else.
bool is_known(const Global& global);

/// Returns whether it is a class whose objects are plain data, so that NEWOBJ and BUILD may make them: the modules of
/// TorchScript's archives with their tensors, and argparse's options.
bool is_plain_data_class(const Global& global);

/// Reads a tuple of sizes.
bool read_dims(const Value& value, Dims& dims);

/// Reads a storage's persistent id: ('storage', torch.FloatStorage, key, device, count).
Problem read_storage(const Value& id, StorageRef& storage);

/// Computes what calling `global` with these arguments would return, without calling anything.
Problem call(const Global& global, const List& arguments, Value& result);

}  // namespace kiln::pickle
