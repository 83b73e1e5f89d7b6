// Convolutions as products of matrices that are never stored: of channels by pixels (for y and x), or of channels by
// taps of channels (for the weight). A factor's elements are read from where x, y or the weight has them.
#include "kiln/backend/gpu/family/spatial/conv.hpp"

namespace kiln::gpu::family {
namespace {

struct TilesKernel {
  ConvKey key;
  Tile tile;
  Loading a, b;
  bool parts;

  Kernel kernel() const;
};

/// Builds the kernel.
class Writer {
 public:
  Writer(Builder& k, const TilesKernel& of)
      : k_(k),
        of_(of),
        key_(of.key),
        left_(k.input(factor_dtype(of.tile, key_.dtype, of.a))),
        right_(k.input(factor_dtype(of.tile, key_.dtype, of.b))),
        made_(k.output(of.parts ? expr::computed_in(key_.dtype) : key_.dtype)),
        bias_(key_.biased ? k.input(key_.dtype) : Buffer()),
        rows_(k.number(key_.index)),
        columns_(k.number(key_.index)),
        depth_(k.number(key_.index)),
        span_(k.number(key_.index)),
        n_(k, key_) {}

  void write() {
    const Tile& tile = of_.tile;
    const Expr row_tiles = (rows_ + (tile.rows - 1)) / tile.rows;
    const Expr column_tiles = (columns_ + (tile.columns - 1)) / tile.columns;
    const Expr block = k_.block().as(key_.index), tiles = row_tiles * column_tiles, place = block % tiles;
    const Expr part = block / tiles / n_.groups, begin = part * span_;
    group_ = block / tiles % n_.groups;
    first_row_ = place % row_tiles * tile.rows;
    first_column_ = place / row_tiles * tile.columns;

    TileProduct product(k_, tile, key_.dtype);
    const Expr results = part * (n_.groups * rows_ * columns_);
    product.make(left(), right(), begin, min(begin + span_, depth_),
                 [&](const Expr& row, const Expr& column, std::span<const Expr> sums) {
                   const Expr r = first_row_ + row.as(key_.index), first = first_column_ + column.as(key_.index);
                   k_.when(r < rows_, [&] {
                     for (std::size_t j = 0; j < sums.size(); ++j) {
                       const Expr c = first + static_cast<int>(j);
                       k_.when(c < columns_,
                               [&] { made_.store(results + place_of(r, c), with_bias(sums[j], r, part)); });
                     }
                   });
                 });
  }

 private:
  using Precomputed = Factor::Precomputed;

  /// Splits a depth, or a column of taps, into the channel and the tap.
  std::pair<Expr, Expr> channel_and_tap(const Expr& i, const Expr& channels) const {
    if (key_.channels_last) return {i % channels, i / channels};
    return {i / key_.taps(), i % key_.taps()};
  }

  Factor left() const {
    if (key_.result == Convolved::Weight)  // a row is a channel of y, a depth a pixel
      return {left_, of_.a,
              [this](const Expr& i) {
                const Expr o = first_row_ + i.as(key_.index);
                return Precomputed{(group_ * n_.out + o) * n_.y_channel, o < rows_};
              },
              [this](const Expr& depth) {
                const Expr pixels = n_.y_size();
                const std::vector<Expr> y = n_.unravel_y(depth % pixels);
                Expr at = depth / pixels * n_.y_batch;
                for (std::size_t axis = 0; axis < y.size(); ++axis) at = at + y[axis] * n_.y_strides[axis];
                return Precomputed{at};
              },
              &sum_of_places};
    // A row of the weight is a channel of the result, a depth is a tap of a channel of the operand.
    const bool to_y = key_.result == Convolved::Y;
    const Expr zero = k_.literal(key_.index, 0);
    return {
        left_, of_.a,
        [=, this](const Expr& i) {
          const Expr r = first_row_ + i.as(key_.index);
          return Precomputed{to_y ? n_.weight_at(group_, r, zero, zero) : n_.weight_at(group_, zero, r, zero),
                             r < rows_};
        },
        [=, this](const Expr& depth) {
          const auto [channel, tap] = channel_and_tap(depth, to_y ? n_.in : n_.out);
          return Precomputed{to_y ? n_.weight_at(zero, zero, channel, tap) : n_.weight_at(zero, channel, zero, tap)};
        },
        &sum_of_places};
  }
  static Factor::Position sum_of_places(const Precomputed& line, const Precomputed& depth) {
    return {line[0] + depth[0], line[1]};
  }

  Factor right() const {
    const bool of_weight = key_.result == Convolved::Weight, to_y = key_.result == Convolved::Y;
    // What is known of a pixel: the offset of its image, whether it exists, and its indices; of a tap: the offset of
    // its channel, whether it exists, and its offsets.
    const auto pixel = [=, this](const Expr& i, const Expr& inside) {
      const Expr pixels = to_y || of_weight ? n_.y_size() : n_.x_size();
      const std::vector<Expr> places = to_y || of_weight ? n_.unravel_y(i % pixels) : n_.unravel_x(i % pixels);
      Precomputed known{i / pixels * (key_.result == Convolved::X ? n_.y_batch : n_.x_batch), inside};
      known.insert(known.end(), places.begin(), places.end());
      return known;
    };
    const auto tap = [=, this](const Expr& i, const Expr& inside) {
      const bool of_y = key_.result == Convolved::X;
      const auto [channel, which] = channel_and_tap(i, of_y ? n_.out : n_.in);
      Precomputed known{of_y ? (group_ * n_.out + channel) * n_.y_channel : (group_ * n_.in + channel) * n_.x_channel,
                        inside};
      for (const Expr& reach : n_.reach_of(which)) known.push_back(reach);
      return known;
    };
    const auto column = [this](const Expr& i) { return first_column_ + i.as(key_.index); };
    const Expr yes = k_.boolean(true);
    return {right_, of_.b,
            [=, this](const Expr& i) {
              const Expr c = column(i);
              return of_weight ? tap(c, c < columns_) : pixel(c, c < columns_);
            },
            [=](const Expr& depth) { return of_weight ? pixel(depth, yes) : tap(depth, yes); },
            [=, this](const Precomputed& line, const Precomputed& depth) {
              const Precomputed &of_pixel = of_weight ? depth : line, &of_tap = of_weight ? line : depth;
              const std::span places = std::span(of_pixel).subspan(2), reach = std::span(of_tap).subspan(2);
              const auto met = key_.result == Convolved::X ? n_.y_of(places, reach) : n_.x_of(places, reach);
              return Factor::Position{of_pixel[0] + of_tap[0] + met.at, line[1] & met.inside};
            }};
  }

