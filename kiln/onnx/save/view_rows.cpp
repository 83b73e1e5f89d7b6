// Operations that move elements, joins, windows, and products of matrices.
#include <algorithm>
#include <limits>

#include "kiln/onnx/save/rows.hpp"

namespace kiln::onnx {
namespace {

constexpr std::int64_t kToTheEnd = std::numeric_limits<std::int64_t>::max();

void reshape_row(const op::Reshape&, const WriterStep& s) {
  s.result(reshaped(s.out, s.in(0), s.sizes_of(0), s.result_sizes()));
}
void permute_row(const op::Permute& op, const WriterStep& s) { s.result(transposed(s.out, s.in(0), op.dims)); }

// ONNX's Expand keeps the operand's size where the shape has a 1.
void expand_row(const op::Expand&, const WriterStep& s) {
  const std::vector<Size> from = s.sizes_of(0);
  std::vector<Size> to = s.result_sizes();
  const std::size_t more = to.size() - from.size();
  for (std::size_t d = 0; d < from.size(); ++d)
    if (from[d] == to[d + more]) to[d + more] = {1, 0, 0, 1};
  s.result(s.one("Expand", {s.in(0), s.out.sizes(to)}));
}

// Elements begin, begin + step, ... of some axes.
void slice_row(const op::Slice&, const WriterStep& s) {
  const std::vector<Size> from = s.sizes_of(0), to = s.result_sizes();
  std::vector<Size> starts, ends;
  Ints axes, steps;
  for (int d = 0; d < s.rank(0); ++d) {
    const Size begin = s.size<op::Slice>([d](const op::Slice& op) { return op.begin[d]; });
    const Size step = s.size<op::Slice>([d](const op::Slice& op) { return op.step[d]; });
    if (!step.is_fixed()) return s.complain("a step depends on a free dimension");
    const Size &in = from[static_cast<std::size_t>(d)], &out = to[static_cast<std::size_t>(d)];
    const std::int64_t by = step.offset;
    if (by == 1 && begin.is_fixed() && begin.offset == 0 && in == out) continue;
    axes.push_back(d);
    steps.push_back(by);
    const Size behind = begin - in;  // where it begins, counted from the end
    starts.push_back(!begin.is_fixed() && behind.is_fixed() && behind.offset < 0 ? behind : begin);
    Size end = out;  // begin + size * step, which may lie beyond either end
    end.factor *= by, end.offset *= by;
    if (begin.is_fixed()) {
      end.offset += begin.offset;
      if (by < 0 && end.is_fixed() && end.offset < 0) end.offset = std::numeric_limits<std::int64_t>::min();
      if (by == 1 && end == in) end = {kToTheEnd, 0, 0, 0};
      if (by < 0 && !end.is_fixed()) return s.complain("a backwards slice depends on a free dimension");
    } else if (by > 0 && end.is_fixed() && behind.is_fixed()) {  // so many from the end on
      end.offset += behind.offset;
      if (end.offset >= 0) end.offset = kToTheEnd;
    } else if (by < 0 && behind.is_fixed() && out == in) {  // all of them, backwards
      end = {std::numeric_limits<std::int64_t>::min(), 0, 0, 0};
    } else {
      return s.complain("where it begins and ends depends on a free dimension");
    }
    ends.push_back(end);
  }
  if (axes.empty()) return s.result(s.in(0));
  s.result(s.one("Slice", {s.in(0), s.out.sizes(starts), s.out.sizes(ends), s.out.ints(axes), s.out.ints(steps)}));
}

// Assignment into a tensor of one number is padding, into others a scatter into the flattened tensor.
void slice_assign_row(const op::SliceAssign& op, const WriterStep& s) {
  const Program::Line* const frame = s.has(0) ? s.program().maker(s.operand(0)) : nullptr;
  const bool plain = std::all_of(op.step.begin(), op.step.end(), [](std::int64_t step) { return step == 1; });
  if (frame && frame->is_number(0) && std::holds_alternative<op::Fill>(frame->op.is) && plain) {
    const std::vector<Size> whole = s.result_sizes(), part = s.sizes_of(1);
    std::vector<Size> before, after;
    for (int d = 0; d < s.rank(0); ++d) {
      before.push_back(s.size<op::SliceAssign>([d](const op::SliceAssign& o) { return o.begin[d]; }));
      after.push_back(whole[static_cast<std::size_t>(d)] - part[static_cast<std::size_t>(d)] - before.back());
    }
    before.insert(before.end(), after.begin(), after.end());
    const std::string value = s.out.number(frame->in[0].number, s.result_desc().dtype);
    return s.result(s.one("Pad", {s.in(1), s.out.sizes(before), value}));
  }
  for (const Size& size : s.result_sizes())
    if (!size.is_fixed()) return s.complain("elements of a tensor with free dimensions are replaced");
  const Shape& shape = s.result_desc().shape;
  const Device device = Device::cpu();
  std::vector<Range> ranges;
  for (int d = 0; d < shape.size(); ++d) {
    const std::int64_t begin = op.begin[d], step = op.step[d], end = begin + s.desc(1).shape[d] * step;
    ranges.push_back({begin, end < 0 ? std::optional<std::int64_t>() : end, step});
  }
  const Value places = slice(reshape(arange(0, numel(shape), 1, device), shape), ranges);
  const std::string all = s.out.ints({-1});
  const std::string index = s.out.constant(reshape(places, {places.numel()}).data(), "places");
  const std::string flat =
      s.one("ScatterElements", {s.one("Reshape", {s.in(0), all}), index, s.one("Reshape", {s.in(1), all})});
  s.result(s.one("Reshape", {flat, s.out.ints(to_ints(shape))}));
}

// Elements by their places: [windows, size] in place of a dimension, of which the second goes to the end.
void unfold_row(const op::Unfold& op, const WriterStep& s) {
  const Size windows = s.result_sizes()[static_cast<std::size_t>(op.dim)];
  if (!windows.is_fixed()) return s.complain("the number of windows depends on a free dimension");
  const Device device = Device::cpu();
  const Value first = reshape(arange(0, windows.offset, 1, device) * op.step, {windows.offset, 1});
  const Value index = first + reshape(arange(0, op.size, 1, device) * op.dilation, {1, op.size});
  const std::string found =
      s.one("Gather", {s.in(0), s.out.constant(index.data(), "places")}, {attribute("axis", op.dim)});
  Dims order;
  for (int d = 0; d <= s.rank(0); ++d)
    if (d != op.dim + 1) order.push_back(d);
  order.push_back(op.dim + 1);
  s.result(transposed(s.out, found, order));
}

void cat_row(const op::Cat& op, const WriterStep& s) {
  Strings parts;
  for (int i = 0; i < s.inputs(); ++i) parts.push_back(s.in(i));
  s.result(s.one("Concat", parts, {attribute("axis", op.dim)}));
}

void matmul_row(const op::Matmul&, const WriterStep& s) { s.result(s.one("MatMul", {s.in(0), s.in(1)})); }

void matmul_integer_row(const op::MatmulInteger&, const WriterStep& s) {
  s.result(s.one("MatMulInteger", {s.in(0), s.in(1), s.get(2), s.get(3)}));
}

constexpr SaveRow kViewSaveRows[] = {
    save_row<op::Reshape, reshape_row>(),
    save_row<op::Permute, permute_row>(),
    save_row<op::Expand, expand_row>(),
    save_row<op::Slice, slice_row>(),
    save_row<op::SliceAssign, slice_assign_row>(),
    save_row<op::Unfold, unfold_row>(),
    save_row<op::Cat, cat_row>(),
    save_row<op::Matmul, matmul_row>(),
    save_row<op::MatmulInteger, matmul_integer_row>(),
};

}  // namespace

std::span<const SaveRow> view_save_rows() { return kViewSaveRows; }

}  // namespace kiln::onnx
