#include "kiln/vision/pictures.hpp"

#include <algorithm>

#include "kiln/core/error/called_as.hpp"
#include "kiln/core/size.hpp"
#include "kiln/ops/check.hpp"
#include "kiln/ops/view/assemble.hpp"

namespace kiln::vision {

void require_pictures(std::string_view function, const Value& x) {
  op::require_tensor(function, x);
  require<DTypeError>(kind_of(x.dtype()) != Kind::Bool, function,
                      ": needs pictures of floats or integers, got booleans; cast them to uint8");
  require<ShapeError>(x.rank() == 4, function, ": pictures are [batch, channels, height, width], got ", x.shape());
}

void require_channels(std::string_view function, const Value& x, std::int64_t channels) {
  require_pictures(function, x);
  require<ShapeError>(x.dim(1) == channels, function, ": needs ", channels, channels == 1 ? " channel" : " channels",
                      ", got pictures ", x.shape());
}

void require_enumerator(std::string_view function, std::string_view what, int number, int last) {
  require<ArgumentError>(number >= 0 && number <= last, function, ": there is no ", what, " of number ", number);
}

DType working_type(DType dtype) {
  if (is_float(dtype)) return size_of(dtype) == 2 ? DType::F32 : dtype;
  return size_of(dtype) <= 2 ? DType::F32 : DType::F64;
}

Value rounded_to(const Value& x, DType dtype) {
  if (x.dtype() == dtype) return x;
  return cast(is_float(dtype) ? x : round(x), dtype);
}

Value folded(const Value& x, std::int64_t size, Border border) {
  const bool whole = is_integer(x.dtype());
  const std::int64_t last = whole ? size - 1 : size;
  switch (border) {
    case Border::Wrap: return remainder(x, size);
    case Border::Reflect: {
      const Value there = remainder(x, 2 * size);
      return minimum(there, (whole ? 2 * size - 1 : 2 * size) - there);
    }
    case Border::Reflect101: {
      if (size == 1) return clamp(x, 0, last);
      // The centres of reflection are the centres of the outermost pixels, half a pixel from the edges.
      const Value from_centre = whole ? x : x - 0.5;
      const Value there = remainder(from_centre, 2 * size - 2);
      const Value inside = minimum(there, 2 * size - 2 - there);
      return whole ? inside : inside + 0.5;
    }
    case Border::Constant:
    case Border::Replicate: break;
  }
  return clamp(x, 0, last);
}

namespace {

/// Returns x with pixels added along one dimension; as views where the border needs each pixel at most once.
Value extended(const Value& x, int dim, std::int64_t before, std::int64_t after, Border border) {
  const std::int64_t size = x.dim(dim), most = std::max(before, after);
  if (most == 0) return x;
  Dims front = Dims::filled(4, 0), back = front;
  front[dim] = before;
  back[dim] = after;
  if (border == Border::Replicate) return kiln::pad(x, front, back, PadMode::Edge);
  if (border == Border::Reflect101 && most < size) return kiln::pad(x, front, back, PadMode::Reflect);
  if (border == Border::Wrap && most <= size) return kiln::pad(x, front, back, PadMode::Circular);
  return select(x, dim, folded(arange(-before, size + after, 1, x.device()), size, border));
}

}  // namespace

Value make_border(const Value& x, const Margins& margins, Border border, const Scalar& value) {
  constexpr std::string_view name = "make_border";
  const CalledAs named("make_border");
  op::require_tensor(name, x);
  require<ShapeError>(x.rank() == 4, name, ": pictures are [batch, channels, height, width], got ", x.shape());
  require_enumerator(name, "border", static_cast<int>(border), static_cast<int>(Border::Wrap));
  const auto [top, bottom, left, right] = margins;
  require<ArgumentError>(std::min({top, bottom, left, right}) >= 0, name, ": the margins ", top, ", ", bottom, ", ",
                         left, " and ", right, " must not be negative");
  constexpr std::int64_t kMost = std::int64_t{1} << 31;
  require<ArgumentError>(std::max({top, bottom, left, right}) < kMost, name, ": a margin of ",
                         std::max({top, bottom, left, right}), " pixels is not below 2^31");
  if (border == Border::Constant) return kiln::pad(x, {0, 0, top, left}, {0, 0, bottom, right}, value);
  require<ShapeError>((top + bottom == 0 || x.dim(2) > 0) && (left + right == 0 || x.dim(3) > 0), name, ": pictures ",
                      x.shape(), " have no pixels to repeat; use a constant border");
  return extended(extended(x, 2, top, bottom, border), 3, left, right, border);
}

}  // namespace kiln::vision
