// Words of 32 bits that hold several elements, in GLSL.
#pragma once
#include <string>
#include <string_view>

#include "kiln/core/dtype.hpp"

namespace kiln::gpu {

/// "uvec4" for 16 bytes.
std::string_view type_of_words(std::size_t bytes);
/// Element `i` among those of `words`, as a number that an element of its type is loaded from.
std::string element_of(const std::string& words, DType dtype, std::size_t bytes, std::size_t i);

}  // namespace kiln::gpu
