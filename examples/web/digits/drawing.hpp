// What was drawn on a page, as the pictures that the network learnt from.
#pragma once
#include "kiln/core/tensor_data.hpp"
#include "kiln/data/image.hpp"

namespace digits {

/// The drawing, uint8 or float32 [height, width] with bright ink on dark, as MNIST has its digits (LeCun et al., 1998): 28 x 28
/// pixels, scaled so that the longer side of the ink takes 20, with the ink's centre of mass in the middle. All dark
/// where there is no ink. Throws ArgumentError for other tensors.
kiln::Image centred(const kiln::TensorData& drawing);

}  // namespace digits
