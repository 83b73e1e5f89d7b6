// Convolutions of bfloat16 and their adjoints in x on tiles: products whose left operand has the windows of pixels as
// rows. No windows are gathered beforehand; a piece packs the windows of its rows directly from the image, some terms
// at a time.
#include "kiln/backend/cpu/amx/amx.hpp"

#include <algorithm>
#include <vector>

#include "kiln/backend/cpu/amx/pieces.hpp"
#include "kiln/backend/cpu/amx/tiles.hpp"
#include "kiln/backend/cpu/amx/windows.hpp"
#include "kiln/backend/cpu/conv/operand.hpp"
#include "kiln/backend/cpu/memory/packing.hpp"
#include "kiln/backend/cpu/transpose.hpp"
#include "kiln/core/parallel.hpp"

namespace kiln::cpu::amx {
namespace {

using conv::Geometry, conv::ConvOperand, conv::Pass;
using std::int64_t;
using std::uint16_t;

/// Returns the sets of windows of a pass.
std::vector<WindowSet> windows_of(const Geometry& g, Pass pass) {
  if (pass == Pass::Forward) return {forward_windows(g)};
  std::vector<WindowSet> sets;
  for (int64_t i = 0; i < count_of_adjoints(g); ++i) sets.push_back(adjoint_windows(g, i));
  return sets;
}

/// Packs a weight [out, in, kernel...] as the right operands of the sets of windows, one after the other. Their columns
/// are the channels that are computed. Their rows are the channels that are read, for one tap of the kernel after the
/// other, each padded with zeros to whole tiles.
struct PackWindowWeight {
  Geometry g;
  Pass pass;

  bool adjoint() const { return pass == Pass::Data; }
  int64_t made() const { return adjoint() ? g.in : g.out; }
  int64_t read() const { return adjoint() ? g.out : g.in; }
  int64_t depth(const WindowSet& set) const {
    return static_cast<int64_t>(set.places.size()) * round_up(read(), kPairs);
  }
  int64_t size(const WindowSet& set) const { return round_up(made(), kTile) * depth(set); }

  std::size_t bytes() const {
    std::size_t numbers = 0;
    for (const WindowSet& set : windows_of(g, pass)) numbers += static_cast<std::size_t>(size(set));
    return numbers * sizeof(uint16_t);
  }
  void pack(const std::byte* from, std::byte* to) const {
    const auto* const weight = reinterpret_cast<const uint16_t*>(from);
    const std::vector<WindowSet> sets = windows_of(g, pass);
    const int64_t kernel = Geometry::product(g.kernel);
    // Some channels of y are packed at a time, since they are contiguous: they are columns, or rows.
    parallel_for(divide_up(g.out, kBlock), 1, [&](int64_t begin, int64_t end) {
      const Memory memory(kernel == 1 ? 0 : static_cast<std::size_t>(kernel * kBlock * g.in) * sizeof(uint16_t));
      auto* const aside = reinterpret_cast<uint16_t*>(memory.bytes());
      const Turn turn(std::min(kernel, Turn::kMost));
      for (int64_t block = begin; block < end; ++block) {
        const int64_t first = block * kBlock, count = std::min(kBlock, g.out - first);
        const uint16_t* data = weight + first * g.in * kernel;
        if (kernel > 1) {  // [out, in, place] becomes [place, out, in]
          turn_over(turn, data, count * g.in, aside, count * g.in);
          data = aside;
        }
        auto* of_set = reinterpret_cast<uint16_t*>(to);
        for (const WindowSet& set : sets) {
          for (std::size_t i = 0; i < set.kernel.size(); ++i) {
            const uint16_t* const matrix = data + set.kernel[i] * count * g.in;
            const auto place = static_cast<int64_t>(i) * round_up(read(), kPairs);  // the first row of the tap
            if (!adjoint())
              pack_right({matrix, g.in, 1}, count, g.in, of_set + first * depth(set) + place * round_up(count, kTile));
            for (int64_t j = 0; adjoint() && j < g.in; j += kBlock) {
              const int64_t wide = std::min(kBlock, g.in - j);
              pack_right({matrix + j, 1, g.in}, wide, count,
                         of_set + j * depth(set) + (place + first) * round_up(wide, kTile));
            }
          }
          of_set += size(set);
        }
      }
    });
  }

