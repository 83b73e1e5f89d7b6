// Reading and writing by index.
#include "kiln/onnx/save/rows.hpp"

namespace kiln::onnx {
namespace {

NamedAttributes axis_of(int dim) { return {attribute("axis", dim)}; }

std::string index_of(const WriterStep& s, int i) {
  const DType type = s.desc(i).dtype;
  return cast_name(s.out, s.in(i, DType::I64), type, type == DType::I32 ? type : DType::I64);
}

std::string_view reduction(Update update) {
  switch (update) {
    case Update::Assign: return "none";
    case Update::Add: return "add";
    case Update::Mul: return "mul";
    case Update::Min: return "min";
    case Update::Max: return "max";
  }
  return {};
}
std::string update_refused(Update update, int opset) {
  const bool extreme = update == Update::Min || update == Update::Max;
  return extreme && opset < 18 ? "ONNX scatters extremes from operator set 18 on" : "";
}

void gather_row(const op::Gather& op, const WriterStep& s) {
  s.result(s.one("GatherElements", {s.in(0), index_of(s, 1)}, axis_of(op.dim)));
}
void select_row(const op::Select& op, const WriterStep& s) {
  s.result(s.one("Gather", {s.in(0), index_of(s, 1)}, axis_of(op.dim)));
}

void scatter_row(const op::Scatter& op, const WriterStep& s) {
  NamedAttributes attributes = axis_of(op.dim);
  attributes.push_back(attribute("reduction", reduction(op.update)));
  s.result(s.one("ScatterElements", {s.in(0), index_of(s, 1), s.in(2)}, attributes));
}
std::string scatter_refused(const op::Scatter& op, const Program&, const Program::Line&, int opset) {
  return update_refused(op.update, opset);
}

// ScatterND writes slices of the first dimensions: `dim` goes there and comes back.
void select_update_row(const op::SelectUpdate& op, const WriterStep& s) {
  const int rank = s.rank(0), places = s.rank(1);
  Dims to_front{op.dim}, back, source_front;
  for (int d = 0; d < rank; ++d) {
    if (d != op.dim) to_front.push_back(d);
    back.push_back(d < op.dim ? d + 1 : d == op.dim ? 0 : d);
  }
  for (int d = 0; d < places; ++d) source_front.push_back(op.dim + d);
  for (int d = 0; d < rank - 1 + places; ++d)
    if (d < op.dim || d >= op.dim + places) source_front.push_back(d);
  const bool first = op.dim == 0;
  const std::string x = first ? s.in(0) : transposed(s.out, s.in(0), to_front);
  const std::string source = first ? s.in(2) : transposed(s.out, s.in(2), source_front);
  const std::string index =
      s.one("Unsqueeze", {cast_name(s.out, s.in(1), s.desc(1).dtype, DType::I64), s.out.ints({-1})});
  const std::string made = s.one("ScatterND", {x, index, source}, {attribute("reduction", reduction(op.update))});
  s.result(first ? made : transposed(s.out, made, back));
}
std::string select_update_refused(const op::SelectUpdate& op, const Program&, const Program::Line&, int opset) {
  return update_refused(op.update, opset);
}

// The sum of each index, counted from the end where it is negative, times what its dimension steps over.
void ravel_row(const op::RavelIndex& op, const WriterStep& s) {
  std::string sum;
  std::int64_t step = 1;
  for (int d = op.shape.size(); d-- > 0;) {
    if (!s.size<op::RavelIndex>([d](const op::RavelIndex& o) { return o.shape[d]; }).is_fixed())
      return s.complain("a size depends on a free dimension");
    const std::string i =
        cast_name(s.out, s.in(d, DType::I64), s.is_number(d) ? DType::I64 : s.desc(d).dtype, DType::I64);
    const std::string zero = s.out.number(0, DType::I64), size = s.out.number(op.shape[d], DType::I64);
    const std::string place = s.one("Where", {s.one("Less", {i, zero}), s.one("Add", {i, size}), i});
    const std::string part = step == 1 ? place : s.one("Mul", {place, s.out.number(step, DType::I64)});
    sum = sum.empty() ? part : s.one("Add", {part, sum});
    step *= op.shape[d];
  }
  s.result(sum);
}

constexpr SaveRow kIndexSaveRows[] = {
    save_row<op::Gather, gather_row>(),
    save_row<op::Select, select_row>(),
    save_row<op::Scatter, scatter_row, scatter_refused>(),
    save_row<op::SelectUpdate, select_update_row, select_update_refused>(),
    save_row<op::RavelIndex, ravel_row>(),
};

}  // namespace

std::span<const SaveRow> index_save_rows() { return kIndexSaveRows; }

}  // namespace kiln::onnx
