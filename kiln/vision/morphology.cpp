#include "kiln/vision/morphology.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "kiln/core/error/called_as.hpp"
#include "kiln/ops/check.hpp"
#include "kiln/vision/lines/stencil.hpp"

namespace kiln::vision {
namespace {

constexpr std::int64_t kMostCells = 1 << 22;

void require_sizes(std::string_view name, std::int64_t rows, std::int64_t columns) {
  require<ArgumentError>(rows >= 1 && columns >= 1 && rows <= kMostCells / columns, name, ": a structuring element of ",
                         rows, " x ", columns, " cells; it has 1 to ", kMostCells);
}

/// Returns an element of the cells for which counts(row, column) is true.
template <class F>
StructuringElement element_of(std::string_view name, std::int64_t rows, std::int64_t columns, F counts) {
  require_sizes(name, rows, columns);
  StructuringElement element{.rows = rows, .columns = columns, .cells = {}};
  for (std::int64_t row = 0; row < rows; ++row)
    for (std::int64_t column = 0; column < columns; ++column)
      element.cells.push_back(static_cast<std::uint8_t>(counts(row, column)));
  return element;
}

}  // namespace

StructuringElement rectangle(std::int64_t rows, std::int64_t columns) {
  return element_of("rectangle", rows, columns, [](std::int64_t, std::int64_t) { return true; });
}

StructuringElement cross(std::int64_t rows, std::int64_t columns) {
  return element_of("cross", rows, columns,
                    [&](std::int64_t row, std::int64_t column) { return row == rows / 2 || column == columns / 2; });
}

StructuringElement ellipse(std::int64_t rows, std::int64_t columns) {
  const std::int64_t down = rows / 2, across = columns / 2;
  return element_of("ellipse", rows, columns, [&](std::int64_t row, std::int64_t column) {
    if (rows == 1 || columns == 1) return true;
    if (row > 2 * down) return false;
    const double y = static_cast<double>(row - down) / static_cast<double>(down);
    const double reach = std::nearbyint(static_cast<double>(across) * std::sqrt(1 - y * y));
    return static_cast<double>(std::abs(column - across)) <= reach;
  });
}

namespace {

/// Consecutive marked cells of one row.
struct Run {
  std::int64_t row, begin, length;
};

std::vector<Run> runs_of(const StructuringElement& element) {
  std::vector<Run> runs;
  for (std::int64_t row = 0; row < element.rows; ++row) {
    const std::uint8_t* cells = &element.cells[static_cast<std::size_t>(row * element.columns)];
    for (std::int64_t column = 0; column < element.columns;) {
      std::int64_t end = column;
      while (end < element.columns && cells[end]) ++end;
      if (end > column) runs.push_back({row, column, end - column});
      column = std::max(end, column + 1);
    }
  }
  return runs;
}

/// Returns the number of a type that changes no maximum, or no minimum.
Scalar end_of(DType dtype, bool largest) {
  if (is_float(dtype))
    return largest ? std::numeric_limits<double>::infinity() : -std::numeric_limits<double>::infinity();
  return visit_dtype(dtype, [&]<class T>(TypeTag<T>) -> Scalar {
    if constexpr (std::is_integral_v<T>)
      return largest ? std::numeric_limits<T>::max() : std::numeric_limits<T>::lowest();
    else return 0.0;  // floats are handled above
  });
}

class Element {
 public:
  Element(std::string_view name, StructuringElement element) : element_(std::move(element)) {
    require_sizes(name, element_.rows, element_.columns);
    require<ArgumentError>(std::ssize(element_.cells) == element_.rows * element_.columns, name,
                           ": a structuring element of ", element_.rows, " x ", element_.columns, " has ",
                           element_.cells.size(), " cells");
    if (element_.row == -1) element_.row = element_.rows / 2;
    if (element_.column == -1) element_.column = element_.columns / 2;
    require<ArgumentError>(
        element_.row >= 0 && element_.row < element_.rows && element_.column >= 0 && element_.column < element_.columns,
        name, ": the pixel's own cell (", element_.row, ", ", element_.column, ") is outside of ", element_.rows, " x ",
        element_.columns);
    runs_ = runs_of(element_);
    require<ArgumentError>(!runs_.empty(), name, ": no cell of the structuring element counts");
  }

