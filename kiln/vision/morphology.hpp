// Morphology of pictures [batch, channels, height, width] of any element type, including booleans (Serra, "Image
// analysis and mathematical morphology", 1982). Results have the shape and type of x. Gradients go to the selected
// pixels.
#pragma once
#include <optional>
#include <vector>

#include "kiln/vision/pictures.hpp"

namespace kiln::vision {

/// A structuring element: rows x columns cells that mark neighbours, and the cell that is placed on the pixel itself.
struct StructuringElement {
  std::int64_t rows = 3, columns = 3;
  std::vector<std::uint8_t> cells;     // rows * columns cells, row by row; a cell that is not 0 marks a neighbour
  std::int64_t row = -1, column = -1;  // the pixel's own cell; -1: the middle, or the cell after it if a size is even
};
/// Return elements with all cells, with the middle row and column, and with an ellipse that fills the sizes. They throw
/// ArgumentError for sizes that are not positive.
StructuringElement rectangle(std::int64_t rows, std::int64_t columns);
StructuringElement cross(std::int64_t rows, std::int64_t columns);
StructuringElement ellipse(std::int64_t rows, std::int64_t columns);

struct Morphology {
  int iterations = 1;  // 0 to 1000
  Border border = Border::Constant;
  std::optional<double> value{};  // the value of a constant border; none: the outside is ignored
};

/// Return the smallest and the largest neighbour. As in OpenCV, neither flips the element.
Value erode(const Value& x, const StructuringElement& element, const Morphology& options = {});
Value dilate(const Value& x, const StructuringElement& element, const Morphology& options = {});
/// Opening erodes, then dilates, which removes what is smaller than the element. Closing dilates, then erodes, which
/// fills gaps.
Value morphological_open(const Value& x, const StructuringElement& element, const Morphology& options = {});
Value morphological_close(const Value& x, const StructuringElement& element, const Morphology& options = {});
/// The gradient is dilated minus eroded: outlines. The top hat is x minus opened: small bright details. The black hat
/// is closed minus x: small dark details. Differences of unsigned integers saturate at 0; for booleans they are what
/// the first has and the second lacks.
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
