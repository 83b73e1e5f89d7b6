// Tensors of plain numbers.
#include "kiln/onnx/save/rows.hpp"

namespace kiln::onnx {
namespace {

void fill_row(const op::Fill& op, const WriterStep& s) {
  const std::string number = s.is_number(0) ? s.out.number(s.operand(0).number, op.dtype) : s.in(0);
  s.result(op.shape.empty() ? number : s.one("Expand", {number, s.out.sizes(s.result_sizes())}));
}

// Range takes the end; of floats it is counted in integers, so that rounding adds no element.
void arange_row(const op::Arange& op, const WriterStep& s) {
  const Size count = s.size<op::Arange>([](const op::Arange& o) { return o.count; });
  std::string range = s.one("Range", {s.out.number(0, DType::I64), s.out.scalar(count), s.out.number(1, DType::I64)});
  range = cast_name(s.out, range, DType::I64, op.dtype);
  if (s.value(1) != 1) range = s.one("Mul", {range, s.in(1, op.dtype)});
  if (s.value(0) != 0) range = s.one("Add", {range, s.in(0, op.dtype)});
  s.result(range);
}
std::string arange_refused(const op::Arange&, const Program&, const Program::Line& line, int) {
  return line.is_number(0) && line.is_number(1) ? "" : "its start is no plain number";
}

constexpr SaveRow kCreateSaveRows[] = {
    save_row<op::Fill, fill_row>(),
    save_row<op::Arange, arange_row, arange_refused>(),
};

}  // namespace

std::span<const SaveRow> create_save_rows() { return kCreateSaveRows; }

}  // namespace kiln::onnx
