// The simulated GPU, which lowers all kernels first.
#pragma once
#include <string_view>

#include "kiln/ops/backend.hpp"

namespace kiln::test {

/// A GPU that runs what the rule of that name (tests/backend/gpu/lowered.hpp) makes of a kernel; a kernel for which the
/// rule has a sentence instead stays as it is. When the process ends, KILN_TEST_LOWERED=1 prints how many kernels were
/// lowered, and the sentences.
Ref<Backend> lowered_simulated(std::string_view rule);

}  // namespace kiln::test