  Expr place_of(const Expr& row, const Expr& column) const {
    if (key_.result == Convolved::Weight) return (group_ * rows_ + row) * columns_ + column;
    const Expr channels = n_.groups * rows_, channel = group_ * rows_ + row;
    if (key_.channels_last) return column * channels + channel;
    const Expr pixels = key_.result == Convolved::Y ? n_.y_size() : n_.x_size();
    return (column / pixels * channels + channel) * pixels + column % pixels;
  }

  Expr with_bias(const Expr& sum, const Expr& row, const Expr& part) const {
    if (!key_.biased) return sum;
    const Expr with = sum + bias_[group_ * rows_ + row];
    return of_.parts ? select(part == 0, with, sum) : with;
  }

  Builder& k_;
  const TilesKernel& of_;
  const ConvKey& key_;
  const Buffer left_, right_, made_, bias_;
  const Expr rows_, columns_, depth_, span_;
  const ConvNumbers n_;
  Expr group_, first_row_, first_column_;
};

/// How many channels that stand last can be loaded at once: those of one tap and one group.
int channels_at_once(const Array& array, std::int64_t channels) {
  if (array.strides[1] != 1) return 1;
  std::vector<std::int64_t> places{channels};
  for (int dim = 0; dim < array.shape.size(); ++dim)
    if (dim != 1) places.push_back(array.strides[dim]);
  return width_at(array.data, array.dtype, places);
}

Kernel TilesKernel::kernel() const {
  Builder k("conv", tile.threads());
  Writer(k, *this).write();
  return k.finish();
}

}  // namespace

void convolve_tiles(Gpu& gpu, const Convolution& conv) {
  const bool of_weight = conv.result == Convolved::Weight, to_y = conv.result == Convolved::Y;
  const Array& made = conv.made();
  const auto pixels = [](Shape shape) {
    shape[1] = 1;
    return numel(shape);
  };
  const std::int64_t taps = conv.taps(), x_pixels = pixels(conv.x.shape), y_pixels = pixels(conv.y.shape);
  const std::int64_t rows = conv.result == Convolved::X ? conv.in() : conv.out();
  const std::int64_t columns = of_weight ? conv.in() * taps : to_y ? y_pixels : x_pixels;
  const std::int64_t depth = of_weight ? y_pixels : to_y ? conv.in() * taps : conv.out() * taps;
  const DType dtype = made.dtype, wide = expr::computed_in(dtype);
  const std::int64_t count = made.numel();

  const Tile first = tile_of(gpu, dtype, rows, columns, depth, conv.groups);
  const auto blocks_of = [&](const Tile& tile) {
    return conv.groups * blocks_for(rows, tile.rows) * blocks_for(columns, tile.columns);
  };
  // The default decides how the depth is split, and with that the order of sums.
  const DepthSplit shares = split_depth(gpu, blocks_of(first), depth, kLeastDepth);
  const bool parts = shares.count > 1;
  const Value held = parts ? gpu.scratch({Shape{shares.count * count}, wide}) : Value();
  std::byte* const to = parts ? read(held).data : made.data;

  // Neighbouring threads take neighbours in memory: along pixels, or along channels if these are last.
  const bool last = conv.channels_last;
  Loading a{.along_depth = of_weight ? !last : to_y || (!last && taps > 1)}, b{.along_depth = of_weight != last};
  if (last) {
    a.width = of_weight ? channels_at_once(conv.y, conv.out()) : channels_at_once(conv.weight, conv.in());
    b.width = conv.result == Convolved::X ? channels_at_once(conv.y, conv.out()) : channels_at_once(conv.x, conv.in());
  }
  const ConvKey key = key_of(conv, std::max(depth, count * shares.count));
  const Array &left = of_weight ? conv.y : conv.weight, &right = conv.result == Convolved::X ? conv.y : conv.x;
  std::vector<Argument> arguments{left, right, to};
  if (conv.bias) arguments.emplace_back(conv.bias);
  for (const std::int64_t number : {rows, columns, depth, shares.span}) arguments.emplace_back(number);
  ConvNumbers::append(arguments, conv);
  const auto by = [&](const Tile& tile) {
    gpu.launch(TilesKernel{key, tile, a, b, parts}, blocks_of(tile) * shares.count, arguments);
  };
  using Kind = TiledWork::Kind;
  const Kind kind = of_weight ? Kind::ConvolutionOfWeight : to_y ? Kind::Convolution : Kind::ConvolutionOfInput;
  by(chosen_tile(gpu, {kind, dtype, rows, columns, depth, conv.groups, a, b}, first, by));
  if (parts) sum_parts(gpu, to, shares.count, made.data, count, dtype);
}

}  // namespace kiln::gpu::family
