// Stencils on a processor: all steps of a few lines before the next lines.
#pragma once
#include "kiln/vision/lines/stencil.hpp"

namespace kiln::vision {

struct Planes {
  std::int64_t count, rows, columns;
};

/// Is it one that run_stencil_rows takes? Lines of all that is read must fit into a cache.
bool has_rows(const Stencil& stencil);
/// x, y: contiguous planes. `outside` is what a constant border has.
void run_stencil_rows(const Stencil& stencil, float outside, const float* x, const Planes& planes, float* y);

}  // namespace kiln::vision
