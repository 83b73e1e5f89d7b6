#include "kiln/vision/suppress.hpp"

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <vector>

namespace kiln::vision {
namespace {

/// The kept boxes by group and by the cells of a grid that they touch: a box is compared only with those of its group in
/// its own cells. A box that touches many cells is compared with all of its group, and all of them with it.
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

  void add(std::size_t i, std::int64_t group) {
    const Cells cells = cells_of(boxes_[i]);
    Members& members = groups_[group];
    if (cells.count() > kMostCells) {
      members.large.push_back(i);
      return;
    }
    members.small.push_back(i);
    for (std::int64_t y = cells.top; y <= cells.bottom; ++y)
      for (std::int64_t x = cells.left; x <= cells.right; ++x) lists_[{x, y, group}].push_back(i);
  }
  /// Whether `test` is true of an added box of the group that may overlap box i.
  template <class Test>
  bool any(std::size_t i, std::int64_t group, Test test) const {
    const auto members = groups_.find(group);
    if (members == groups_.end()) return false;
    if (std::ranges::any_of(members->second.large, test)) return true;
    const Cells cells = cells_of(boxes_[i]);
    if (cells.count() > kMostCells) return std::ranges::any_of(members->second.small, test);
    for (std::int64_t y = cells.top; y <= cells.bottom; ++y)
      for (std::int64_t x = cells.left; x <= cells.right; ++x)
        if (const auto found = lists_.find({x, y, group});
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
  struct Cell {
    std::int64_t x, y, group;
    bool operator==(const Cell&) const = default;
  };
  struct HashOfCell {
    std::size_t operator()(const Cell& cell) const {
      std::uint64_t hash = 0;
      for (const std::int64_t part : {cell.x, cell.y, cell.group})
        hash = (hash ^ static_cast<std::uint64_t>(part)) * 0x9e3779b97f4a7c15 + (hash >> 29);
      return hash ^ hash >> 32;
    }
  };
  struct Members {
    std::vector<std::size_t> small, large;
  };

  std::span<const BoxOf<T>> boxes_;
  T cell_ = 1;
  std::unordered_map<Cell, std::vector<std::size_t>, HashOfCell> lists_;
  std::unordered_map<std::int64_t, Members> groups_;
};

}  // namespace

template <class T>
void suppress(std::span<const BoxOf<T>> boxes, const std::int64_t* groups, T overlap, bool* kept) {
  Grid<T> grid(boxes);
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    kept[i] = true;
    if (!(boxes[i].area() > 0)) continue;
    const std::int64_t group = groups ? groups[i] : 0;
    kept[i] = !grid.any(i, group, [&](std::size_t better) { return boxes[i].overlap(boxes[better]) > overlap; });
    if (kept[i]) grid.add(i, group);
  }
}

template void suppress(std::span<const BoxOf<float>>, const std::int64_t*, float, bool*);
template void suppress(std::span<const BoxOf<double>>, const std::int64_t*, double, bool*);

}  // namespace kiln::vision
