// The adjoint of convolutions in the weight on tiles: for each tap of the kernel, the product of y's channels and the
// channels of the pixels of x under it, with the pixels as terms of the sums.
#include <algorithm>

#include "kiln/backend/cpu/amx/amx.hpp"
#include "kiln/backend/cpu/amx/pieces.hpp"
#include "kiln/backend/cpu/amx/tiles.hpp"
#include "kiln/backend/cpu/amx/windows.hpp"
#include "kiln/backend/cpu/transpose.hpp"
#include "kiln/core/parallel.hpp"

namespace kiln::cpu::amx {
namespace {

using conv::Geometry, conv::ConvOperand, conv::Pass;
using std::int64_t;
using std::uint16_t;

/// How the work is divided, by the sizes alone: the channels of y and of x of a piece, with all taps of the kernel, and
/// the pixels of each part of the sums.
struct WeightSplit {
  int64_t rows, columns, down, across, pixels, parts;

  explicit WeightSplit(const Geometry& g) {
    constexpr int64_t kMostSums = 1 << 17, kMostRows = 256, kPieces = 32;  // bench: suite resnet50_train_*_bf16
    const int64_t places = Geometry::product(g.kernel), all = g.batch * Geometry::product(g.result);
    rows = std::min(g.out, kMostRows), columns = std::min(g.in, kMostRows);
    const auto halve = [](int64_t& size) { size = round_up(divide_up(size, 2), kBlock); };
    const auto pieces = [&] { return divide_up(g.out, rows) * divide_up(g.in, columns); };
    while (places * rows * columns > kMostSums && columns > kBlock) halve(columns);
    while (places * rows * columns > kMostSums && rows > kBlock) halve(rows);
    const int64_t wanted = std::clamp<int64_t>(cost(g.out, g.in, all * places) / kMinOpsPerPiece, 1, kPieces);
    while (pieces() < wanted && columns > 2 * kBlock) halve(columns);
    while (pieces() < wanted && rows > 2 * kBlock) halve(rows);
    down = divide_up(g.out, rows), across = divide_up(g.in, columns);
    // Pixels are divided, too, and the sums of the parts are added.
    constexpr int64_t kFewestPixels = 8 * kDepth;
    parts = std::clamp<int64_t>(divide_up(wanted, pieces()), 1, std::max<int64_t>(1, all / kFewestPixels));
    pixels = round_up(divide_up(all, parts), kDepth);
    parts = divide_up(all, pixels);
  }
  int64_t blocks() const { return divide_up(rows, kBlock) * divide_up(columns, kBlock); }
};

class WeightSums {
 public:
  WeightSums(const Geometry& g, const Array& x, const Array& y, uint16_t* weight)
      : g_(g),
        cut_(g),
        windows_(forward_windows(g)),
        from_(Pixels::of(g.sizes)),
        x_(reinterpret_cast<const uint16_t*>(x.data)),
        y_(reinterpret_cast<const uint16_t*>(y.data)),
        weight_(weight),
        places_(static_cast<int64_t>(windows_.places.size())),
        sums_size_(places_ * cut_.blocks() * kSums),
        zeros_(static_cast<std::size_t>(round_up(g.in, kBlock)), 0) {}

  void run() const {
    const int64_t pieces = cut_.down * cut_.across;
    if (cut_.parts == 1) {
      parallel_for(pieces, 1, [&](int64_t begin, int64_t end) {
        for (int64_t piece = begin; piece < end; ++piece) {
          float* const sums = scratch(numbers(), sums_size_).sums;
          make(piece, 0, sums);
          finish(piece, sums);
        }
      });
      return;
    }
    const Memory memory(static_cast<std::size_t>(pieces * cut_.parts * sums_size_) * sizeof(float));
    auto* const all = reinterpret_cast<float*>(memory.bytes());
    parallel_for(pieces * cut_.parts, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) make(i / cut_.parts, i % cut_.parts, all + i * sums_size_);
    });
    parallel_for(pieces, 1, [&](int64_t begin, int64_t end) {
      for (int64_t piece = begin; piece < end; ++piece) {
        float* const sums = all + piece * cut_.parts * sums_size_;
        for (int64_t part = 1; part < cut_.parts; ++part)
          for (int64_t i = 0; i < sums_size_; ++i) sums[i] += sums[part * sums_size_ + i];
        finish(piece, sums);
      }
    });
  }

