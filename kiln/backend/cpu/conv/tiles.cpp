#include "kiln/backend/cpu/conv/algorithms.hpp"

#include <algorithm>
#include <vector>

#include "kiln/backend/cpu/conv/panels.hpp"
#include "kiln/backend/cpu/memory/packing.hpp"
#include "kiln/backend/cpu/pieces.hpp"
#include "kiln/backend/cpu/simd/product/product_tiles.hpp"
#include "kiln/core/parallel.hpp"

namespace kiln::cpu::conv {
namespace {

using std::int64_t;
using Tiles = simd::ProductTiles<float>;

/// The numbers of a window that are processed at a time, and the pixels of a piece, whose windows stay in the
/// second-level cache.
constexpr int64_t kMostDepth = 768, kMostPixels = 240;  // bench: suite resnet50_infer_b1_*, sweep conv2d_1x1

/// The layout of x and y in lines of pixels. If every pixel is a separate window, lines may cross images.
struct ImageLines {
  int64_t columns;     // pixels in a line of y
  int64_t count;       // lines of y
  int64_t in_image;    // lines of y in an image
  int64_t x_in_image;  // lines of x in an image
  int64_t x_line;      // numbers from a line of x to the next, including the zeros at its ends
  int64_t x_pixel;     // numbers from the window of a pixel to the next pixel's
  int64_t last;        // pixels in the last line of y

  explicit ImageLines(const Geometry& g) {
    if (g.pointwise()) {
      constexpr int64_t kSome = 48;  // bench: sweep conv2d_1x1
      const int64_t pixels = g.batch * Geometry::product(g.sizes);
      columns = divide_up(pixels, divide_up(pixels, kSome));
      count = in_image = x_in_image = divide_up(pixels, columns);
      x_line = columns * g.in;
      x_pixel = g.in;
      last = pixels - (count - 1) * columns;
    } else {
      const int axis = g.sizes.size() - 1;
      columns = last = g.result[axis];
      in_image = Geometry::lines(g.result);
      count = g.batch * in_image;
      x_in_image = Geometry::lines(g.sizes);
      x_line = g.in * std::max(g.padding[axis] + g.sizes[axis], (columns - 1) * g.stride[axis] + g.reach(axis));
      x_pixel = g.in * g.stride[axis];
    }
  }
  int64_t pixels(int64_t line) const { return line + 1 == count ? last : columns; }
};

/// Contiguous numbers of a window, and the rows of a packed weight that belong to them.
struct Block {
  int64_t kernel_line, from, depth, row;
};

std::vector<Block> blocks_of(const Geometry& g) {
  const int axis = g.kernel.size() - 1;
  const bool side_by_side = g.dilation[axis] == 1;
  const int64_t columns = g.kernel[axis], spans = side_by_side ? 1 : columns,
                width = side_by_side ? columns * g.in : g.in, depth = divide_up(width, divide_up(width, kMostDepth));
  std::vector<Block> blocks;
  int64_t row = 0;
  for (int64_t line = 0; line < Geometry::lines(g.kernel); ++line)
    for (int64_t span = 0; span < spans; ++span)
      for (int64_t from = 0; from < width; from += depth) {
        const int64_t some = std::min(depth, width - from);
        blocks.push_back({line, span * g.dilation[axis] * g.in + from, some, row});
        row += some;
      }
  return blocks;
}

/// x, with zeros before and after its lines if windows reach over their ends.
class Images {
 public:
  Images(const Geometry& g, const ImageLines& lines, const Array& x) : data_(x.as<float>()) {
    const int axis = g.sizes.size() - 1;
    const int64_t before = g.padding[axis] * g.in, line = g.sizes[axis] * g.in, count = g.batch * lines.x_in_image;
    if (g.pointwise() || lines.x_line == line) return;
    padded_ = make_ref<Memory>(static_cast<std::size_t>(count * lines.x_line) * sizeof(float));
    auto* const padded = reinterpret_cast<float*>(padded_->bytes());
    parallel_for(count, divide_up(kMinOpsPerThread / 32, lines.x_line), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        float* const to = padded + i * lines.x_line;
        std::fill_n(to, before, 0.0f);
        std::copy_n(x.as<float>() + i * line, line, to + before);
        std::fill(to + before + line, to + lines.x_line, 0.0f);
      }
    });
    data_ = padded;
  }
  const float* data() const { return data_; }

 private:
  Ref<Memory> padded_;
  const float* data_;
};

/// The panels of a weight. They are cached if the weight is used again, or packed at once if several pieces read each;
/// otherwise each piece of the work packs the panel that it reads.
class Panels {
 public:
  Panels(const PackPanels& packer, const ConvOperand& weight, bool shared)
      : from_(weight.array.as<float>()),
        packer_(packer),
        packed_(shared ? packed(weight.value, packer_) : kept(weight.value, packer_)) {}

  /// Returns panel `index`, in place or packed into `aside`, which has space for one.
  const float* get(int64_t index, Ref<Memory>& aside) const {
    const int64_t size = packer_.size();
    if (packed_) return reinterpret_cast<const float*>(packed_->bytes()) + index * size;
    if (!aside) aside = make_ref<Memory>(static_cast<std::size_t>(size) * sizeof(float));
    auto* const to = reinterpret_cast<float*>(aside->bytes());
    packer_.pack(from_, index, to);
    return to;
  }

