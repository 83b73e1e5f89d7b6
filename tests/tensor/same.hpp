// Whether a typed function gives what the function of Values gives: the same bits in the same type and shape.
#pragma once
#include <algorithm>
#include <type_traits>

#include <gtest/gtest.h>

#include "kiln/core/tensor_data.hpp"
#include "kiln/core/text.hpp"

namespace kiln {

testing::AssertionResult same(const auto& a, const auto& b) {
  const TensorData x = a.data(), y = b.data();
  if (x.shape() == y.shape() && x.dtype() == y.dtype() && std::ranges::equal(x.bytes(), y.bytes()))
    return testing::AssertionSuccess();
  return testing::AssertionFailure() << text(a) << " is not " << text(b);
}

template <class Expected, class Found>
inline constexpr bool kIs = std::is_same_v<Expected, std::remove_cvref_t<Found>>;

}  // namespace kiln
