// Reductions, orders and running sums.
#include "kiln/onnx/save/rows.hpp"

namespace kiln::onnx {
namespace {

// ONNX folds booleans with the reductions of integers.
std::string_view reduction(op::ReduceFn fn, int opset) {
  using enum op::ReduceFn;
  return find_row(fn == Any ? Max : fn == All ? Min : fn, opset)->name;
}

// The axes are an input from version 18 on, those of sums before that, too; else an attribute.
std::string reduced(const WriterStep& s, std::string_view name, const std::string& x, const Dims& dims) {
  const Ints axes(dims.begin(), dims.end());
  if (s.out.opset() >= 18 || name == "ReduceSum") return s.one(name, {x, s.out.ints(axes)});
  return s.one(name, {x}, {attribute("axes", axes)});
}

void reduce_row(const op::Reduce& op, const WriterStep& s) {
  const DType from = s.desc(0).dtype, to = s.result_desc().dtype;
  if (op.dims.empty()) return s.result(cast_name(s.out, s.in(0), from, to));
  const bool truths = from == DType::Bool && to == DType::Bool;
  const DType within = truths ? DType::I32 : to;
  const std::string x = cast_name(s.out, s.in(0), from, within);
  s.result(cast_name(s.out, reduced(s, reduction(op.fn, s.out.opset()), x, op.dims), within, to));
}

void arg_reduce_row(const op::ArgReduce& op, const WriterStep& s) {
  s.result(s.one(op.fn == op::ArgFn::ArgMax ? "ArgMax" : "ArgMin", {s.in(0)},
                 {attribute("axis", op.dim), attribute("keepdims", 1)}));
}

void scan_row(const op::Scan& op, const WriterStep& s) {
  const std::string x = cast_name(s.out, s.in(0), s.desc(0).dtype, s.result_desc().dtype);
  const std::string axis = s.out.number(std::int64_t{op.dim}, DType::I64);
  s.result(s.one(op.fn == op::ScanFn::Sum ? "CumSum" : "CumProd", {x, axis},
                 {attribute("exclusive", op.exclusive), attribute("reverse", op.reverse)}));
}
std::string scan_refused(const op::Scan& op, const Program&, const Program::Line&, int opset) {
  if (op.fn == op::ScanFn::Sum) return "";
  if (op.fn == op::ScanFn::Prod) return opset >= 26 ? "" : "ONNX has running products from operator set 26 on";
  return "ONNX has running sums and products alone";
}

void write_top(const WriterStep& s, const Size& k, int dim, bool largest) {
  const Strings found =
      s.out.node("TopK", {s.in(0), s.out.sizes({k})}, {attribute("axis", dim), attribute("largest", largest)}, 2);
  s.result(found[0], 0);
  s.result(found[1], 1);
}
void sort_row(const op::Sort& op, const WriterStep& s) {
  write_top(s, s.result_sizes()[static_cast<std::size_t>(op.dim)], op.dim, op.descending);
}
void topk_row(const op::TopK& op, const WriterStep& s) {
  write_top(s, s.size<op::TopK>([](const op::TopK& o) { return o.k; }), op.dim, op.largest);
}

void softmax_row(const op::Softmax& op, const WriterStep& s) {
  s.result(s.one(op.log ? "LogSoftmax" : "Softmax", {s.in(0)}, {attribute("axis", op.dim)}));
}

void det_row(const op::Det&, const WriterStep& s) { s.result(s.one("Det", {s.in(0)})); }

constexpr SaveRow kReduceSaveRows[] = {
    save_row<op::Reduce, reduce_row>(),
    save_row<op::ArgReduce, arg_reduce_row>(),
    save_row<op::Scan, scan_row, scan_refused>(),
    save_row<op::Sort, sort_row>(),
    save_row<op::TopK, topk_row>(),
    save_row<op::Softmax, softmax_row>(),
    save_row<op::Det, det_row>(),
};

}  // namespace

std::span<const SaveRow> reduce_save_rows() { return kReduceSaveRows; }

}  // namespace kiln::onnx
