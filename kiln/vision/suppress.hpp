// The loops of non-maximum suppression for the host.
#pragma once
#include <cstdint>
#include <span>

namespace kiln::vision {

/// A box (x1, y1, x2, y2); it has no area if it is upside down or NaN.
template <class T>
struct BoxOf {
  T x1, y1, x2, y2;

  T area() const { return x2 > x1 && y2 > y1 ? (x2 - x1) * (y2 - y1) : T(0); }
  /// The intersection over union; 0 if either box has no area.
  T overlap(const BoxOf& other) const {
    const T width = (x2 < other.x2 ? x2 : other.x2) - (x1 > other.x1 ? x1 : other.x1);
    const T height = (y2 < other.y2 ? y2 : other.y2) - (y1 > other.y1 ? y1 : other.y1);
    if (!(width > 0 && height > 0)) return T(0);
    const T a = area(), b = other.area();
    return a > 0 && b > 0 ? width * height / (a + b - width * height) : T(0);
  }
};

/// Sets kept[i] for boxes sorted by their scores. Each box belongs to a group; if `groups` is null, all boxes belong to
/// one.
template <class T>
void suppress(std::span<const BoxOf<T>> boxes, const std::int64_t* groups, T overlap, bool* kept);

}  // namespace kiln::vision
