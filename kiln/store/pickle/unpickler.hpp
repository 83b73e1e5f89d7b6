// Reads pickles of protocols 2 to 5 as data. Python's machine may import and call anything that a pickle names; this
// one calls nothing. The Python names that a state dict needs (OrderedDict, the functions that rebuild tensors) are on
// a list and have a meaning here. Objects are only made of classes that are plain data (is_plain_data_class). Every
// other name, and every other opcode that makes objects, is rejected with an error that names it.
#pragma once
#include "kiln/core/mapped_file.hpp"
#include "kiln/store/pickle/value.hpp"

namespace kiln::pickle {

/// Reads the pickle that begins at `begin`, and sets `begin` to its end. Values are owned by `arena` and refer to the
/// file's bytes. Throws DataError: "model.pt: pickle, byte 31: GLOBAL names os.system, ...".
const Value& unpickle(const FileBytes& file, std::size_t& begin, Arena& arena);

}  // namespace kiln::pickle
