// What oneDNN computes wrongly. Each of its versions has some kernels that read memory which nobody wrote, or the wrong
// pixels, for geometries that few people use. tests/backend/onednn/sweep.cpp finds them.
#pragma once
#include <string_view>

#include "kiln/backend/cpu/conv/geometry.hpp"
#include "kiln/core/dtype.hpp"

namespace kiln::cpu::onednn {

using conv::Geometry, conv::Pass;

/// Is oneDNN's kernel of this name known to be wrong for the case, in the version that is linked?
bool mistaken(Pass pass, const Geometry& g, DType dtype, std::string_view kernel);

/// Is its product of bfloat16 matrices, with sums over `k`, known to be wrong on this processor?
bool product_is_mistaken(std::int64_t k);

/// For the sweep, before any primitive is made: nothing is held to be mistaken.
void trust_everything(bool trust);

}  // namespace kiln::cpu::onednn
