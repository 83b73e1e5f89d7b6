// Morphology of pictures [batch, channels, height, width] of any element type, booleans among them (Serra, "Image analysis and
// mathematical morphology", 1982). Results have the shape and type of x. Gradients go to the pixels that were chosen.
#pragma once
#include <optional>
#include <vector>

#include "kiln/vision/pictures.hpp"

namespace kiln::vision {

/// The neighbours that count: rows x columns cells, and the cell that stands on the pixel itself.
struct StructuringElement {
  std::int64_t rows = 3, columns = 3;
  std::vector<std::uint8_t> cells;     // rows * columns of them, row after row, not 0 where the cell counts
  std::int64_t row = -1, column = -1;  // the pixel's own cell; -1: the middle, behind it where a size is even
};
/// All cells; the middle row and column; an ellipse that fills the sizes. Throw ArgumentError for sizes that are not positive.
StructuringElement rectangle(std::int64_t rows, std::int64_t columns);
StructuringElement cross(std::int64_t rows, std::int64_t columns);
StructuringElement ellipse(std::int64_t rows, std::int64_t columns);

struct Morphology {
  int iterations = 1;  // 0 to 1000
  Border border = Border::Constant;
  std::optional<double> value{};  // of a constant border; none: what lies outside does not count
};

/// The least and the largest of the neighbours. As in OpenCV the element is not turned, for neither of them.
Value erode(const Value& x, const StructuringElement& element, const Morphology& options = {});
Value dilate(const Value& x, const StructuringElement& element, const Morphology& options = {});
/// Eroded, then dilated, which takes away what the element does not fit into; and the other way, which fills gaps.
Value morphological_open(const Value& x, const StructuringElement& element, const Morphology& options = {});
Value morphological_close(const Value& x, const StructuringElement& element, const Morphology& options = {});
/// Dilated less eroded: outlines. x less opened: small bright things. Closed less x: small dark things. Unsigned integers
/// end at 0; of booleans it is what the first has and the second lacks.
Value morphological_gradient(const Value& x, const StructuringElement& element, const Morphology& options = {});
Value top_hat(const Value& x, const StructuringElement& element, const Morphology& options = {});
Value black_hat(const Value& x, const StructuringElement& element, const Morphology& options = {});

#define KILN_MORPHOLOGY(function)                                                                                   \
  template <class K>                                                                                                \
  Tensor<4, K> function(const Tensor<4, K>& x, const StructuringElement& element, const Morphology& options = {}) { \
    return Typed{function(x.value(), element, options)};                                                            \
  }
KILN_MORPHOLOGY(erode)
KILN_MORPHOLOGY(dilate)
KILN_MORPHOLOGY(morphological_open)
KILN_MORPHOLOGY(morphological_close)
KILN_MORPHOLOGY(morphological_gradient)
KILN_MORPHOLOGY(top_hat)
KILN_MORPHOLOGY(black_hat)
#undef KILN_MORPHOLOGY

}  // namespace kiln::vision
