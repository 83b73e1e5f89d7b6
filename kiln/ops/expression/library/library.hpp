// The functions of expressions, as text. A function without a body must exist on every device; a body is used for
// devices that lack the function (a dialect lists its own), and is written so that float32 suffices and infinities are
// not created by dividing. Where scalar_math.hpp has the function for plain numbers, that is its definition.
#pragma once
#include <string_view>

namespace kiln::expr {

extern const std::string_view kBitsText, kArithmeticText, kElementaryText, kSpecialText, kNormalText, kIncompleteText,
    kBesselText, kPolynomialText, kNumbersText, kRandomText, kDrawText;

// Applies ten rounds of Philox to the variables c0 to c3, with the key k, l.
#define KILN_PHILOX_ROUNDS                           \
  "  var k0 = k;\n"                                  \
  "  var k1 = l;\n"                                  \
  "  var turn: word = 0;\n"                          \
  "  while (turn < 10) {\n"                          \
  "    let high0 = multiply_high(0xd2511f53, c0);\n" \
  "    let low0 = 0xd2511f53 * c0;\n"                \
  "    let high2 = multiply_high(0xcd9e8d57, c2);\n" \
  "    let low2 = 0xcd9e8d57 * c2;\n"                \
  "    c0 = high2 ^ c1 ^ k0;\n"                      \
  "    c1 = low2;\n"                                 \
  "    c2 = high0 ^ c3 ^ k1;\n"                      \
  "    c3 = low0;\n"                                 \
  "    k0 = k0 + 0x9e3779b9;\n"                      \
  "    k1 = k1 + 0xbb67ae85;\n"                      \
  "    turn = turn + 1;\n"                           \
  "  }\n"

}  // namespace kiln::expr