 private:
  const float* from_;
  PackPanels packer_;
  Ref<Memory> packed_;
};

/// The lines and panels of a piece. They depend on the sizes alone.
struct PieceSize {
  int64_t lines, panels;
  int64_t down, across;  // pieces

  PieceSize(const Geometry& g, const ImageLines& all, int64_t count) {
    const int64_t wanted = pieces(g.batch * g.cost()),
                  most = std::clamp<int64_t>(kMostPixels / all.columns, 1, all.count);
    // A piece has all lines of a panel, unless there are too few panels to keep the cores busy.
    lines = divide_up(all.count, std::max(divide_up(all.count, most), std::min(all.count, wanted / count)));
    down = divide_up(all.count, lines);
    panels = divide_up(count, std::min(count, divide_up(wanted, down)));
    across = divide_up(count, panels);
  }
};

/// The data that all pieces share.
class Convolution {
 public:
  Convolution(const Geometry& g, const Array& x, const ConvOperand& weight, const float* bias, const ConvResult& y)
      : packer_{g.out, g.in, Geometry::product(g.kernel), tiles_.panel},
        lines_(g),
        cut_(g, lines_, packer_.count()),
        images_(g, lines_, x),
        panels_(packer_, weight, cut_.down > 1),
        blocks_(blocks_of(g)),
        out_(g.out),
        bias_(bias),
        y_(y.all()),
        finish_(y.finish()) {
    for (int64_t line = 0; line < lines_.in_image; ++line)
      for (const Block& block : blocks_) under_.push_back(g.pointwise() ? line : g.line_under(line, block.kernel_line));
  }
  int64_t pieces() const { return cut_.down * cut_.across; }
  void run_piece(int64_t piece, Ref<Memory>& aside) const {
    const int64_t line = piece / cut_.across * cut_.lines, first = piece % cut_.across * cut_.panels;
    for (int64_t panel = first; panel < std::min(packer_.count(), first + cut_.panels); ++panel)
      run(line, std::min(lines_.count, line + cut_.lines), panel, panel == first, aside);
  }

 private:
  /// Computes lines [begin, end) of panel `panel`; `first`: whether this panel is the first to read them.
  void run(int64_t begin, int64_t end, int64_t panel, bool first, Ref<Memory>& aside) const {
    const float* const weight = panels_.get(panel, aside);
    const int64_t channel = panel * tiles_.panel, channels = std::min(tiles_.panel, out_ - channel);
    const auto count = static_cast<int64_t>(blocks_.size());
    const bool far = first && lines_.x_pixel > kShortSum;
    for (int64_t i = 0; i < count; ++i) {
      const auto& [kernel_line, from, depth, row] = blocks_[static_cast<std::size_t>(i)];
      for (int64_t line = begin; line < end; ++line) {
        const int64_t* const under = under_.data() + line % lines_.in_image * count;
        // If the kernel sees nothing but padding, its first block stands for all, with an empty sum.
        const int64_t first = std::find_if(under, under + count, [](int64_t at) { return at >= 0; }) - under;
        const bool begins = i == first || (i == 0 && first == count);
        if (under[i] < 0 && !begins) continue;
        const bool ends =
            first == count || std::all_of(under + i + 1, under + count, [](int64_t at) { return at < 0; });
        const int64_t image = line / lines_.in_image, pixels = lines_.pixels(line),
                      at = line * lines_.columns * out_ + channel, seen = std::max<int64_t>(under[i], 0);
        const float* const x = images_.data() + (image * lines_.x_in_image + seen) * lines_.x_line + from;
        tiles_.multiply({x, lines_.x_pixel, 1, lines_.x_pixel * simd::rows_of_tile(pixels, tiles_.rows), far},
                        {weight + row * tiles_.panel, tiles_.panel, 1},
                        {y_ + at, out_, y_ + at, out_, tail(begins, ends, at, channel)}, pixels, channels,
                        under[i] < 0 ? 0 : depth, !begins, nullptr);
      }
    }
  }

  simd::ProductTail<float> tail(bool begins, bool ends, int64_t at, int64_t channel) const {
    simd::ProductTail<float> tail;
    if (begins && bias_) tail.bias = bias_ + channel;
    if (!ends || !finish_) return tail;
    if (finish_->more) tail.more = finish_->more + at, tail.more_row = out_;
    tail.has_bounds = finish_->has_bounds();
    tail.low = finish_->low, tail.high = finish_->high;
    return tail;
  }

  const Tiles& tiles_ = simd::product_tiles<float>();
  PackPanels packer_;
  ImageLines lines_;
  PieceSize cut_;
  Images images_;
  Panels panels_;
  std::vector<Block> blocks_;
  std::vector<int64_t> under_;  // for each line of an image of y, the line of x under each block
  int64_t out_;
  const float* bias_;
  float* y_;
  const SimpleEpilogue* finish_;
};

}  // namespace

void tiles_conv(const Geometry& g, const Array& x, const ConvOperand& weight, const float* bias, const ConvResult& y) {
  const Convolution convolution(g, x, weight, bias, y);
  parallel_for(convolution.pieces(), 1, [&](int64_t begin, int64_t end) {
    Ref<Memory> aside;
    for (int64_t piece = begin; piece < end; ++piece) convolution.run_piece(piece, aside);
  });
}

}  // namespace kiln::cpu::conv