  Value extremes(const Value& x, Fold fold, const Morphology& options) const {
    const Scalar outside = options.value ? Scalar(*options.value) : end_of(x.dtype(), fold == Fold::Least);
    Stencil stencil{.border = options.border};
    if (std::ssize(runs_) == element_.rows &&
        std::ranges::all_of(runs_, [&](const Run& run) { return run.length == element_.columns; })) {
      const std::int64_t lines = add_line_fold(stencil, -1, fold, {element_.columns, -element_.column, false});
      add_line_fold(stencil, lines, fold, {element_.rows, -element_.row, true});
      return run_stencil(x, stencil, outside);
    }
    std::map<std::int64_t, std::int64_t> steps = {{1, -1}};  // by the length of their runs
    Step last{.fold = fold};
    for (const Run& run : runs_) {
      if (!steps.count(run.length)) steps[run.length] = add_line_fold(stencil, -1, fold, {run.length, 0, false});
      last.windows.push_back(
          {.step = steps[run.length], .row = run.row - element_.row, .column = run.begin - element_.column});
    }
    stencil.steps.push_back(std::move(last));
    return run_stencil(x, stencil, outside);
  }

 private:
  StructuringElement element_;
  std::vector<Run> runs_;
};

/// The arguments of one operation: their checks, and the element type of the computation.
class Operation {
 public:
  Operation(const char* name, const Value& x, const StructuringElement& element, const Morphology& options)
      : named_(name), element_(name, element), options_(options), dtype_(x.dtype()) {
    op::require_tensor(name, x);
    require<ShapeError>(x.rank() == 4, name, ": pictures are [batch, channels, height, width], got ", x.shape());
    require<ArgumentError>(options.iterations >= 0 && options.iterations <= 1000, name, ": ", options.iterations,
                           " iterations; there are 0 to 1000");
    require<ArgumentError>(!options.value || !std::isnan(*options.value), name, ": the value of the border is NaN");
    x_ = dtype_ == DType::Bool ? cast(x, DType::U8) : x;
  }

  const Value& x() const { return x_; }
  Value least(const Value& x) const { return repeated(x, Fold::Least); }
  Value largest(const Value& x) const { return repeated(x, Fold::Largest); }
  Value less(const Value& a, const Value& b) const {
    const bool ends_at_zero = dtype_ == DType::U8 || dtype_ == DType::U16 || dtype_ == DType::U32 ||
                              dtype_ == DType::U64 || dtype_ == DType::Bool;
    return ends_at_zero ? maximum(a, b) - b : a - b;
  }
  Value done(const Value& y) const { return dtype_ == DType::Bool ? cast(y, DType::Bool) : y; }

 private:
  Value repeated(Value x, Fold fold) const {
    if (x.numel() == 0) return x;
    for (int i = 0; i < options_.iterations; ++i) x = element_.extremes(x, fold, options_);
    return x;
  }

  CalledAs named_;
  Element element_;
  Morphology options_;
  DType dtype_;
  Value x_;
};

}  // namespace

Value erode(const Value& x, const StructuringElement& element, const Morphology& options) {
  const Operation op("erode", x, element, options);
  return op.done(op.least(op.x()));
}
Value dilate(const Value& x, const StructuringElement& element, const Morphology& options) {
  const Operation op("dilate", x, element, options);
  return op.done(op.largest(op.x()));
}
Value morphological_open(const Value& x, const StructuringElement& element, const Morphology& options) {
  const Operation op("morphological_open", x, element, options);
  return op.done(op.largest(op.least(op.x())));
}
Value morphological_close(const Value& x, const StructuringElement& element, const Morphology& options) {
  const Operation op("morphological_close", x, element, options);
  return op.done(op.least(op.largest(op.x())));
}
Value morphological_gradient(const Value& x, const StructuringElement& element, const Morphology& options) {
  const Operation op("morphological_gradient", x, element, options);
  return op.done(op.less(op.largest(op.x()), op.least(op.x())));
}
Value top_hat(const Value& x, const StructuringElement& element, const Morphology& options) {
  const Operation op("top_hat", x, element, options);
  return op.done(op.less(op.x(), op.largest(op.least(op.x()))));
}
Value black_hat(const Value& x, const StructuringElement& element, const Morphology& options) {
  const Operation op("black_hat", x, element, options);
  return op.done(op.less(op.least(op.largest(op.x())), op.x()));
}

}  // namespace kiln::vision
