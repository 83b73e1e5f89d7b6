// What PyTorch's own functions would make of their arguments while a state dict is unpickled.
#pragma once
#include <string>

#include "kiln/store/pickle/value.hpp"

namespace kiln::pickle {

/// Why something is not what it should be; empty where it is.
using Complaint = std::string;

/// May a pickle name this? Classes and functions that mean something here, element types, and nothing else.
bool is_known(const Global& global);

/// A class whose objects hold data alone, so that NEWOBJ and BUILD may make them: those of TorchScript's archives, each
/// a module with its tensors, and argparse's options.
bool holds_data_alone(const Global& global);

/// A tuple of sizes.
bool read_dims(const Value& value, Dims& dims);

/// A storage's persistent id: ('storage', torch.FloatStorage, key, device, count).
Complaint read_storage(const Value& id, StorageRef& storage);

/// What calling `global` with these arguments gives, without calling anything.
Complaint call(const Global& global, const List& arguments, Value& result);

}  // namespace kiln::pickle
