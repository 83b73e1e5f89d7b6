#include "kiln/backend/cpu/amx/windows.hpp"

namespace kiln::cpu::amx {
namespace {

using conv::Geometry;
using std::int64_t;
using Triple = conv::ThreeAxes::List;

struct Axes : conv::ThreeAxes {
  using ThreeAxes::ThreeAxes;

  /// Calls f(element of the kernel, its index).
  template <class F>
  void each_place(F&& f) const {
    int64_t number = 0;
    for (int64_t a = 0; a < kernel[0]; ++a)
      for (int64_t b = 0; b < kernel[1]; ++b)
        for (int64_t c = 0; c < kernel[2]; ++c) f(Triple{a, b, c}, number++);
  }
  /// Returns how many of the first pixels of x along an axis begin a set of the adjoint.
  int64_t starts(std::size_t axis) const { return std::min(stride[axis], sizes[axis]); }
};

}  // namespace

Pixels Pixels::of(const Spatial& sizes) { return {conv::ThreeAxes::lifted(sizes, 1)}; }

template <class T>
void find(const Pixels& pixels, const Pixels& to, const Steps& steps, int64_t first, int64_t count, T* data,
          int64_t numbers, T* outside, T** addresses) {
  const auto& [planes, rows, columns] = pixels.sizes;
  for (int64_t i = 0; i < count;) {
    const int64_t line = (first + i) / columns, begin = (first + i) % columns;
    const int64_t some = std::min(columns - begin, count - i), image = line / (rows * planes);
    const int64_t plane = line / rows % planes * steps.scale[0] + steps.offset[0];
    const int64_t row = line % rows * steps.scale[1] + steps.offset[1];
    const bool inside = plane >= 0 && plane < to.sizes[0] && row >= 0 && row < to.sizes[1];
    T* const of_line =
        inside ? data + ((image * to.sizes[0] + plane) * to.sizes[1] + row) * to.sizes[2] * numbers : data;
    int64_t column = begin * steps.scale[2] + steps.offset[2];
    for (int64_t end = i + some; i < end; ++i, column += steps.scale[2])
      addresses[i] = inside && column >= 0 && column < to.sizes[2] ? of_line + column * numbers : outside;
  }
}
template void find(const Pixels&, const Pixels&, const Steps&, int64_t, int64_t, std::uint16_t*, int64_t,
                   std::uint16_t*, std::uint16_t**);
template void find(const Pixels&, const Pixels&, const Steps&, int64_t, int64_t, const std::uint16_t*, int64_t,
                   const std::uint16_t*, const std::uint16_t**);

WindowSet forward_windows(const Geometry& g) {
  const Axes axes(g);
  WindowSet set{{axes.result}, {{1, 1, 1}, {0, 0, 0}}, {}, {}};
  axes.each_place([&](const Triple& place, int64_t number) {
    Steps steps{axes.stride, {}};
    for (std::size_t i = 0; i < 3; ++i) steps.offset[i] = place[i] * axes.dilation[i] - axes.padding[i];
    set.places.push_back(steps);
    set.kernel.push_back(number);
  });
  return set;
}

int64_t count_of_adjoints(const Geometry& g) {
  const Axes axes(g);
  return axes.starts(0) * axes.starts(1) * axes.starts(2);
}

WindowSet adjoint_windows(const Geometry& g, int64_t index) {
  const Axes axes(g);
  WindowSet set{{}, {axes.stride, {}}, {}, {}};
  for (std::size_t i = 3; i-- > 0; index /= axes.starts(i)) {
    const int64_t start = index % axes.starts(i);
    set.in_result.offset[i] = start;
    set.results.sizes[i] = (axes.sizes[i] - start + axes.stride[i] - 1) / axes.stride[i];
  }
  axes.each_place([&](const Triple& place, int64_t number) {
    Steps steps{{1, 1, 1}, {}};
    for (std::size_t i = 0; i < 3; ++i) {
      const int64_t reach = set.in_result.offset[i] + axes.padding[i] - place[i] * axes.dilation[i];
      if (reach % axes.stride[i] != 0) return;
      steps.offset[i] = reach / axes.stride[i];
    }
    set.places.push_back(steps);
    set.kernel.push_back(number);
  });
  return set;
}

}  // namespace kiln::cpu::amx
