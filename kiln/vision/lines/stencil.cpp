#include "kiln/vision/lines/stencil.hpp"

#include <algorithm>

#include "kiln/backend/cpu/kernel.hpp"
#include "kiln/tensor/custom.hpp"
#include "kiln/vision/lines/median.hpp"
#include "kiln/vision/lines/stencil_rows.hpp"

namespace kiln::vision {

std::vector<Reach> reaches_of(const Stencil& stencil) {
  const std::size_t count = stencil.steps.size();
  std::vector<Reach> all(count + 1);
  std::vector<bool> is_read(count + 1);
  for (std::size_t i = count; i-- > 0;)
    for (const Window& window : stencil.steps[i].windows) {
      const std::size_t from = window.step < 0 ? count : static_cast<std::size_t>(window.step);
      const Reach& own = all[i];
      const Reach there{own.first_row + window.row, own.last_row + window.row + window.rows - 1,
                        own.first_column + window.column, own.last_column + window.column + window.columns - 1};
      Reach& reach = all[from];
      if (!is_read[from]) reach = there;
      else
        reach = {std::min(reach.first_row, there.first_row), std::max(reach.last_row, there.last_row),
                 std::min(reach.first_column, there.first_column), std::max(reach.last_column, there.last_column)};
      is_read[from] = true;
    }
  Reach& picture = all.back();  // it is never cut off
  picture = {std::min<std::int64_t>(picture.first_row, 0), std::max<std::int64_t>(picture.last_row, 0),
             std::min<std::int64_t>(picture.first_column, 0), std::max<std::int64_t>(picture.last_column, 0)};
  return all;
}

std::int64_t add_line_fold(Stencil& stencil, std::int64_t step, Fold fold, const LineWindow& line) {
  constexpr std::int64_t kAtOnce = 8;
  const std::int64_t size = line.size, origin = step;
  const auto window = [&](std::int64_t of, std::int64_t from, std::int64_t count) {
    if (of == origin) from += line.offset;
    return line.down ? Window{.step = of, .row = from, .rows = count}
                     : Window{.step = of, .column = from, .columns = count};
  };
  const auto add = [&](std::vector<Window> windows) {
    stencil.steps.push_back({.fold = fold, .windows = std::move(windows)});
    return std::ssize(stencil.steps) - 1;
  };
  if (size <= kAtOnce) return add({window(step, 0, size)});
  std::int64_t length = 1;
  if (fold != Fold::Sum) {
    // Any two windows that cover a longer one give its extreme.
    for (; 2 * length <= size; length *= 2) step = add({window(step, 0, 1), window(step, length, 1)});
    return length == size ? step : add({window(step, 0, 1), window(step, size - length, 1)});
  }
  std::vector<Window> parts;
  std::int64_t begin = 0;
  for (;; length *= 2) {
    if (size & length) parts.push_back(window(step, begin, 1)), begin += length;
    if (2 * length > size) return parts.size() == 1 ? step : add(std::move(parts));
    step = add({window(step, 0, 1), window(step, length, 1)});
  }
}

namespace {

/// What lies around x is `wide`: steps are folds of views of it, or of what other steps made.
class ByOps {
 public:
  ByOps(const Value& x, const Stencil& stencil, const Scalar& outside)
      : stencil_(stencil),
        reaches_(reaches_of(stencil)),
        rows_(x.dim(2)),
        columns_(x.dim(3)),
        results_(stencil.steps.size() + 1) {
    const Reach& all = reaches_.back();
    results_.back() =
        make_border(x, {-all.first_row, all.last_row, -all.first_column, all.last_column}, stencil.border, outside);
  }

  Value run() {
    for (std::size_t i = 0; i < stencil_.steps.size(); ++i) {
      const Step& step = stencil_.steps[i];
      Value y = step.fold == Fold::Median || !is_long(step) ? folded(i) : convolved(i);
      if (step.scale != 1) y = y * step.scale;
      results_[i] = step.delta != 0 ? y + step.delta : y;
    }
    return results_[results_.size() - 2];
  }

 private:
  /// One sum of many elements is left to a convolution.
  static bool is_long(const Step& step) {
    constexpr std::int64_t kMostSlices = 32;
    return step.fold == Fold::Sum && step.windows.size() == 1 &&
           step.windows[0].rows * step.windows[0].columns > kMostSlices;
  }
  std::size_t source_of(const Window& window) const {
    return window.step < 0 ? stencil_.steps.size() : static_cast<std::size_t>(window.step);
  }

