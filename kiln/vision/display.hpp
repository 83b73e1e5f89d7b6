// Tensors to pictures that people look at, and pictures to tensors.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kiln/picture/picture.hpp"
#include "kiln/vision/pictures.hpp"

namespace kiln::vision {

/// The order of a tensor's colour channels.
enum class ChannelOrder : std::uint8_t { Rgb, Bgr };
/// The position of a tensor's channel dimension.
enum class ChannelPlace : std::uint8_t {
  First,
  Last
};  // [batch, channels, height, width]; [batch, height, width, channels]

/// How numbers become bytes: `low` becomes 0 and `high` 255, what lies outside the nearer one, and NaN 0.
struct Display {
  std::optional<double> low{}, high{};  // none: 0 and 1 of floats, 0 and 255 of integers
  bool spread = false;                  // in place of both: the least and the largest finite number of each picture
  ChannelOrder order = ChannelOrder::Rgb;
  ChannelPlace place = ChannelPlace::First;
  /// Undone first: x * deviation + mean, one for all channels or one for each; empty: nothing.
  std::vector<double> mean{}, deviation{};
};
/// x of rank 2 (height, width), 3 (one picture) or 4 -> a picture each, of one channel or three; one channel if there is another
/// number of them, side by side. Computed on x's device; bytes leave it.
std::vector<Picture> pictures_of(const Value& x, const Display& options = {});
template <int D, class K>
requires(2 <= D && D <= 4) std::vector<Picture> pictures_of(const Tensor<D, K>& x, const Display& options = {}) {
  return pictures_of(x.value(), options);
}

/// Pictures of one size and number of channels -> uint8 [batch, channels, height, width]. Throws ShapeError for others, and for
/// none.
Value tensor_of(std::span<const Picture> pictures, const Device& device, ChannelOrder order = ChannelOrder::Rgb);

struct Grid {
  std::int64_t columns = 8;
  std::int64_t gap = 2;     // pixels between pictures, and around them
  std::uint8_t ground = 0;  // the brightness of the gaps
};
/// Pictures of any sizes in rows, each in the top left of a cell that holds the largest. Grey ones become colours beside such.
/// Throws ShapeError for none, ArgumentError for columns below 1 and a gap that is not 0 to 1000.
Picture grid_of(std::span<const Picture> pictures, const Grid& options = {});

}  // namespace kiln::vision