 private:
  /// Transposes [count, kernel] to [kernel, count], with lines `step` apart.
  void turn_over(const Turn& turn, const uint16_t* from, int64_t count, uint16_t* to, int64_t step) const {
    const int64_t kernel = Geometry::product(g.kernel), whole = kernel <= Turn::kMost ? count / kBlock * kBlock : 0;
    for (int64_t i = 0; i < whole; i += kBlock) turn.over(from + i * kernel, to + i, step);
    Transposer<uint16_t>::run(from + whole * kernel, kernel, to + whole, step, count - whole, kernel);
  }
};

/// The data that all pieces of a set of windows share.
class Windowed {
 public:
  Windowed(const PackWindowWeight& packer, const WindowSet& windows, const Array& from, const uint16_t* weight,
           const float* bias)
      : windows_(windows),
        from_(Pixels::of(packer.adjoint() ? packer.g.result : packer.g.sizes)),
        to_(Pixels::of(packer.adjoint() ? packer.g.sizes : packer.g.result)),
        data_(reinterpret_cast<const uint16_t*>(from.data)),
        weight_(weight),
        bias_(bias),
        rows_(packer.g.batch * windows_.results.image()),
        columns_(packer.made()),
        read_(packer.read()),
        depth_(packer.depth(windows)),
        zeros_(static_cast<std::size_t>(read_), 0) {}

  void run(uint16_t* result, const Epilogue* epilogue) const {
    const PieceSize piece = cut(rows_, columns_, std::max<int64_t>(depth_, 1), 1);
    const int64_t down = divide_up(rows_, piece.rows), across = divide_up(columns_, piece.columns);
    parallel_for(down * across, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t row = i % down * piece.rows, column = i / down * piece.columns;
        run_piece(row, std::min(piece.rows, rows_ - row), column, std::min(piece.columns, columns_ - column), result,
                  epilogue);
      }
    });
  }

 private:
  void run_piece(int64_t row, int64_t rows, int64_t column, int64_t columns, uint16_t* result,
                 const Epilogue* epilogue) const {
    const int64_t across = divide_up(columns, kBlock), down = divide_up(rows, kBlock);
    const int64_t padded = round_up(read_, kPairs), deepest = std::min(kDepth, depth_);
    const int64_t left_size = packed_size(round_up(rows, kBlock), deepest);
    const auto [left, sums] =
        scratch(left_size + (epilogue ? round_up(rows * columns, kPairs) : 0), across * down * kSums);
    uint16_t* const aside = left + left_size;

    std::vector<const uint16_t*> windows(windows_.places.size() * static_cast<std::size_t>(rows));
    for (std::size_t place = 0; place < windows_.places.size(); ++place)
      find(windows_.results, from_, windows_.places[place], row, rows, data_, read_, zeros_.data(),
           windows.data() + place * static_cast<std::size_t>(rows));

    const bool starts = bias_ || depth_ == 0;
    for (int64_t j = 0; starts && j < across; ++j) start(column + j * kBlock, down, sums + j * down * kSums);
    const Tiles tiles;
    for (int64_t k = 0; k < depth_; k += kDepth) {
      const int64_t depth = std::min(kDepth, depth_ - k);
      for (int64_t i = 0; i < down; ++i) {
        const int64_t count = std::min(kBlock, rows - i * kBlock), tile_rows = round_up(count, kTile);
        for (int64_t at = k; at < k + depth;) {
          const int64_t place = at / padded, first = at % padded, some = std::min(padded - first, k + depth - at);
          gather_left(windows.data() + place * rows + i * kBlock, first, count, std::min(some, read_ - first),
                      left + i * kBlock * depth + (at - k) * tile_rows);
          at += some;
        }
      }
      for (int64_t j = 0; j < across; ++j) {
        const int64_t first = column + j * kBlock, wide = std::min(kBlock, columns_ - first);
        const uint16_t* const right = weight_ + first * depth_ + k * round_up(wide, kTile);
        for (int64_t i = 0; i < down; ++i)
          multiply(left + i * kBlock * depth, right, rows - i * kBlock, wide, depth, k > 0 || starts,
                   sums + (j * down + i) * kSums);
      }
    }

    std::vector<uint16_t*> to(static_cast<std::size_t>(rows));
    if (epilogue)
      for (int64_t i = 0; i < rows; ++i) to[static_cast<std::size_t>(i)] = aside + i * columns;
    else find(windows_.results, to_, windows_.in_result, row, rows, result + column, columns_, aside, to.data());
    for (int64_t i = 0; i < down; ++i)
      for (int64_t j = 0; j < across; ++j)
        scatter(sums + (j * down + i) * kSums, std::min(kBlock, rows - i * kBlock),
                std::min(kBlock, columns - j * kBlock), to.data() + i * kBlock, j * kBlock);
    if (epilogue)
      epilogue->finish(
          {row * columns_ + column, rows, columns, columns_, reinterpret_cast<const std::byte*>(aside), columns});
  }

