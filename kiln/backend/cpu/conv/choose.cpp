#include "kiln/backend/cpu/conv/choose.hpp"

#include <algorithm>

#include "kiln/backend/cpu/conv/algorithms.hpp"
#include "kiln/backend/cpu/conv/direct_image.hpp"
#include "kiln/backend/cpu/engines.hpp"
#include "kiln/backend/cpu/memory_order.hpp"
#include "kiln/backend/cpu/pieces.hpp"
#include "kiln/backend/cpu/simd/product/product_tiles.hpp"

namespace kiln::cpu::conv {
namespace {

using std::int64_t;
using enum Algorithm;

int64_t places(const Geometry& g) { return Geometry::product(g.kernel); }
int64_t pixels(const Geometry& g) { return g.batch * Geometry::product(g.result); }
/// Returns how many numbers the windows of all pixels have.
int64_t numbers_of_windows(const Geometry& g) { return pixels(g) * g.in * places(g); }

bool is_in_steps(const Geometry& g) {
  return std::ranges::any_of(g.stride, [](int64_t step) { return step != 1; });
}

// Each condition states what an algorithm can compute, and where it is faster than those after it in the table.

/// Each channel has its own kernel (depthwise), and there are enough channels to fill vectors.
bool has_channel_kernels(const ConvCase& c) {
  constexpr int64_t kLeastChannels = 8;
  const Geometry& g = c.g;
  if (g.groups != g.in || g.out != g.in || g.in < kLeastChannels || g.kernel.size() > 3) return false;
  return c.pass != Pass::Data || !is_in_steps(g);
}
/// It is depthwise, of lines or volumes; for images oneDNN has depthwise kernels.
bool has_channel_kernels_of_no_image(const ConvCase& c) { return c.g.kernel.size() != 2 && has_channel_kernels(c); }

/// The images are planes in row-major order that fit into a core's caches, with rows that fill vectors.
bool has_channel_kernels_in_planes(const ConvCase& c) {
  // bench: sweep conv2d_depthwise, conv1d_depthwise
  constexpr int64_t kLeastColumns = 8, kMostRoom = 1 << 18;  // numbers
  if (!c.image || (c.pass == Pass::Forward && (c.with_bias || c.with_epilogue))) return false;
  if (!has_channel_kernels({Pass::Forward, c.g, c.dtype}) || c.g.kernel.size() > 2) return false;
  const PlaneShape shape = plane_shape(c.pass, c.g);
  const strided::Array array = strided::read(*c.image);
  return shape.across.result >= kLeastColumns && shape.room() <= kMostRoom && array.contiguous() &&
         !strided::same_order(array.shape, array.strides, channels_last_strides(array.shape));
}

/// There are so few channels that oneDNN's register blocks stay half empty.
bool has_few_channels(const ConvCase& c) {
  // bench: suite mnist_guide_*, sweep conv2d
  constexpr int64_t kMostIn = 16, kMostOut = 32;
  constexpr int64_t kMostWeights = 6144;  // packed weights stay in the first-level cache
  const bool is_adjoint = c.pass == Pass::Data;
  if (c.g.in > kMostIn - is_adjoint || c.g.out > kMostOut) return false;
  for (int i = 0; is_adjoint && i < c.g.kernel.size(); ++i)
    if (c.g.stride[i] != 1 || c.g.padding[i] >= c.g.reach(i) || c.g.padding_after[i] >= c.g.reach(i)) return false;
  const Geometry& g = is_adjoint ? c.g.flipped() : c.g;
  return g.groups == 1 && g.kernel.size() == 2 && g.dilation[1] == 1 && g.out % 8 == 0 &&
         places(g) * g.in * padded_channels(g.out) <= kMostWeights;
}

/// The kernel is 3 x 3 with stride 1. There are enough channels for the transforms of x to pay, and enough tiles for
/// those of the weight.
bool has_many_tiles_of_3x3(const ConvCase& c) {
  // bench: suite resnet50_*, sweep conv2d
  constexpr int64_t kLeastChannels = 32, kLeastTiles = 32, kUnit = 16;
  if (c.g.groups != 1 || c.g.kernel.size() != 2 || is_in_steps(c.g)) return false;
  for (int i = 0; i < 2; ++i)
    if (c.g.kernel[i] != 3 || c.g.dilation[i] != 1) return false;
  const Spatial& made = c.pass == Pass::Data ? c.g.sizes : c.g.result;
  return c.g.in % kUnit == 0 && c.g.out % kUnit == 0 && std::min(c.g.in, c.g.out) >= kLeastChannels &&
         c.g.batch * divide_up(made[0], 2) * divide_up(made[1], 2) >= kLeastTiles;
}

/// There are few pixels and many weights, the sums are short, or one panel holds all channels of y.
bool fits_product_tiles(const ConvCase& c) {
  const Geometry& g = c.g;
  if (g.groups != 1 || g.in < 16 || g.out == 1) return false;
  // Tiles store short sums only once, and read x only once if there is one panel.
  if (g.pointwise() && (g.in <= kShortSum || g.out <= simd::product_tiles<float>().panel)) return true;
  // oneDNN is faster for more pixels, and tiles are not tall enough for shorter lines. For smaller matrix products,
  // oneDNN's pieces are lines of a few pixels. bench: suite resnet50_infer_b1_*, sweep conv2d_1x1
  constexpr int64_t kFewPixels = 256, kSmall = 1 << 17;
  if (2 * pixels(g) <= g.out) return g.pointwise() || g.result.back() >= 4;
  return g.pointwise() && g.out <= g.in && pixels(g) <= kFewPixels && pixels(g) * g.out < kSmall;
}

/// The weight has so many blocks of channels that the threads share them more evenly than images.
bool has_many_blocks_of_channels(const ConvCase& c) {
  // bench: suite resnet50_train_*, sweep conv2d backward
  constexpr int64_t kFewPixels = 128;  // below this, the weight's own size decides
  constexpr int64_t kEnoughBlocks = 12;
  const auto& tiles = simd::product_tiles<float>();
  const Geometry& g = c.g;
  const int64_t blocks = divide_up(g.out, tiles.rows) * divide_up(g.in, tiles.panel);
  return g.groups == 1 && g.in >= 16 && g.out >= 16 && places(g) > 1 && pixels(g) >= kFewPixels &&
         blocks >= std::min(pieces(g.batch * g.cost()), kEnoughBlocks);
}

/// y has one channel: a sum of the planes of x, which are contiguous.
bool is_sum_of_planes(const ConvCase& c) {
  return c.g.pointwise() && c.g.out == 1 && c.image && !c.with_bias && !c.with_epilogue &&
         strided::read(*c.image).contiguous();
}

/// All windows can be gathered in memory at once.
bool has_windows(const ConvCase& c) {
  constexpr int64_t kMost = 1 << 27;  // numbers
  return c.g.pointwise() || (c.g.groups == 1 && numbers_of_windows(c.g) <= kMost);
}
/// A matrix product of the windows is faster than oneDNN, which takes longer to reorder many weights than to compute
/// few pixels. bench: suite resnet50_infer_b1_*, sweep conv2d, conv2d_1x1
bool has_small_windows(const ConvCase& c) {
  const Geometry& g = c.g;
  if (g.groups != 1) return false;
  if (c.pass == Pass::Forward) return 4 * pixels(g) <= g.out || (g.pointwise() && g.out == 1);
  // A kernel of one pixel with a stride skips pixels between its windows: oneDNN then divides the work by images only.
  if (c.pass == Pass::Data) return g.pointwise() || 2 * pixels(g) <= g.out || (g.few_images() && places(g) == 1);
  constexpr int64_t kMost = 1 << 20;  // numbers in windows, which should stay in the cache
  return g.pointwise() || numbers_of_windows(g) <= kMost;
}

bool onednn_computes(const ConvCase& c) {
  return linked_onednn() && linked_onednn()->has_conv(c.pass, c.g, c.dtype, c.with_bias);
}

/// It is a product of bfloat16 matrices without any copy.
bool is_product_of_bf16(const ConvCase& c) { return c.g.pointwise() && linked_onednn() && linked_onednn()->has_bf16(); }

/// oneDNN's bfloat16 kernels, which pack no windows, are faster than ours. On tiles this holds for few channels and
/// many pixels. On vectors it always holds, except for the gradient of a weight with many channels and a kernel of
/// several pixels.
bool is_quicker_in_onednn(const ConvCase& c) {
  // bench: suite resnet50_train_*_bf16, sweep conv2d bf16
  constexpr int64_t kFewChannels = 64, kManyPixels = 1024, kFewForVectors = 32;
  if (!linked_onednn() || is_disabled(OnednnConv)) return false;
  const AmxKernels& amx = *linked_amx();
  const int64_t channels = std::min(c.g.in, c.g.out);
  if (!amx.has_tiles()) return c.pass != Pass::Weight || channels < kFewForVectors || places(c.g) == 1;
  if (c.pass == Pass::Weight || channels > kFewChannels || !amx.reports_tiles()) return false;
  return pixels(c.g) >= kManyPixels && !is_in_steps(c.g);
}
/// There are enough channels to fill tiles.
bool fills_tiles_of_pairs(const ConvCase& c) {
  constexpr int64_t kLeastChannels = 16, kMostPlaces = 128;
  return linked_amx() && c.g.groups == 1 && std::min(c.g.in, c.g.out) >= kLeastChannels && places(c.g) <= kMostPlaces &&
         !is_quicker_in_onednn(c);
}
/// Our float32 loops, including the conversions, are faster than oneDNN's bfloat16: for very few channels, for
/// depthwise lines and volumes, and for the gradient of a weight with few pixels.
bool is_quicker_in_float32(const ConvCase& c) {
  constexpr int64_t kNextToNone = 8;  // bench: suite mnist_guide_*, sweep conv1d_depthwise bf16
  if (!is_disabled(Direct) && c.g.in < kNextToNone && has_few_channels(c)) return true;
  if (!is_disabled(Depthwise) && has_channel_kernels_of_no_image(c)) return true;
  return !is_disabled(Windows) && c.pass == Pass::Weight && !c.g.pointwise() && pixels(c.g) <= c.g.out &&
         has_small_windows(c);
}
bool is_computed_in_float32(const ConvCase& c) {
  return choose({c.pass, c.g, DType::F32, c.with_bias, false, c.image}).algorithm != Reference;
}

bool short_bytes(const ConvCase& c) {
  constexpr int64_t kExact = (1 << 24) / (255 * 255);  // float32 holds sums of so many products exactly
  return has_channel_kernels(c) && places(c.g) <= kExact && c.g.has_rows();
}

constexpr auto always = [](const ConvCase&) { return true; };

using Passes = unsigned;
constexpr Passes kForward = 1, kData = 2, kWeight = 4, kAny = 7;  // 1 << Pass
enum Types : unsigned { kF32 = 1, kF64 = 2, kBF16 = 4, kF16 = 8, kBytes = 16, kAll = 31 };
Types type_of(DType dtype) {
  switch (dtype) {
    case DType::F32: return kF32;
    case DType::F64: return kF64;
    case DType::BF16: return kBF16;
    case DType::F16: return kF16;
    default: return kBytes;
  }
}

/// The first rule wins whose pass, type and condition match, and whose algorithm is not disabled.
struct Rule {
  Passes passes;
  unsigned types;
  Algorithm algorithm;
  bool (*fits)(const ConvCase&);
  std::string_view reason;
};
constexpr Rule kRules[] = {
    {kForward, kBytes, IntegerDepthwise, short_bytes, "float32 is exact, and channels fill vectors"},
    {kForward, kBytes, IntegerConv, always, "windows of bytes are rows of a product"},

    {kAny, kBF16, AmxConv, fills_tiles_of_pairs, "the processor multiplies pairs of bfloat16"},
    {kAny, kBF16, Float32, is_quicker_in_float32,
     "loops of float32 are quicker than oneDNN's of bfloat16, copies and all"},
    {kData | kWeight, kBF16, Windows, is_product_of_bf16, "pixels and channels are matrices as they lie"},

    {kAny, kF32, DepthwisePlanes, has_channel_kernels_in_planes,
     "rows of planes fill vectors, and nothing is reordered"},
    {kForward, kF32, Depthwise, has_channel_kernels, "channels fill vectors"},
    {kData | kWeight, kF32, Depthwise, has_channel_kernels_of_no_image,
     "channels fill vectors, and oneDNN's kernels are for images"},
    {kAny, kF32, Direct, has_few_channels, "few channels leave oneDNN's registers half empty"},
    {kForward | kData, kF32, Winograd, has_many_tiles_of_3x3, "2.25 times fewer multiplications"},
    {kForward, kF32, Tiles, fits_product_tiles, "windows are read where they lie, and few pixels meet many weights"},
    {kWeight, kF32, WeightTiles, has_many_blocks_of_channels,
     "blocks of channels are enough to share out, and no sums are added up"},
    {kForward, kF32 | kF64, PlaneSum, is_sum_of_planes, "planes are summed as they lie"},
    {kAny, kF32, Windows, has_small_windows, "oneDNN would spend more time on the order of the weight"},
    {kAny, kF32 | kBF16, OnednnConv, onednn_computes, "oneDNN is quickest in general"},
    {kData | kWeight, kF32, Depthwise, has_channel_kernels, "oneDNN has nothing for it"},
    {kAny, kF32 | kF64, Windows, has_windows, "oneDNN has nothing for it"},
    {kAny, kBF16 | kF16, Float32, is_computed_in_float32, "nothing else computes this half type"},
    {kAny, kAll, Reference, always, "nothing else computes it"}};

/// The result alone is too large to stay in the caches. bench: suite resnet50_infer_b1_*
bool is_worth_finishing(const Value& y) {
  constexpr int64_t kLeastBytes = 1 << 18;
  return y.numel() * static_cast<int64_t>(size_of(y.dtype())) >= kLeastBytes;
}

}  // namespace

Choice choose(const ConvCase& c) {
  const Passes pass = 1u << static_cast<unsigned>(c.pass);
  const unsigned type = type_of(c.dtype);
  const Rule* const rule = std::ranges::find_if(kRules, [&](const Rule& each) {
    return (each.passes & pass) && (each.types & type) && !is_disabled(each.algorithm) && each.fits(c);
  });
  return {rule->algorithm, rule->reason};
}

bool hands_pieces_over(Algorithm algorithm, const Geometry& g, bool is_simple, const Value& y) {
  switch (algorithm) {
    case Tiles: return is_simple;
    case Depthwise:
    case Direct: return is_simple || is_worth_finishing(y);
    case Winograd:
    case OnednnConv: return is_worth_finishing(y);
    case AmxConv: return is_worth_finishing(y) && linked_amx()->has_wide_pieces(g);
    default: return false;
  }
}

}  // namespace kiln::cpu::conv
