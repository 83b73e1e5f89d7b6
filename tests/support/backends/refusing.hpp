// The simulated GPU, whose compiler does not take every kernel.
#pragma once
#include <string_view>

#include "kiln/ops/backend.hpp"

namespace kiln::test {

/// A GPU that refuses every other kernel that it is asked for: "even" the first, the third and so on, "odd" the others.
/// What operations do instead must be the same, and what they did before it must not count twice.
Ref<Backend> refusing_simulated(std::string_view which);

}  // namespace kiln::test
