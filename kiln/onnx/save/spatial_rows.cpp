// Convolutions and pools.
#include <algorithm>

#include "kiln/onnx/save/rows.hpp"

namespace kiln::onnx {
namespace {

Ints ints_of(const Spatial& list) { return {list.begin(), list.end()}; }
Ints both(const Spatial& before, const Spatial& after) {
  Ints list = ints_of(before);
  list.insert(list.end(), after.begin(), after.end());
  return list;
}

NamedAttributes conv_attributes(const op::Conv& op, const Shape& weight) {
  return {attribute("kernel_shape", Ints(weight.begin() + 2, weight.end())), attribute("strides", ints_of(op.stride)),
          attribute("dilations", ints_of(op.dilation)), attribute("pads", both(op.padding, op.padding_after)),
          attribute("group", op.groups)};
}

void conv_row(const op::Conv& op, const WriterStep& s) {
  s.result(s.one("Conv", {s.in(0), s.in(1), s.get(2)}, conv_attributes(op, s.desc(1).shape)));
}

void conv_integer_row(const op::ConvInteger& op, const WriterStep& s) {
  s.result(s.one("ConvInteger", {s.in(0), s.in(1), s.get(2), s.get(3)}, conv_attributes(op.conv, s.desc(1).shape)));
}

// The sizes of the result, of which several come to the same, are said by what is added at their ends.
void conv_transpose_row(const op::ConvTranspose& op, const WriterStep& s) {
  const Shape &y = s.desc(0).shape, &weight = s.desc(1).shape;
  NamedAttributes attributes = conv_attributes(op.conv, weight);
  Ints more;
  for (int d = 0; d < op.sizes.size(); ++d) {
    const Size size = s.size<op::ConvTranspose>([d](const op::ConvTranspose& o) { return o.sizes[d]; });
    if (!size.is_fixed()) return s.complain("a spatial size is free");
    const std::int64_t reach = op.conv.dilation[d] * (weight[d + 2] - 1) + 1;
    more.push_back(op.sizes[d] -
                   ((y[d + 2] - 1) * op.conv.stride[d] + reach - op.conv.padding[d] - op.conv.padding_after[d]));
  }
  attributes.push_back(attribute("output_padding", more));
  s.result(s.one("ConvTranspose", {s.in(0), s.in(1)}, attributes));
}

// Parts of even sizes are windows side by side.
bool is_even(const Spatial& adaptive, const Shape& x) {
  for (int d = 0; d < adaptive.size(); ++d)
    if (adaptive[d] == 0 || x[d + 2] % adaptive[d]) return false;
  return true;
}
op::Window window_of(const op::Window& window, const Spatial& adaptive, const Shape& x) {
  if (adaptive.empty()) return window;
  op::Window made;
  for (int d = 0; d < adaptive.size(); ++d) {
    made.kernel.push_back(x[d + 2] / adaptive[d]);
    made.stride.push_back(made.kernel[d]);
    made.padding.push_back(0);
    made.padding_after.push_back(0);
    made.dilation.push_back(1);
  }
  return made;
}
NamedAttributes window_attributes(const op::Window& w) {
  return {attribute("kernel_shape", ints_of(w.kernel)), attribute("strides", ints_of(w.stride)),
          attribute("pads", both(w.padding, w.padding_after)), attribute("ceil_mode", w.ceil)};
}
constexpr const char* kUneven = "ONNX has no adaptive pools, and the parts are not of one size";
bool spatially_free(const WriterStep& s) {
  const std::vector<Size> sizes = s.sizes_of(0);
  return std::any_of(sizes.begin() + 2, sizes.end(), [](const Size& size) { return !size.is_fixed(); });
}

void max_pool_row(const op::MaxPool& op, const WriterStep& s) {
  if (!op.adaptive.empty() && spatially_free(s))
    return s.complain("an adaptive pool's operand has a free spatial size");
  const op::Window w = window_of(op.window, op.adaptive, s.desc(0).shape);
  NamedAttributes attributes = window_attributes(w);
  attributes.push_back(attribute("dilations", ints_of(w.dilation)));
  const bool indexed = op.indexed && s.wants(1);
  const Strings made = s.out.node("MaxPool", {s.in(0)}, attributes, indexed ? 2 : 1);
  s.result(made[0], 0);
  if (!indexed) return;
  if (spatially_free(s)) return s.complain("the indices of an operand with a free spatial size");
  std::int64_t size = 1;  // ONNX counts in all of the operand, Kiln in each image
  for (int d = 2; d < s.rank(0); ++d) size *= s.desc(0).shape[d];
  s.result(s.one("Mod", {made[1], s.out.number(size, DType::I64)}), 1);
}
std::string max_pool_refused(const op::MaxPool& op, const Program& p, const Program::Line& line, int) {
  return is_even(op.adaptive, p.desc(line.in[0]).shape) ? "" : kUneven;
}

void avg_pool_row(const op::AvgPool& op, const WriterStep& s) {
  if (!op.adaptive.empty() && spatially_free(s))
    return s.complain("an adaptive pool's operand has a free spatial size");
  NamedAttributes attributes = window_attributes(window_of(op.window, op.adaptive, s.desc(0).shape));
  attributes.push_back(attribute("count_include_pad", op.count_padding));
  s.result(s.one("AveragePool", {s.in(0)}, attributes));
}
std::string avg_pool_refused(const op::AvgPool& op, const Program& p, const Program::Line& line, int opset) {
  if (op.divisor) return "ONNX has no divisor of averages";
  const bool dilated = op.adaptive.empty() &&
                       std::any_of(op.window.dilation.begin(), op.window.dilation.end(), [](auto d) { return d > 1; });
  if (dilated && opset < 19) return "ONNX averages over dilated windows from operator set 19 on";
  return is_even(op.adaptive, p.desc(line.in[0]).shape) ? "" : kUneven;
}

// ---- resizing -----------------------------------------------------------------------------------------------------
void resample_row(const op::Resample& op, const WriterStep& s) {
  using enum Interpolation;
  std::vector<Size> sizes = s.sizes_of(0);
  for (const Size& size : sizes)
    if (!size.is_fixed() && size.symbols == ~0u) return s.complain("a size depends on free dimensions");
  sizes[static_cast<std::size_t>(op.dim)] = s.size<op::Resample>([](const op::Resample& o) { return o.to; });
  const bool nearest = op.mode == Nearest || op.mode == NearestExact;
  const std::string_view mode = nearest ? "nearest" : op.mode == Linear ? "linear" : "cubic";
  const std::string_view where = op.mode == Nearest ? "asymmetric" : op.align_corners ? "align_corners" : "half_pixel";
  NamedAttributes attributes{attribute("mode", mode), attribute("coordinate_transformation_mode", where)};
  if (nearest) attributes.push_back(attribute("nearest_mode", "floor"));
  if (op.mode == NearestExact) attributes.back() = attribute("nearest_mode", "round_prefer_ceil");
  if (op.mode == Cubic) attributes.push_back(attribute("cubic_coeff_a", op.antialias ? -0.5 : -0.75));
  if (op.antialias) attributes.push_back(attribute("antialias", 1));
  s.result(s.one("Resize", {s.in(0), "", "", s.out.sizes(sizes)}, attributes));
}
std::string resample_refused(const op::Resample& op, const Program&, const Program::Line&, int opset) {
  using enum Interpolation;
  if (op.transposed) return "ONNX has no adjoint of resizing";
  if (op.mode == Lanczos3 || op.mode == Area)
    return "ONNX resizes to the nearest element, linearly and cubically alone";
  if (op.step != 0) return "a scale that is not that of the sizes";
  return op.antialias && opset < 18 ? "ONNX resizes with antialiasing from operator set 18 on" : "";
}

constexpr SaveRow kSpatialSaveRows[] = {
    save_row<op::Conv, conv_row>(),
    save_row<op::ConvInteger, conv_integer_row>(),
    save_row<op::ConvTranspose, conv_transpose_row>(),
    save_row<op::MaxPool, max_pool_row, max_pool_refused>(),
    save_row<op::AvgPool, avg_pool_row, avg_pool_refused>(),
    save_row<op::Resample, resample_row, resample_refused>(),
};

}  // namespace

std::span<const SaveRow> spatial_save_rows() { return kSpatialSaveRows; }

}  // namespace kiln::onnx
