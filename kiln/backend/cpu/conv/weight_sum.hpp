// The gradient of a weight as a sum over images, which are shared out to the threads.
#pragma once
#include "kiln/backend/cpu/conv/geometry.hpp"
#include "kiln/core/function_ref.hpp"

namespace kiln::cpu::conv {

/// Images whose sums one piece of the work takes.
std::int64_t images_of_sum(const Geometry& g, const Value& weight);

/// Gives `weight` the sum of what make(begin, end, part) makes of images [begin, end): the gradient of the weight for
/// these, row-major in float32.
void sum_over_images(const Geometry& g, Value& weight,
                     FunctionRef<void(std::int64_t begin, std::int64_t end, float* part)> make);

}  // namespace kiln::cpu::conv
