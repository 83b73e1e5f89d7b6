// Advice where all names of a file and of a module differ by the same beginning.
#pragma once
#include <string>
#include <vector>

#include "kiln/store/record.hpp"

namespace kiln::detail {

/// Calls f(name) for each name that a record may have for the part: for a tied parameter, any of its places.
template <class F>
void each_name(const RecordPart& part, F&& f) {
  f(part.name);
  for (std::size_t i = 1; i < part.places.size(); ++i) f(part.places[i].path);
}

/// If all names of the file fit below one member of the module, or all names of the module below one key of the file,
/// returns what to do; otherwise nothing.
std::string prefix_advice(const TensorSource& record, const std::vector<RecordPart>& parts, const LoadOptions& options);

}  // namespace kiln::detail
