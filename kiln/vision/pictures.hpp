// Conventions and helpers of kiln/vision. Pictures are tensors [batch, channels, height, width] of floats or integers.
// Bytes hold 0 to 255, floats any number, and colours of floats 0 to 1. The pixel in column c and row r covers the
// square from (c, r) to (c + 1, r + 1), and boxes are (x1, y1, x2, y2) in these coordinates.
#pragma once
#include "kiln/ops/functions.hpp"
#include "kiln/tensor/tensor.hpp"

namespace kiln::vision {

/// How a picture is continued beyond its edges; the examples show a picture with the pixels a b c d.
enum class Border : std::uint8_t {
  Constant,    // a number: n n | a b c d | n n
  Replicate,   // the outermost pixel: a a | a b c d | d d
  Reflect,     // mirrored at the edge: b a | a b c d | d c
  Reflect101,  // mirrored at the outermost pixel: c b | a b c d | c b
  Wrap,        // the other side: c d | a b c d | a b
};

/// Numbers of pixels on each side.
struct Margins {
  std::int64_t top = 0, bottom = 0, left = 0, right = 0;
};

/// Returns x with these margins added, which may be larger than x; `value` is the number of a constant border. Throws
/// ShapeError if x has no pixels to repeat, and ArgumentError for negative margins or an unknown border.
Value make_border(const Value& x, const Margins& margins, Border border, const Scalar& value = 0);
template <class K>
Tensor<4, K> make_border(const Tensor<4, K>& x, const Margins& margins, Border border, const Scalar& value = 0) {
  return Typed{make_border(x.value(), margins, border, value)};
}

/// Maps positions `x` of any type to the `size` elements of a line, the first of which covers 0 to 1, as `border`
/// continues them. Whole numbers are indices of elements, and floats are points. Replicate clamps; Constant is not
/// allowed.
Value folded(const Value& x, std::int64_t size, Border border);

// ---- checks and types ----------------------------------------------------------------------------------------------
/// Throws ShapeError unless x is [batch, channels, height, width]; DTypeError unless it holds floats or integers.
void require_pictures(std::string_view function, const Value& x);
/// Throws ShapeError also unless x has this number of channels.
void require_channels(std::string_view function, const Value& x, std::int64_t channels);
/// Throws ArgumentError unless the number is one of the enumerators 0 to `last`.
void require_enumerator(std::string_view function, std::string_view what, int number, int last);

/// Returns the type in which pictures of `dtype` are computed: float32 for halves and for integers of up to 16 bits,
/// float64 for larger integers.
DType working_type(DType dtype);
/// Returns x as `dtype`. Integers are rounded to the nearest, halves to even, and saturate.
Value rounded_to(const Value& x, DType dtype);

}  // namespace kiln::vision
