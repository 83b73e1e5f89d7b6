// Converts tensors to pictures for people to look at, and pictures to tensors.
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

/// How numbers become bytes: `low` becomes 0 and `high` 255; numbers beyond them become the nearer one, and NaN becomes
/// 0.
struct Display {
  std::optional<double> low{}, high{};  // none: 0 and 1 for floats, 0 and 255 for integers
  bool spread = false;                  // use the least and the largest finite number of each picture instead
  ChannelOrder order = ChannelOrder::Rgb;
  ChannelPlace place = ChannelPlace::First;
  /// Normalisation that is undone first: x * deviation + mean. Each has one number for all channels or one for each;
  /// empty does nothing.
  std::vector<double> mean{}, deviation{};
};
/// Converts x of rank 2 (height, width), 3 (one picture) or 4 to one picture each, with one channel or three. Where x
/// has another number of channels, they are shown side by side in grey. The numbers are converted on x's device, and
/// bytes are copied from it.
std::vector<Picture> pictures_of(const Value& x, const Display& options = {});
template <int D, class K>
requires(2 <= D && D <= 4) std::vector<Picture> pictures_of(const Tensor<D, K>& x, const Display& options = {}) {
  return pictures_of(x.value(), options);
}

/// Converts pictures of one size and number of channels to uint8 [batch, channels, height, width]. Throws ShapeError
/// where they differ or there are none.
Value tensor_of(std::span<const Picture> pictures, const Device& device, ChannelOrder order = ChannelOrder::Rgb);

struct Grid {
  std::int64_t columns = 8;
  std::int64_t gap = 2;     // pixels between pictures, and around them
  std::uint8_t ground = 0;  // the brightness of the gaps
};
/// Arranges pictures of any sizes in rows, each in the top left corner of a cell that the largest one fills. Grey
/// pictures beside coloured ones become coloured. Throws ShapeError for no pictures, and ArgumentError for columns
/// below 1 or a gap that is not 0 to 1000.
Picture grid_of(std::span<const Picture> pictures, const Grid& options = {});

}  // namespace kiln::vision
