#include "kiln/vision/suppress.hpp"

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <vector>

namespace kiln::vision {
namespace {

/// The kept boxes by the cells of a grid that they touch: a box is compared only with those in its own cells. A box
/// that touches many cells is compared with all boxes, and all boxes with it.
template <class T>
class Grid {
 public:
  explicit Grid(std::span<const BoxOf<T>> boxes) : boxes_(boxes) {
    // Cells have the length of a typical side.
    std::vector<T> sides;
    for (const BoxOf<T>& box : boxes)
      if (box.area() > 0) sides.push_back(std::max(box.x2 - box.x1, box.y2 - box.y1));
    if (sides.empty()) return;
    const auto middle = sides.begin() + std::ssize(sides) / 2;
    std::ranges::nth_element(sides, middle);
    if (std::isfinite(*middle)) cell_ = *middle;
  }

  void add(std::size_t i) {
    const Cells cells = cells_of(boxes_[i]);
    if (cells.count() > kMostCells) {
      large_.push_back(i);
      return;
    }
    small_.push_back(i);
    for (std::int64_t y = cells.top; y <= cells.bottom; ++y)
      for (std::int64_t x = cells.left; x <= cells.right; ++x) lists_[key(x, y)].push_back(i);
  }
  /// Whether `test` is true of an added box that may overlap box i.
  template <class Test>
  bool any(std::size_t i, Test test) const {
    if (std::ranges::any_of(large_, test)) return true;
    const Cells cells = cells_of(boxes_[i]);
    if (cells.count() > kMostCells) return std::ranges::any_of(small_, test);
    for (std::int64_t y = cells.top; y <= cells.bottom; ++y)
      for (std::int64_t x = cells.left; x <= cells.right; ++x)
        if (const auto found = lists_.find(key(x, y));
            found != lists_.end() && std::ranges::any_of(found->second, test))
          return true;
    return false;
  }

 private:
  static constexpr double kMostCells = 16;
  struct Cells {
    std::int64_t left, top, right, bottom;
    double count() const { return static_cast<double>(right - left + 1) * static_cast<double>(bottom - top + 1); }
  };
  Cells cells_of(const BoxOf<T>& box) const {
    const auto cell = [&](T x) {
      return static_cast<std::int64_t>(std::clamp<double>(std::floor(x / cell_), -1e9, 1e9));
    };
    return {cell(box.x1), cell(box.y1), cell(box.x2), cell(box.y2)};
  }
  /// Cells with the same key share a list, which costs comparisons but does not change the result.
  static std::uint64_t key(std::int64_t x, std::int64_t y) {
    return static_cast<std::uint64_t>(x) << 32 ^ (static_cast<std::uint64_t>(y) & 0xffffffff);
  }

  std::span<const BoxOf<T>> boxes_;
  T cell_ = 1;
  std::unordered_map<std::uint64_t, std::vector<std::size_t>> lists_;
  std::vector<std::size_t> small_, large_;
};

}  // namespace

template <class T>
void suppress(std::span<const BoxOf<T>> boxes, const std::int64_t* groups, T overlap, bool* kept) {
  Grid<T> grid(boxes);
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    kept[i] = true;
    if (!(boxes[i].area() > 0)) continue;
    kept[i] = !grid.any(i, [&](std::size_t better) {
      return (!groups || groups[better] == groups[i]) && boxes[i].overlap(boxes[better]) > overlap;
    });
    if (kept[i]) grid.add(i);
  }
}

template void suppress(std::span<const BoxOf<float>>, const std::int64_t*, float, bool*);
template void suppress(std::span<const BoxOf<double>>, const std::int64_t*, double, bool*);

}  // namespace kiln::vision
