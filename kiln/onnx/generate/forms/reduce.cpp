// Forms of reductions, products and pools.
#include <algorithm>

#include "kiln/onnx/generate/forms/forms.hpp"

namespace kiln::onnx::cpp {
namespace {

using enum kiln::Kind;

MaybeStatement matrix_product(const Site& n) {
  if (!n.typed(0, Float) || !n.typed(1, Float) || n.rank(0) < 2 || n.rank(1) < 2 || !n.gives(Float)) return {};
  return statement_of(Code::method(n.in(0), "matmul", {n.in(1)}));
}

// Softmax and LogSoftmax.
MaybeStatement along_axis(const Site& n) {
  if (!n.typed(0, Float) || !n.gives(Float) || n.rank(0) < 1) return {};
  const std::int64_t axis = n.i("axis", n.node.version < 13 ? 1 : -1);
  // Versions before 13 take x as a matrix of two groups of dimensions.
  if (n.node.version < 13 && axis != n.rank(0) - 1 && axis != -1) return {};
  const char* const name = n.node.op == "Softmax" ? "softmax" : "log_softmax";
  return statement_of(Code::method(n.in(0), name, {Code::literal(axis)}));
}

MaybeStatement global_average(const Site& n) {
  if (!n.typed(0, Float) || n.rank(0) < 3 || !n.gives(Float)) return {};
  Code::List operands{Code::word("keep")};
  for (std::int64_t d = 2; d < n.rank(0); ++d) operands.push_back(Code::literal(d));
  return statement_of(Code::method(n.in(0), "mean", std::move(operands)));
}

MaybeStatement pool(const Site& n, std::string_view name, bool dilated) {
  const Ints kernel = n.list("kernel_shape"), pads = n.list("pads"), dilations = n.list("dilations");
  Ints strides = n.list("strides");
  if (!n.typed(0, Float) || !n.gives(Float) || kernel.empty() || kernel.size() > 3 ||
      n.s("auto_pad", "NOTSET") != "NOTSET")
    return {};
  const std::size_t dims = kernel.size();
  if (n.rank(0) != static_cast<int>(dims) + 2 || (!pads.empty() && pads.size() != 2 * dims)) return {};
  if (strides.empty()) strides.assign(dims, 1);
  const auto is_plain = [](const Ints& list, std::int64_t usual) {
    return std::all_of(list.begin(), list.end(), [&](std::int64_t each) { return each == usual; });
  };
  Ints before, after;
  for (std::size_t d = 0; d < dims && !pads.empty(); ++d) {
    before.push_back(pads[d]), after.push_back(pads[d + dims]);
    if (pads[d] < 0 || pads[d + dims] < 0 || 2 * pads[d] > kernel[d] || 2 * pads[d + dims] > kernel[d]) return {};
  }
  if (strides.size() != dims || (!dilated && !is_plain(dilations, 1))) return {};
  Code::List options{Code::verbatim(".kernel = " + braces(kernel)), Code::verbatim(".stride = " + braces(strides))};
  const auto add = [&](std::string option) { options.push_back(Code::verbatim(std::move(option))); };
  if (!is_plain(before, 0) || !is_plain(after, 0)) add(".padding = " + braces(before));
  if (!is_plain(dilations, 1)) add(".dilation = " + braces(dilations));
  if (n.i("ceil_mode", 0)) add(".ceil = true");
  if (!dilated && !n.i("count_include_pad", 0)) add(".count_padding = false");
  if (before != after) add(".padding_after = " + braces(after));
  return statement_of(Code::call(std::string(name), {n.in(0), Code::list(std::move(options))}));
}
MaybeStatement max_pool(const Site& n) {
  return n.i("storage_order", 0) ? MaybeStatement() : pool(n, "max_pool", true);
}
MaybeStatement average_pool(const Site& n) { return pool(n, "avg_pool", false); }

constexpr Form kReduceForms[] = {
    {"AveragePool", average_pool}, {"GlobalAveragePool", global_average},
    {"LogSoftmax", along_axis},    {"MatMul", matrix_product},
    {"MaxPool", max_pool},         {"Softmax", along_axis},
};

}  // namespace

MaybeStatement reduce(const Site& n, op::ReduceFn fn) {
  const std::optional<Ints> axes = n.ints_either(1, "axes");
  if (!axes || axes->empty() || !n.typed(0, Float) || !n.gives(Float)) return {};
  Code::List operands = literals(*axes);
  if (n.i("keepdims", 1)) operands.insert(operands.begin(), Code::word("keep"));
  return statement_of(Code::method(n.in(0), name(fn), std::move(operands)));
}

std::span<const Form> reduce_forms() { return kReduceForms; }

}  // namespace kiln::onnx::cpp
