#include "kiln/vision/display.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kiln/core/error/called_as.hpp"
#include "kiln/core/size.hpp"
#include "kiln/ops/check.hpp"

namespace kiln::vision {
namespace {

/// Returns one number for all channels, or one for each, as [1, channels, 1, 1].
Value along_channels(const std::vector<double>& numbers, const Value& x, std::string_view what) {
  require<ArgumentError>(numbers.size() == 1 || std::ssize(numbers) == x.dim(1), "pictures_of: ", numbers.size(), " ",
                         what, " for ", x.dim(1), " channels");
  return cast(from_data(TensorData::of<double>({1, std::ssize(numbers), 1, 1}, numbers), x.device()), x.dtype());
}

/// Returns x as [batch, channels, height, width] in an element type for arithmetic.
Value as_batch(const Value& x, ChannelPlace place) {
  op::require_tensor("pictures_of", x);
  require<ShapeError>(x.rank() >= 2 && x.rank() <= 4, "pictures_of: pictures are of rank 2 to 4, got ", x.shape());
  Value y = x.detach();
  if (y.rank() == 2) return reshape(y, {1, 1, y.dim(0), y.dim(1)});
  if (y.rank() == 3) y = unsqueeze(y, 0);
  return place == ChannelPlace::Last ? permute(y, {0, 3, 1, 2}) : y;
}

/// Converts numbers to bytes.
Value bytes_of(Value y, DType dtype, const Display& options) {
  y = cast(y, is_float(dtype) ? working_type(dtype) : DType::F64);
  if (!options.deviation.empty()) y = y * along_channels(options.deviation, y, "deviations");
  if (!options.mean.empty()) y = y + along_channels(options.mean, y, "means");
  Value low = options.low.value_or(0), high = options.high.value_or(is_float(dtype) || dtype == DType::Bool ? 1 : 255);
  if (options.spread) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    const Value finite = is_finite(y);
    low = min(where(finite, y, kInfinity), {1, 2, 3}, true);
    high = max(where(finite, y, -kInfinity), {1, 2, 3}, true);
  } else {
    require<ArgumentError>(std::isfinite(low.scalar().to<double>()) && std::isfinite(high.scalar().to<double>()) &&
                               low.scalar().to<double>() < high.scalar().to<double>(),
                           "pictures_of: the range from ", low, " to ", high, " must be in order and finite");
  }
  const Value range = high - low;
  const Value scaled = (y - low) / (options.spread ? where(gt(range, 0), range, 1.0) : range) * 255.0;
  return rounded_to(clamp(scaled, 0.0, 255.0), DType::U8);
}

}  // namespace

std::vector<Picture> pictures_of(const Value& x, const Display& options) {
  const CalledAs named("pictures_of");
  require_enumerator("pictures_of", "order of channels", static_cast<int>(options.order),
                     static_cast<int>(ChannelOrder::Bgr));
  require_enumerator("pictures_of", "place of channels", static_cast<int>(options.place),
                     static_cast<int>(ChannelPlace::Last));
  Value y = as_batch(x, options.place);
  require<ShapeError>(y.dim(1) > 0 && y.dim(2) > 0 && y.dim(3) > 0, "pictures_of: pictures ", x.shape(),
                      " have no pixels");
  if (y.dim(0) == 0) return {};
  y = bytes_of(y, x.dtype(), options);
  const bool coloured = y.dim(1) == 3;
  if (coloured && options.order == ChannelOrder::Bgr) y = flip(y, {1});
  // Channels that are not colours are shown side by side.
  if (!coloured) y = reshape(permute(y, {0, 2, 1, 3}), {y.dim(0), 1, y.dim(2), y.dim(1) * y.dim(3)});
  const std::int64_t channels = y.dim(1), height = y.dim(2), width = y.dim(3);
  const std::vector<std::uint8_t> bytes = permute(y, {0, 2, 3, 1}).data().to_vector<std::uint8_t>();
  std::vector<Picture> pictures;
  const auto size = height * width * channels;
  for (std::int64_t i = 0; i < y.dim(0); ++i)
    pictures.push_back({.pixels = {bytes.begin() + i * size, bytes.begin() + (i + 1) * size},
                        .height = height,
                        .width = width,
                        .channels = channels});
  return pictures;
}

Value tensor_of(std::span<const Picture> pictures, const Device& device, ChannelOrder order) {
  constexpr std::string_view name = "tensor_of";
  require<ShapeError>(!pictures.empty(), name, ": there are no pictures");
  const Picture& first = pictures.front();
  std::vector<std::uint8_t> bytes;
  for (const Picture& each : pictures) {
    require_sound(name, each);
    require<ShapeError>(each.height == first.height && each.width == first.width && each.channels == first.channels,
                        name, ": pictures of ", first.height, " x ", first.width, " pixels and ", first.channels,
                        " channels, and one of ", each.height, " x ", each.width, " and ", each.channels);
    bytes.insert(bytes.end(), each.pixels.begin(), each.pixels.end());
  }
  const Shape shape{std::ssize(pictures), first.height, first.width, first.channels};
  const Value y = permute(from_data(TensorData::of<std::uint8_t>(shape, bytes), device), {0, 3, 1, 2});
  return order == ChannelOrder::Bgr && first.channels == 3 ? flip(y, {1}) : y;
}

Picture grid_of(std::span<const Picture> pictures, const Grid& options) {
  constexpr std::string_view name = "grid_of";
  require<ShapeError>(!pictures.empty(), name, ": there are no pictures");
  require<ArgumentError>(options.columns >= 1, name, ": ", options.columns, " columns; there must be 1 or more");
  require<ArgumentError>(options.gap >= 0 && options.gap <= 1000, name, ": the gap ", options.gap,
                         " is not from 0 to 1000");
  std::int64_t height = 0, width = 0, channels = 1;
  for (const Picture& each : pictures) {
    require_sound(name, each);
    require<ShapeError>(each.channels == 1 || each.channels == 3, name, ": a picture of ", each.channels,
                        " channels; there must be 1 or 3");
    height = std::max(height, each.height);
    width = std::max(width, each.width);
    channels = std::max(channels, each.channels);
  }
  const std::int64_t columns = std::min<std::int64_t>(options.columns, std::ssize(pictures)), gap = options.gap;
  const std::int64_t rows = (std::ssize(pictures) + columns - 1) / columns;
  const auto side = [&](std::int64_t cells, std::int64_t cell) {
    return add_sizes(name, multiply_sizes(name, cells, add_sizes(name, cell, gap)), gap);
  };
  Picture grid = blank(side(rows, height), side(columns, width), channels);
  std::ranges::fill(grid.pixels, options.ground);
  for (std::int64_t i = 0; i < std::ssize(pictures); ++i) {
    const Picture& each = pictures[static_cast<std::size_t>(i)];
    for (std::int64_t y = 0; y < each.height; ++y)
      for (std::int64_t x = 0; x < each.width; ++x) {
        std::uint8_t* to = grid.at(gap + i / columns * (height + gap) + y, gap + i % columns * (width + gap) + x);
        for (std::int64_t c = 0; c < channels; ++c) to[c] = each.at(y, x)[each.channels == 1 ? 0 : c];
      }
  }
  return grid;
}

}  // namespace kiln::vision
