// What all functions of kiln/vision share. Pictures are tensors [batch, channels, height, width] of floats or integers;
// bytes hold 0 to 255, floats any number, and colours of floats 0 to 1. The pixel in column c and row r covers the square
// from (c, r) to (c + 1, r + 1), and boxes are (x1, y1, x2, y2) in these coordinates.
#pragma once
#include "kiln/ops/functions.hpp"
#include "kiln/tensor/tensor.hpp"

namespace kiln::vision {

/// What lies outside of a picture a b c d.
enum class Border : std::uint8_t {
  Constant,    // a number: n n | a b c d | n n
  Replicate,   // the outermost pixel: a a | a b c d | d d
  Reflect,     // mirrored at the edge: b a | a b c d | d c
  Reflect101,  // mirrored at the outermost pixel: c b | a b c d | c b
  Wrap,        // the other side: c d | a b c d | a b
};

/// Pixels on each side.
struct Margins {
  std::int64_t top = 0, bottom = 0, left = 0, right = 0;
};

/// x with so many pixels more on each side, however small x is; `value` is that of a constant border. Throws ShapeError where
/// x has no pixels to repeat, ArgumentError for negative margins and for a border that there is not.
Value make_border(const Value& x, const Margins& margins, Border border, const Scalar& value = 0);
template <class K>
Tensor<4, K> make_border(const Tensor<4, K>& x, const Margins& margins, Border border, const Scalar& value = 0) {
  return Typed{make_border(x.value(), margins, border, value)};
}

/// Positions `x` of any type folded into the `size` elements of a line, whose first covers 0 to 1, as `border` continues them:
/// whole numbers are indices of elements, floats are points. Replicate clamps; Constant has no meaning here.
Value folded(const Value& x, std::int64_t size, Border border);

// ---- checks and types ----------------------------------------------------------------------------------------------
/// Throws ShapeError unless x is [batch, channels, height, width]; DTypeError unless it holds floats or integers.
void require_pictures(std::string_view function, const Value& x);
/// Throws ShapeError as well unless x has so many channels.
void require_channels(std::string_view function, const Value& x, std::int64_t channels);
/// Throws ArgumentError for a number that is none of the enumerators 0 to `last`.
void require_enumerator(std::string_view function, std::string_view what, int number, int last);

/// What pictures of `dtype` are computed in: float32 for halves and for integers of up to 16 bits, float64 for larger integers.
DType working_type(DType dtype);
/// x as `dtype`. Integers are rounded to the nearest, halves to even, and saturate.
Value rounded_to(const Value& x, DType dtype);

}  // namespace kiln::vision
