// The functions of expressions, as text. What no line gives a body is asked of every device; a body stands for devices
// that lack the function (a dialect says which it has), written so that float32 is enough and infinities need not be
// made by dividing. Where scalar_math.hpp has the function for plain numbers, it says what the function means.
#pragma once
#include <string_view>

namespace kiln::expr {

extern const std::string_view kBitsText, kArithmeticText, kElementaryText, kSpecialText, kNormalText, kIncompleteText, kBesselText,
    kPolynomialText, kNumbersText, kRandomText;

}  // namespace kiln::expr
