#include "kiln/backend/cpu/conv/algorithms.hpp"

#include <algorithm>
#include <limits>
#include <span>
#include <vector>

#include "kiln/backend/cpu/pieces.hpp"
#include "kiln/backend/cpu/simd/product/product_tiles.hpp"
#include "kiln/core/parallel.hpp"

namespace kiln::cpu::conv {
namespace {

using simd::ProductRun;
using std::int64_t;

/// The pixels of y that are processed at a time: what a tile reads of them and of x stays in or near the first-level
/// cache.
constexpr int64_t kMostPixels = 512;  // bench: suite resnet50_train_*, sweep conv2d backward

/// Some lines of an image of y, or all lines of some images; and for each tap of the kernel its runs in them, image by
/// image. Offsets count from the first of these lines, and from the first of the images of x.
struct Band {
  int64_t first, pixels;
  std::vector<std::vector<ProductRun>> places;
};

/// Returns the pixels of a line of y that overlap x under tap `column` of a line of the kernel.
struct Columns {
  int64_t begin, end;
  Columns(const Geometry& g, int64_t column) {
    const int axis = g.sizes.size() - 1;
    const int64_t before = g.padding[axis] - column * g.dilation[axis], stride = g.stride[axis];
    begin = before <= 0 ? 0 : divide_up(before, stride);
    end = std::min(g.result[axis], g.sizes[axis] + before <= 0 ? 0 : divide_up(g.sizes[axis] + before, stride));
  }
};

/// Returns the number of images of a band; bands have whole images if these are small.
int64_t images_of_band(const Geometry& g) {
  return std::clamp<int64_t>(kMostPixels / Geometry::product(g.result), 1, g.batch);
}

std::vector<Band> bands_of(const Geometry& g, int64_t images) {
  const int axis = g.sizes.size() - 1;
  const int64_t lines = Geometry::lines(g.result), width = g.result[axis],
                some = divide_up(lines, divide_up(lines, std::max<int64_t>(1, kMostPixels / width)));
  std::vector<Band> bands;
  for (int64_t first = 0; first < lines; first += some) {
    const int64_t count = std::min(some, lines - first);
    Band band{first * width, count * width, {}};
    for (int64_t place = 0; place < Geometry::product(g.kernel); ++place) {
      const int64_t column = place % g.kernel[axis];
      const Columns seen(g, column);
      const int64_t at = seen.begin * g.stride[axis] - g.padding[axis] + column * g.dilation[axis];
      std::vector<ProductRun>& runs = band.places.emplace_back();
      for (int64_t line = 0; line < images * count && seen.begin < seen.end; ++line) {
        const int64_t under = g.line_under(first + line % count, place / g.kernel[axis]);
        if (under < 0) continue;
        const int64_t pixel = (line / count * Geometry::lines(g.sizes) + under) * g.sizes[axis] + at;
        runs.push_back({line * width + seen.begin, pixel * g.in, seen.end - seen.begin});
      }
    }
    bands.push_back(std::move(band));
  }
  return bands;
}

/// The channels of y and of x of a piece.
struct WeightPiece {
  int64_t out, in;
};

/// Returns the cost of so many channels of y, in halves of a channel: a tile of fewer rows takes more than its share of
/// the time, and every tile reads x.
int64_t cost_of(int64_t out, const simd::ProductTiles<float>& tiles) {
  constexpr int64_t kReading = 12;  // bench: suite resnet50_train_*
  return out == 0 ? 0 : out + round_up(out, tiles.rows) + kReading;
}

/// Chooses the pieces with which the threads finish soonest. The sum is the same for any division.
WeightPiece cut(const Geometry& g, const simd::ProductTiles<float>& tiles) {
  WeightPiece best{};
  int64_t least = std::numeric_limits<int64_t>::max();
  const auto consider = [&](int64_t out, int64_t in) {
    constexpr int64_t kPacking = 64;  // the cost of packing a channel of y, in channels of x
    const int64_t own = in * Geometry::product(g.kernel) + kPacking, whole = g.out / out,
                  down = whole * cost_of(out, tiles) + cost_of(g.out % out, tiles);
    // Assumes an even distribution, plus half of a piece for the thread that finishes last.
    const int64_t time = (2 * down * divide_up(g.in, in) + cost_of(out, tiles) * (num_threads() - 1)) * own;
    if (time < least) least = time, best = {out, in};
  };
  for (const int64_t out : {4 * tiles.rows, int64_t{32}, 2 * tiles.rows, int64_t{16}, tiles.rows})
    for (const int64_t across : {2, 1}) consider(std::min(g.out, out), std::min(g.in, across * tiles.panel));
  return best;
}

class WeightGradient {
 public:
  WeightGradient(const Geometry& g, const float* x, const float* y, float* weight)
      : g_(g),
        x_(x),
        y_(y),
        weight_(weight),
        places_(Geometry::product(g.kernel)),
        x_pixels_(Geometry::product(g.sizes)),
        y_pixels_(Geometry::product(g.result)),
        images_(images_of_band(g)),
        bands_(bands_of(g, images_)) {}

