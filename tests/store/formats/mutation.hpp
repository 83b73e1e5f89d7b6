// What happens to files.
#pragma once
#include <cstddef>
#include <vector>

#include "kiln/core/random.hpp"

namespace kiln {

/// One change: a bit, a byte, a cut, what parsers stumble over, another digit. `bytes` are not empty.
void damage(std::vector<std::byte>& bytes, Random& random);

}  // namespace kiln
