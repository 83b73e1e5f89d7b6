// Windows over pictures as data. Each step folds windows of the picture, or of what steps before it made, into a
// picture of its own, and the last one is the result. A processor takes a few lines at a time through all steps, so
// that nothing but the picture and the result lies in memory; other devices run what the steps are made of.
#pragma once
#include <vector>

#include "kiln/vision/pictures.hpp"

namespace kiln::vision {

/// The rows x columns elements from (row, column) away from each pixel on.
struct Window {
  std::int64_t step = -1;  // what it reads: the result of this step; -1: the picture
  std::int64_t row = 0, column = 0, rows = 1, columns = 1;
  std::vector<double> weights = {};  // of a sum, row after row; none: 1 each
};

enum class Fold : std::uint8_t { Sum, Least, Largest, Median };

struct Step {
  Fold fold = Fold::Sum;
  std::vector<Window> windows = {};  // a median is that of one window, square and of an odd size
  double scale = 1, delta = 0;       // of a sum: it is multiplied by `scale`, and `delta` is added
};

struct Stencil {
  std::vector<Step> steps = {};
  Border border = Border::Reflect101;
};

/// x [batch, channels, height, width] -> the same shape and type; sums are those of floats. The border, whose constant
/// is `outside`, continues the picture alone: steps are computed as far out as later ones read them. Differentiable.
Value run_stencil(const Value& x, const Stencil& stencil, const Scalar& outside = 0);

/// `size` neighbours along a line of pixels, from `offset` away from a pixel on.
struct LineWindow {
  std::int64_t size, offset;
  bool down;
};
/// Appends steps that fold such windows of what `step` made, and gives the number of the last one: one step for short
/// windows, for longer ones a step for each doubling.
std::int64_t add_line_fold(Stencil& stencil, std::int64_t step, Fold fold, const LineWindow& window);

/// How far from the pixels of the result the pixels lie that a step is computed for, or that are read of the picture.
struct Reach {
  std::int64_t first_row = 0, last_row = 0, first_column = 0, last_column = 0;
};
/// Returns that of each step, and behind the last that of the picture, which includes all of its own pixels.
std::vector<Reach> reaches_of(const Stencil& stencil);

/// The composition of run_stencil for devices without a kernel.
Value stencil_by_ops(const Value& x, const Stencil& stencil, const Scalar& outside);

}  // namespace kiln::vision
