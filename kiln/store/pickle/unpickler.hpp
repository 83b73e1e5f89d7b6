// Reads pickles of protocols 2 to 5 as data. Python's machine may import and call whatever a pickle names; this one calls
// nothing. What a state dict needs of Python (OrderedDict, the functions that rebuild tensors) is a list of names below
// with a meaning here; objects are made of classes that hold data alone (holds_data_alone). Every other name, and every
// other opcode that makes objects, is refused by its name.
#pragma once
#include "kiln/core/mapped_file.hpp"
#include "kiln/store/pickle/value.hpp"

namespace kiln::pickle {

/// The pickle that begins at `begin`, whose end is put there. Values live in `arena` and refer to the file's bytes. Throws
/// DataError: "model.pt: pickle, byte 31: GLOBAL names os.system, ...".
const Value& unpickle(const FileBytes& file, std::size_t& begin, Arena& arena);

}  // namespace kiln::pickle