  /// The elements that step i reads at some offset of a window: as many pixels as it has itself, and `more` behind.
  Value view(std::size_t i, const Window& window, std::int64_t row, std::int64_t column, std::int64_t more_rows = 0,
             std::int64_t more_columns = 0) const {
    const Reach &own = reaches_[i], &there = reaches_[source_of(window)];
    const std::int64_t height = rows_ + own.last_row - own.first_row + more_rows;
    const std::int64_t width = columns_ + own.last_column - own.first_column + more_columns;
    return narrow(narrow(results_[source_of(window)], 2, own.first_row + window.row + row - there.first_row, height), 3,
                  own.first_column + window.column + column - there.first_column, width);
  }

  Value folded(std::size_t i) const {
    const Step& step = stencil_.steps[i];
    std::vector<Value> elements;
    for (const Window& window : step.windows)
      for (std::int64_t k = 0; k < window.rows * window.columns; ++k) {
        const double weight = window.weights.empty() ? 1 : window.weights[static_cast<std::size_t>(k)];
        const bool is_last = &window == &step.windows.back() && k + 1 == window.rows * window.columns;
        if (weight == 0 && !(is_last && elements.empty())) continue;
        const Value element = view(i, window, k / window.columns, k % window.columns);
        elements.push_back(weight == 1 || step.fold != Fold::Sum ? element : element * weight);
      }
    if (step.fold == Fold::Median) return median_of(std::move(elements));
    Value result = elements[0];
    for (std::size_t k = 1; k < elements.size(); ++k)
      result = step.fold == Fold::Sum     ? result + elements[k]
               : step.fold == Fold::Least ? minimum(result, elements[k])
                                          : maximum(result, elements[k]);
    return result;
  }

  Value convolved(std::size_t i) const {
    const Window& window = stencil_.steps[i].windows[0];
    const Value x = view(i, window, 0, 0, window.rows - 1, window.columns - 1);
    const std::vector<double> weights =
        window.weights.empty() ? std::vector<double>(static_cast<std::size_t>(window.rows * window.columns), 1.0)
                               : window.weights;
    const Value kernel = from_data(TensorData::of<double>({1, 1, window.rows, window.columns}, weights), x.device());
    const Value y = conv(reshape(x, {x.dim(0) * x.dim(1), 1, x.dim(2), x.dim(3)}), cast(kernel, x.dtype()), {});
    return reshape(y, {x.dim(0), x.dim(1), y.dim(2), y.dim(3)});
  }

  const Stencil& stencil_;
  std::vector<Reach> reaches_;
  const std::int64_t rows_, columns_;
  std::vector<Value> results_;  // of the steps, and the picture with what lies around it
};

}  // namespace

Value stencil_by_ops(const Value& x, const Stencil& stencil, const Scalar& outside) {
  return ByOps(x, stencil, outside).run();
}

namespace {

struct RunStencil {
  Stencil stencil;
  double outside;

  std::string name() const { return "stencil"; }
  Desc infer(Inputs in) const { return like(in[0]); }
  Value expand(Inputs in) const { return stencil_by_ops(in[0], stencil, outside); }
  bool run(std::string_view backend, Call call) const {
    if (backend != "cpu") return false;
    Value held;
    const float* x = cpu::read_contiguous(call.in[0], held).as<const float>();
    const Shape& shape = call.out[0].shape();
    run_stencil_rows(stencil, static_cast<float>(outside), x, {shape[0] * shape[1], shape[2], shape[3]},
                     cpu::allocate(call.out[0]).as<float>());
    return true;
  }
};

}  // namespace

Value run_stencil(const Value& x, const Stencil& stencil, const Scalar& outside) {
  if (x.numel() == 0) return x;
  require_enumerator("stencil", "border", static_cast<int>(stencil.border), static_cast<int>(Border::Wrap));
  if (x.dtype() != DType::F32 || !has_rows(stencil)) return stencil_by_ops(x, stencil, outside);
  return custom_all(RunStencil{stencil, outside.to<double>()}, x)[0];
}

}  // namespace kiln::vision
