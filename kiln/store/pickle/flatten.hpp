// Nested dicts and lists as tensors with dotted names, and everything else as text.
#pragma once
#include "kiln/store/format/source.hpp"
#include "kiln/store/pickle/value.hpp"

namespace kiln::pickle {

/// `bytes` are those of the pickle. Calls tensor(name, tensor) for each tensor in `value`, "optimizer.state.0.exp_avg", and puts numbers, strings and lists
/// of such into `metadata` under such names. Throws DataError for what is nested too deep or has too many parts.
void flatten(const Value& value, std::string_view file, std::size_t bytes, Metadata& metadata,
             FunctionRef<void(const std::string&, const Value&)> tensor);

}  // namespace kiln::pickle