  /// Returns how many numbers of scratch memory a piece needs.
  int64_t room(const WeightPiece& piece) const {
    int64_t pixels = 0;
    for (const Band& band : bands_) pixels = std::max(pixels, images_ * band.pixels);
    return places_ * piece.out * piece.in + round_up(piece.out, tiles_.rows) * pixels;
  }

  /// Computes the sums of channels [o, o + piece.out) of y and [i, i + piece.in) of x.
  void run(int64_t o, int64_t i, const WeightPiece& piece, float* aside) const {
    const int64_t rows = simd::rows_of_tile(piece.out, tiles_.rows), size = piece.out * piece.in;
    float* const left = aside + places_ * size;
    for (int64_t image = 0; image < g_.batch; image += images_)
      for (const Band& band : bands_) {
        const int64_t images = std::min(images_, g_.batch - image), pixels = images * band.pixels;
        tiles_.pack_left(y_ + (image * y_pixels_ + band.first) * g_.out + o, g_.out, piece.out, pixels, left);
        for (int64_t place = 0; place < places_; ++place) {
          const std::span<const ProductRun> runs = band.places[static_cast<std::size_t>(place)];
          tiles_.multiply_runs(
              {left, 1, rows, rows * pixels}, {x_ + image * x_pixels_ * g_.in + i, g_.stride.back() * g_.in, 1},
              {aside + place * size, piece.in, nullptr, 0}, piece.out, piece.in,
              runs.first(runs.size() / static_cast<std::size_t>(images_) * static_cast<std::size_t>(images)),
              image > 0 || band.first > 0);
        }
      }
    for (int64_t row = 0; row < piece.out; ++row)
      tiles_.transpose(aside + row * piece.in, size, weight_ + ((o + row) * g_.in + i) * places_, places_, places_,
                       piece.in);
  }

 private:
  const simd::ProductTiles<float>& tiles_ = simd::product_tiles<float>();
  const Geometry& g_;
  const float *x_, *y_;
  float* weight_;
  int64_t places_, x_pixels_, y_pixels_, images_;
  std::vector<Band> bands_;
};

}  // namespace

void weight_tiles(const Geometry& g, const Array& x, const Array& y, float* weight) {
  const WeightGradient gradient(g, x.as<const float>(), y.as<const float>(), weight);
  const WeightPiece most = cut(g, simd::product_tiles<float>());
  const int64_t across = divide_up(g.in, most.in);
  parallel_for(divide_up(g.out, most.out) * across, 1, [&](int64_t begin, int64_t end) {
    const Memory aside(static_cast<std::size_t>(gradient.room(most)) * sizeof(float));
    for (int64_t piece = begin; piece < end; ++piece) {
      const int64_t o = piece / across * most.out, i = piece % across * most.in;
      gradient.run(o, i, {std::min(most.out, g.out - o), std::min(most.in, g.in - i)},
                   reinterpret_cast<float*>(aside.bytes()));
    }
  });
}

}  // namespace kiln::cpu::conv
