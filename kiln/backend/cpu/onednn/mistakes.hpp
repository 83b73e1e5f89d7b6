// Known errors of oneDNN. Each of its versions has some kernels that read memory which nobody wrote, or the wrong
// pixels, for unusual geometries. tests/backend/onednn/sweep.cpp finds them.
#pragma once
#include <string_view>

#include "kiln/backend/cpu/conv/geometry.hpp"
#include "kiln/core/dtype.hpp"

namespace kiln::cpu::onednn {

using conv::Geometry, conv::Pass;

/// Whether oneDNN's kernel of this name is known to be wrong for the case, in the linked version.
bool mistaken(Pass pass, const Geometry& g, DType dtype, std::string_view kernel);

/// Whether its product of bfloat16 matrices, with sums over `k`, is known to be wrong on this processor.
bool product_is_mistaken(std::int64_t k);

/// Lets no kernel count as wrong. The sweep calls it before it creates any primitive.
void trust_everything(bool trust);

}  // namespace kiln::cpu::onednn
