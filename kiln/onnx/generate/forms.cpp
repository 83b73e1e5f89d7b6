// How Kiln says operators by itself, where ranks and kinds are known: a row each. A form that does not hold for a node
// (an old version's axis, an operand whose rank is free) gives nothing, and the node becomes a call of apply().
#include <algorithm>

#include "kiln/onnx/generate/lowering.hpp"

namespace kiln::onnx::cpp {
namespace {

using enum kiln::Kind;

Statement said(std::string text) { return {.scope = {}, .results = {}, .places = {}, .text = std::move(text)}; }
Statement infix(std::string text) {
  Statement statement = said(std::move(text));
  statement.form = Statement::Form::Infix;
  return statement;
}

std::string joined(const Ints& numbers) {
  std::string out;
  for (const std::int64_t number : numbers) out += text(out.empty() ? "" : ", ", literal(number));
  return out;
}

bool is_same_element(const Site& n) { return n.operand(0).element == n.operand(1).element; }

// ---- element by element ---------------------------------------------------------------------------------------------
Said method(const Site& n, std::string_view name) {
  if (!n.typed(0, Float) || !n.gives(Float)) return {};
  return said(text(n.in(0), '.', name, "()"));
}
Said gelu(const Site& n) {
  const std::string how = n.s("approximate", "none");
  return how == "none" ? method(n, "gelu") : how == "tanh" ? method(n, "gelu_tanh") : Said();
}

Said negative(const Site& n) {
  if (!n.typed(0) || n.operand(0).type.kind == Bool || !n.gives(n.operand(0).type.kind)) return {};
  return said(text(n.in(0), ".neg()"));
}

Said leaky_relu(const Site& n) {
  if (!n.typed(0, Float) || !n.gives(Float)) return {};
  return said(text(n.in(0), ".leaky_relu(", literal(static_cast<float>(n.f("alpha", 0.01f))), ')'));
}

Said clip(const Site& n) {
  if (!n.typed(0, Float) || !n.gives(Float) || n.node.version < 11) return {};
  const std::optional<double> low = n.number(1), high = n.number(2);
  if ((n.has(1) && !low) || (n.has(2) && !high)) return {};
  if (low == 0.0 && high == 6.0) return method(n, "relu6");
  if (low && high) return said(text(n.in(0), ".clamp(", literal(*low), ", ", literal(*high), ')'));
  if (low) return said(text(n.in(0), ".maximum(", literal(*low), ')'));
  if (high) return said(text(n.in(0), ".minimum(", literal(*high), ')'));
  return {};
}

// The operand of an arithmetic operator: a tensor, or the number that a constant of rank 0 is.
std::optional<std::string> term(const Site& n, std::size_t i, kiln::Kind kind) {
  if (n.typed(i, kind)) return n.in(i);
  const Datum* const constant = n.constant(i);
  if (!constant || constant->value().rank() > 0 || kind_of(constant->value().dtype()) != kind) return {};
  const double number = constant->value().data().at(0);
  if (kind == Int) return literal(constant->value().data().to_vector<std::int64_t>()[0]);
  return constant->value().dtype() == DType::F64 ? literal(number) : literal(static_cast<float>(number));
}

Said arithmetic(const Site& n, std::string_view symbol, bool integers) {
  if (n.node.version < 7 || n.inputs() != 2 || !is_same_element(n) || (!n.typed(0) && !n.typed(1))) return {};
  const kiln::Kind kind = n.operand(n.typed(0) ? 0 : 1).type.kind;
  if (!(kind == Float || (integers && kind == Int)) || !n.gives(kind)) return {};
  const auto a = term(n, 0, kind), b = term(n, 1, kind);
  if (!a || !b) return {};
  return infix(text(*a, ' ', symbol, ' ', *b));
}
Said add(const Site& n) { return arithmetic(n, "+", true); }
Said subtract(const Site& n) { return arithmetic(n, "-", true); }
Said multiply(const Site& n) { return arithmetic(n, "*", true); }
Said divide(const Site& n) { return arithmetic(n, "/", false); }

Said power(const Site& n) {
  const std::optional<double> exponent = n.number(1);
  if (n.node.version < 7 || !exponent || !n.typed(0, Float) || !n.gives(Float) || n.constant(1)->value().rank() > 0)
    return {};
  return *exponent == 2 ? said(n.in(0) + ".square()") : said(text(n.in(0), ".pow(", literal(*exponent), ')'));
}

Said compare(const Site& n, std::string_view symbol) {
  if (n.node.version < 7 || !is_same_element(n) || (!n.typed(0) && !n.typed(1)) || !n.gives(Bool)) return {};
  const kiln::Kind kind = n.operand(n.typed(0) ? 0 : 1).type.kind;
  const auto a = term(n, 0, kind), b = term(n, 1, kind);
  if (kind == Bool || !a || !b) return {};
  return infix(text(*a, ' ', symbol, ' ', *b));
}
Said equal(const Site& n) { return compare(n, "=="); }
Said less(const Site& n) { return compare(n, "<"); }
Said greater(const Site& n) { return compare(n, ">"); }
Said less_or_equal(const Site& n) { return compare(n, "<="); }
Said greater_or_equal(const Site& n) { return compare(n, ">="); }

Said where(const Site& n) {
  if (!n.typed(0, Bool) || n.operand(1).element != n.operand(2).element) return {};
  if ((!n.typed(1) && !n.typed(2)) || !n.gives(Float)) return {};
  const auto a = term(n, 1, Float), b = term(n, 2, Float);
  if (!a || !b) return {};
  return said(text("where(", n.in(0), ", ", *a, ", ", *b, ')'));
}

Said cast(const Site& n) {
  const auto to = static_cast<Element>(n.i("to", 0));
  if (n.node.version < 6 || !n.typed(0) || n.operand(0).type.kind == Float || !n.gives(Float) || to != Element::Float)
    return {};
  return said(text(n.in(0), ".to_float()"));
}

// ---- shapes ---------------------------------------------------------------------------------------------------------
Said flatten(const Site& n) {
  if (!n.typed(0) || n.rank(0) < 2 || n.i("axis", 1) != 1 || !n.gives(n.operand(0).type.kind)) return {};
  return said(text(n.in(0), ".flatten<1>()"));
}

// A size as a call of reshape() says it: a number, or the size of the operand that has the same name.
std::optional<std::string> size_text(const Dim& size, std::size_t place, const Site& n) {
  if (size.value && *size.value != 0) return literal(*size.value);
  if (size.value) return text(n.in(0), ".dim(", place, ')');  // 0: as the operand's
  const std::optional<PartialShape> shape = n.operand(0).shape;
  if (size.param.empty() || !shape) return {};
  for (std::size_t d = 0; d < shape->size(); ++d)
    if (!(*shape)[d].value && (*shape)[d].param == size.param) return text(n.in(0), ".dim(", d, ')');
  return {};
}

Said reshape(const Site& n) {
  if (n.node.version < 5 || !n.typed(0) || n.rank(0) < 1 || n.i("allowzero", 0) || !n.one_result()) return {};
  PartialShape sizes;
  if (const std::optional<Ints> given = n.ints(1)) {
    for (const std::int64_t size : *given) sizes.push_back({size, {}});
  } else if (const PartialShape* const known = n.lowering.numbers(n.node.inputs[1])) {
    sizes = *known;
  } else {
    return {};
  }
  if (sizes.empty() || sizes.size() > kMaxRank) return {};
  if (!n.gives(n.operand(0).type.kind) || n.rank() != static_cast<int>(sizes.size())) return {};
  std::string list;
  int open = 0;
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    std::optional<std::string> size = size_text(sizes[d], d, n);
    if (!size || (sizes[d].value && *sizes[d].value == 0 && static_cast<int>(d) >= n.rank(0))) {
      if (open) return {};
      size = "-1";
    }
    open += *size == "-1";
    list += (list.empty() ? "" : ", ") + *size;
  }
  if (open > 1) return {};
  return said(text(n.in(0), ".reshape(", list, ')'));
}

Said transpose(const Site& n) {
  if (!n.typed(0) || !n.gives(n.operand(0).type.kind)) return {};
  Ints order = n.list("perm");
  const auto rank = static_cast<std::size_t>(n.rank(0));
  if (order.empty())
    for (std::size_t d = rank; d-- > 0;) order.push_back(static_cast<std::int64_t>(d));
  if (order.size() != rank || rank < 2) return {};
  Ints moved;
  for (std::size_t d = 0; d < rank; ++d)
    if (order[d] != static_cast<std::int64_t>(d)) moved.push_back(static_cast<std::int64_t>(d));
  if (rank == 2 && moved.size() == 2) return said(n.in(0) + ".t()");
  if (moved.size() == 2) return said(text(n.in(0), ".transpose(", joined(moved), ')'));
  return said(text(n.in(0), ".permute(", joined(order), ')'));
}

Said unsqueeze(const Site& n) {
  const std::optional<Ints> axes = n.ints_either(1, "axes");
  if (!axes || axes->empty() || !n.typed(0) || !n.gives(n.operand(0).type.kind)) return {};
  return said(text(n.in(0), ".unsqueeze(", joined(*axes), ')'));
}
Said squeeze(const Site& n) {
  const std::optional<Ints> axes = n.ints_either(1, "axes");
  if (!axes || axes->empty() || !n.typed(0) || !n.gives(n.operand(0).type.kind)) return {};
  return said(text(n.in(0), ".squeeze(", joined(*axes), ')'));
}

Said concat(const Site& n) {
  std::string parts;
  for (std::size_t i = 0; i < n.inputs(); ++i) {
    if (!n.typed(i) || n.operand(i).element != n.operand(0).element || n.operand(i).type != n.operand(0).type)
      return {};
    // A parameter is a tensor, but braces do not see that.
    const bool plain = n.operand(i).text.front() == kValueMark;
    parts +=
        (parts.empty() ? "" : ", ") + (plain ? n.in(i) : text(name_of(n.operand(i).type), '(', n.in(i), ".value())"));
  }
  if (!n.given("axis") || n.inputs() < 2 || !n.gives(n.operand(0).type.kind)) return {};
  return said(text("cat({", parts, "}, ", n.i("axis", 0), ')'));
}

Said gather(const Site& n) {
  const Datum* const index = n.constant(1);
  if (!index || index->value().rank() != 0 || !n.typed(0) || !n.gives(n.operand(0).type.kind)) return {};
  return said(text(n.in(0), ".at(", n.i("axis", 0), ", ", literal((*n.ints(1))[0]), ')'));
}

// Ends beyond the last element are cut off, as Range has it.
Said slice(const Site& n) {
  const std::optional<Ints> starts = n.ints_either(1, "starts"), ends = n.ints_either(2, "ends");
  const std::optional<Ints> axes = n.ints_either(3, "axes"), steps = n.has(4) ? n.ints(4) : Ints{1};
  if (!starts || !ends || !axes || !steps || starts->size() != 1 || ends->size() != 1 || axes->size() != 1 ||
      steps->size() != 1 || (*steps)[0] != 1 || !n.typed(0) || !n.gives(n.operand(0).type.kind))
    return {};
  const std::int64_t from = (*starts)[0], to = (*ends)[0];
  const std::string last = to >= std::numeric_limits<std::int32_t>::max() ? "{}" : literal(to);
  return said(text(n.in(0), ".slice_dim(", (*axes)[0], ", {", from == 0 ? "{}" : literal(from), ", ", last, "})"));
}

// ---- reductions, products, pools ------------------------------------------------------------------------------------
Said reduce(const Site& n, std::string_view name) {
  const std::optional<Ints> axes = n.ints_either(1, "axes");
  if (!axes || axes->empty() || !n.typed(0, Float) || !n.gives(Float)) return {};
  const char* const keeps = n.i("keepdims", 1) ? "keep, " : "";
  return said(text(n.in(0), '.', name, '(', keeps, joined(*axes), ')'));
}
Said reduce_mean(const Site& n) { return reduce(n, "mean"); }
Said reduce_sum(const Site& n) { return reduce(n, "sum"); }

Said matrix_product(const Site& n) {
  if (!n.typed(0, Float) || !n.typed(1, Float) || n.rank(0) < 2 || n.rank(1) < 2 || !n.gives(Float)) return {};
  return said(text(n.in(0), ".matmul(", n.in(1), ')'));
}

Said along(const Site& n, std::string_view name) {
  if (!n.typed(0, Float) || !n.gives(Float) || n.rank(0) < 1) return {};
  const std::int64_t axis = n.i("axis", n.node.version < 13 ? 1 : -1);
  // Before version 13 x counted as a matrix of two groups of dimensions.
  if (n.node.version < 13 && axis != n.rank(0) - 1 && axis != -1) return {};
  return said(text(n.in(0), '.', name, '(', axis, ')'));
}
Said softmax(const Site& n) { return along(n, "softmax"); }
Said log_softmax(const Site& n) { return along(n, "log_softmax"); }

Said global_average(const Site& n) {
  if (!n.typed(0, Float) || n.rank(0) < 3 || !n.gives(Float)) return {};
  std::string dims;
  for (int d = 2; d < n.rank(0); ++d) dims += text(", ", d);
  return said(text(n.in(0), ".mean(keep", dims, ')'));
}

Said pool(const Site& n, std::string_view name, bool dilated) {
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
  std::string options = text(".kernel = ", braces(kernel), ", .stride = ", braces(strides));
  if (!is_plain(before, 0) || !is_plain(after, 0)) options += text(", .padding = ", braces(before));
  if (!is_plain(dilations, 1)) options += text(", .dilation = ", braces(dilations));
  if (n.i("ceil_mode", 0)) options += ", .ceil = true";
  if (!dilated && !n.i("count_include_pad", 0)) options += ", .count_padding = false";
  if (before != after) options += text(", .padding_after = ", braces(after));
  return said(text(name, '(', n.in(0), ", {", options, "})"));
}
Said max_pool(const Site& n) { return n.i("storage_order", 0) ? Said() : pool(n, "max_pool", true); }
Said average_pool(const Site& n) { return pool(n, "avg_pool", false); }

struct Row {
  std::string_view op;
  Said (*form)(const Site& n);
  std::string_view method = {};  // in place of a form: one of floats, without options
};
constexpr Row kRows[] = {
    {"Abs", nullptr, "abs"},
    {"Add", add},
    {"AveragePool", average_pool},
    {"Cast", cast},
    {"Ceil", nullptr, "ceil"},
    {"Clip", clip},
    {"Concat", concat},
    {"Cos", nullptr, "cos"},
    {"Div", divide},
    {"Equal", equal},
    {"Erf", nullptr, "erf"},
    {"Exp", nullptr, "exp"},
    {"Flatten", flatten},
    {"Floor", nullptr, "floor"},
    {"Gather", gather},
    {"Gelu", gelu},
    {"GlobalAveragePool", global_average},
    {"Greater", greater},
    {"GreaterOrEqual", greater_or_equal},
    {"HardSwish", nullptr, "hard_swish"},
    {"LeakyRelu", leaky_relu},
    {"Less", less},
    {"LessOrEqual", less_or_equal},
    {"Log", nullptr, "log"},
    {"LogSoftmax", log_softmax},
    {"MatMul", matrix_product},
    {"MaxPool", max_pool},
    {"Mish", nullptr, "mish"},
    {"Mul", multiply},
    {"Neg", negative},
    {"Pow", power},
    {"Reciprocal", nullptr, "recip"},
    {"ReduceMean", reduce_mean},
    {"ReduceSum", reduce_sum},
    {"Relu", nullptr, "relu"},
    {"Reshape", reshape},
    {"Sigmoid", nullptr, "sigmoid"},
    {"Sin", nullptr, "sin"},
    {"Slice", slice},
    {"Softmax", softmax},
    {"Softplus", nullptr, "softplus"},
    {"Softsign", nullptr, "softsign"},
    {"Sqrt", nullptr, "sqrt"},
    {"Squeeze", squeeze},
    {"Sub", subtract},
    {"Tanh", nullptr, "tanh"},
    {"Transpose", transpose},
    {"Unsqueeze", unsqueeze},
    {"Where", where},
};

}  // namespace

Said form_of(const Site& site) {
  if (!site.node.domain.empty()) return {};
  for (const Row& row : kRows)
    if (row.op == site.node.op) return row.form ? row.form(site) : method(site, row.method);
  return {};
}

}  // namespace kiln::onnx::cpp
