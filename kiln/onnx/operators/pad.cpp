// Elements put in front of a tensor and behind it, or taken away there.
#include <limits>

#include "kiln/core/size.hpp"
#include "kiln/onnx/operators/broadcast.hpp"
#include "kiln/ops/view/view.hpp"

namespace kiln::onnx {
namespace {

// The index of the element at each position of a line of `size` elements that is padded at both ends.
Value continued(const Call& c, std::int64_t size, std::int64_t before, std::int64_t after, const std::string& mode) {
  const std::int64_t end = add_sizes("Pad", size, after);
  c.check(size > 0 || add_sizes("Pad", end, before) <= 0, "a dimension of size 0 cannot be continued");
  c.check(before > std::numeric_limits<std::int64_t>::min() && end >= -before, "pads of ", before, " and ", after,
          " take away more than ", size, " elements");
  const Value place = arange(-before, end, 1, c.device());
  if (mode == "edge") return clamp(place, 0, size - 1);
  if (mode == "wrap") return remainder(place, size);
  const std::int64_t period = size > 1 ? 2 * (size - 1) : 1;
  const Value offset = remainder(place, period);
  return where(lt(offset, size), offset, period - offset);
}

Results pad_ends(Call& c) {
  const std::string mode = c.word("mode", "constant", {"constant", "reflect", "edge", "wrap"});
  const bool old = c.version() < 11;
  const Ints pads = old ? c.ints(c.version() < 2 ? "paddings" : "pads") : c.ints(1);
  Datum datum = c.datum(0);
  const int rank = datum.value().rank();
  Ints axes = c.ints(3);
  if (axes.empty())
    for (int d = 0; d < rank; ++d) axes.push_back(d);
  c.check(pads.size() == 2 * axes.size(), "there are ", pads.size(), " pads for ", axes.size(), " axes");
  Dims before = Dims::filled(rank, 0), after = before;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const int axis = c.dim(axes[i], rank);
    before[axis] = pads[i];
    after[axis] = pads[i + axes.size()];
  }
  if (mode != "constant") {
    Value x = datum.value();
    for (int d = 0; d < rank; ++d)
      if (before[d] || after[d]) x = select(x, d, continued(c, x.dim(d), before[d], after[d], mode));
    return c.like(0, x);
  }
  if (datum.is_string()) {
    const Datum filler = c.has(2) ? c.datum(2) : Datum::of_strings({}, {""}, c.device());
    const std::vector<Datum> both = with_one_list({datum, filler});
    const Scalar number = both[1].value().data().to_vector<std::int64_t>()[0];
    return Datum(pad(both[0].value(), before, after, number), both[0].string_list());
  }
  Scalar filler = old ? Scalar(c.f("value", 0)) : Scalar(0);
  if (c.has(2)) {
    c.check(c[2].numel() == 1, "the constant value is ", c.datum(2), ", not one number");
    const TensorData data = c[2].data();
    filler = is_float(data.dtype()) ? Scalar(data.at(0)) : Scalar(data.to_vector<std::int64_t>()[0]);
  }
  const Value& x = datum.value();
  if (x.dtype() == DType::Bool) return of_type(pad(cast(x, DType::U8), before, after, filler), DType::Bool);
  return c.like(0, pad(x, before, after, filler));
}

// x brought to the sizes given, from its middle: cut where it is larger, zeros round it where it is smaller.
Results center_crop_pad(Call& c) {
  const Value& x = c[0];
  const Ints sizes = c.ints(1);
  Ints axes = c.ints("axes");
  if (axes.empty())
    for (int d = 0; d < x.rank(); ++d) axes.push_back(d);
  c.check(axes.size() == sizes.size(), sizes.size(), " sizes for ", axes.size(), " axes");
  Dims before = Dims::filled(x.rank(), 0), after = before;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const int axis = c.dim(axes[i], x.rank());
    c.check(sizes[i] >= 0, "a size is ", sizes[i]);
    const std::int64_t more = sizes[i] - x.dim(axis);
    before[axis] = more < 0 ? -((-more) / 2) : more / 2;
    after[axis] = more - before[axis];
  }
  return c.like(0, pad(x, before, after, 0));
}

constexpr OperatorRow kPadRows[] = {
    {"CenterCropPad", 18, center_crop_pad, {.folds = false}},
    {"Pad", 1, pad_ends, {.folds = false}},
};

}  // namespace

std::span<const OperatorRow> pad_rows() { return kPadRows; }

}  // namespace kiln::onnx