  /// Returns the start values of the sums, for blocks of columns from `first` on.
  void start(int64_t first, int64_t down, float* sums) const {
    for (int64_t i = 0; i < down * kSums; ++i) {
      const int64_t column = first + i / (kTile * kTile) % 2 * kTile + i % kTile;
      sums[i] = bias_ && column < columns_ ? bias_[column] : 0.0f;
    }
  }

  const WindowSet& windows_;
  Pixels from_, to_;
  const uint16_t *data_, *weight_;  // packed
  const float* bias_;
  int64_t rows_, columns_, read_, depth_;
  std::vector<uint16_t> zeros_;
};

/// The data of a whole pass.
void make(const Geometry& g, Pass pass, const Array& from, const ConvOperand& weight, const float* bias,
          uint16_t* result, const Epilogue* epilogue) {
  const PackWindowWeight packer{g, pass};
  const Ref<Memory> block = packed(weight.value, packer);
  const auto* at = reinterpret_cast<const uint16_t*>(block->bytes());
  for (const WindowSet& set : windows_of(g, pass)) {
    Windowed(packer, set, from, at, bias).run(result, epilogue);
    at += packer.size(set);
  }
}

}  // namespace

bool has_wide_pieces(const Geometry& g) {
  const int64_t rows = g.batch * Geometry::product(g.result);
  return cut(rows, g.out, g.in * Geometry::product(g.kernel), 1).columns >= std::min(g.out, kMinEpilogueRun);
}

void convolve(const Geometry& g, const ConvOperand& x, const ConvOperand& weight, const ConvOperand& bias,
              Value& result, const Epilogue* epilogue) {
  std::vector<float> start;
  if (!bias.value.empty()) start.assign(bias.array.as<const BF16>(), bias.array.as<const BF16>() + g.out);
  auto* const y = epilogue ? nullptr : allocate(result, channels_last_strides(result.shape())).as<uint16_t>();
  make(g, Pass::Forward, x.array, weight, start.empty() ? nullptr : start.data(), y, epilogue);
}

void convolve_data(const Geometry& g, const ConvOperand& y, const ConvOperand& weight, Value& result) {
  const Array x = allocate(result, channels_last_strides(result.shape()));
  make(g, Pass::Data, y.array, weight, nullptr, x.as<uint16_t>(), nullptr);
}

}  // namespace kiln::cpu::amx
