// Turns nested dicts and lists into tensors with dotted names, and everything else into text.
#pragma once
#include "kiln/store/format/source.hpp"
#include "kiln/store/pickle/value.hpp"

namespace kiln::pickle {

/// `bytes` is the size of the pickle. Calls tensor(name, tensor) for each tensor in `value`,
/// "optimizer.state.0.exp_avg", and adds numbers, strings and lists of these to `metadata` under such names. Throws
/// DataError for a value that is nested too deep or has too many parts.
void flatten(const Value& value, std::string_view file, std::size_t bytes, Metadata& metadata,
             FunctionRef<void(const std::string&, const Value&)> tensor);

}  // namespace kiln::pickle