 private:
  int64_t row_of(int64_t piece) const { return piece / cut_.across * cut_.rows; }
  int64_t column_of(int64_t piece) const { return piece % cut_.across * cut_.columns; }
  int64_t rows_of(int64_t piece) const { return std::min(cut_.rows, g_.out - row_of(piece)); }
  int64_t columns_of(int64_t piece) const { return std::min(cut_.columns, g_.in - column_of(piece)); }
  int64_t left_size() const { return packed_size(round_up(cut_.rows, kBlock), kDepth); }
  /// Returns how many numbers a piece needs besides its sums: for packed operands, or for its part of the weight.
  int64_t numbers() const {
    return std::max(left_size() + packed_size(round_up(cut_.columns, kBlock), kDepth),
                    places_ * cut_.rows * cut_.columns);
  }
  float* block_of(float* sums, int64_t place, int64_t j, int64_t i) const {
    return sums + ((place * divide_up(cut_.columns, kBlock) + j) * divide_up(cut_.rows, kBlock) + i) * kSums;
  }

  void make(int64_t piece, int64_t part, float* sums) const {
    const int64_t row = row_of(piece), rows = rows_of(piece), column = column_of(piece), columns = columns_of(piece);
    const int64_t first = part * cut_.pixels, all = g_.batch * windows_.results.image(),
                  last = std::min(all, first + cut_.pixels);
    uint16_t* const left = scratch(numbers(), sums_size_).numbers;
    uint16_t* const right = left + left_size();
    const uint16_t* pixels[kDepth];
    const Tiles tiles;
    for (int64_t k = first; k < last; k += kDepth) {
      const int64_t depth = std::min(kDepth, last - k), padded = round_up(depth, kPairs);
      // Reads along memory: some pixels of all channels, then the next ones.
      for (int64_t l = 0; l < depth; l += kPairs)
        for (int64_t i = 0; i < rows; i += kBlock)
          pack_left({y_ + (k + l) * g_.out + row + i, 1, g_.out}, std::min(kBlock, rows - i),
                    std::min(kPairs, depth - l), left + i * padded + l * round_up(std::min(kBlock, rows - i), kTile));
      for (int64_t place = 0; place < places_; ++place) {
        find(windows_.results, from_, windows_.places[static_cast<std::size_t>(place)], k, depth, x_, g_.in,
             zeros_.data(), pixels);
        for (int64_t l = 0; l < depth; l += kPairs)
          for (int64_t j = 0; j < columns; j += kBlock)
            gather_right(pixels + l, column + j, std::min(kBlock, columns - j), std::min(kPairs, depth - l),
                         right + j * padded + l * round_up(std::min(kBlock, columns - j), kTile));
        for (int64_t j = 0; j < columns; j += kBlock)
          for (int64_t i = 0; i < rows; i += kBlock)
            multiply(left + i * padded, right + j * padded, rows - i, columns - j, depth, k > first,
                     block_of(sums, place, j / kBlock, i / kBlock));
      }
    }
  }

  /// Stores a piece's part of the weight [out, in, kernel...].
  void finish(int64_t piece, float* sums) const {
    const int64_t row = row_of(piece), rows = rows_of(piece), column = column_of(piece), columns = columns_of(piece);
    uint16_t* const result = weight_ + (row * g_.in + column) * places_;
    uint16_t* const aside = places_ == 1 ? result : scratch(numbers(), sums_size_).numbers;  // [place, out, in]
    const int64_t step = places_ == 1 ? g_.in : columns;
    for (int64_t place = 0; place < places_; ++place)
      for (int64_t j = 0; j < columns; j += kBlock)
        for (int64_t i = 0; i < rows; i += kBlock)
          store(block_of(sums, place, j / kBlock, i / kBlock), std::min(kBlock, rows - i),
                std::min(kBlock, columns - j), aside + place * rows * step + i * step + j, step);
    if (places_ == 1) return;
    const Turn turn(std::min(places_, Turn::kMost));
    const int64_t whole = places_ <= Turn::kMost ? columns / kBlock * kBlock : 0;
    for (int64_t i = 0; i < rows; ++i) {
      uint16_t* const to = result + i * g_.in * places_;
      for (int64_t j = 0; j < whole; j += kBlock) turn.back(aside + i * columns + j, rows * columns, to + j * places_);
      Transposer<uint16_t>::run(aside + i * columns + whole, rows * columns, to + whole * places_, places_, places_,
                                columns - whole);
    }
  }

  const Geometry& g_;
  WeightSplit cut_;
  WindowSet windows_;
  Pixels from_;
  const uint16_t *x_, *y_;
  uint16_t* weight_;
  int64_t places_, sums_size_;
  std::vector<uint16_t> zeros_;
};

}  // namespace

void convolve_weight(const Geometry& g, const ConvOperand& x, const ConvOperand& y, Value& weight) {
  const Array to = allocate(weight);
  WeightSums(g, x.array, y.array, reinterpret_cast<uint16_t*>(to.data)).run();
}

}  // namespace kiln::cpu::amx
