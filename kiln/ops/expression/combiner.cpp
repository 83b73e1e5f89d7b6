#include "kiln/ops/expression/combiner.hpp"

#include "kiln/core/text.hpp"
#include "kiln/ops/expression/parse.hpp"

namespace kiln::expr {
namespace {

/// The length of two: scaled by the larger, so that no square leaves the range of the type. NaN wins, then infinity. Both
/// are made smaller, by a power of two, before one that is over 2^100 divides: GLSL and WGSL give no quotient of numbers
/// above 2^126.
std::string length_of_two() {
  const std::string_view large = "max(abs(x), abs(y))";
  const std::string scale = text("select(", large, " > 1.2676506002282294e30, 5.421010862427522e-20, 1)");
  const std::string ratio = text("(min(abs(x), abs(y)) * ", scale, " / (", large, " * ", scale, "))");
  return text("select(is_finite(", large, ") & (", large, " > 0), ", large, " * sqrt(1 + ", ratio, " * ", ratio, "), ",
              large, ")");
}

Combiner make(std::string_view identity, std::string_view combine, std::string_view finish = "x") {
  const Variable pair[] = {{"x"}, {"y"}}, all[] = {{"x"}, {"n"}};
  return {parse(identity, {}), parse(combine, pair), parse(finish, all)};
}

Tree make_replaces(std::string_view beyond) {
  const Variable scope[] = {{"x"}, {"i", Type::Word}, {"y"}, {"j", Type::Word}};
  return parse(text("(is_nan(y) & !is_nan(x)) | ", beyond, " | (((x == y) | (is_nan(x) & is_nan(y))) & (j < i))"),
               scope);
}

}  // namespace

const Combiner& combiner(op::ReduceFn fn) {
  // Indexed by ReduceFn.
  static const Combiner kCombiners[] = {
      make("0", "x + y"),
      make("0", "x + y", "x / n"),
      make("1", "x * y"),
      make("lowest", "max(x, y)"),
      make("highest", "min(x, y)"),
      make("0", "select((x != 0) | (y != 0), 1, 0)"),
      make("1", "select((x != 0) & (y != 0), 1, 0)"),
      make("0", length_of_two(), "abs(x)"),
  };
  return kCombiners[static_cast<std::size_t>(fn)];
}

const Combiner& combiner(op::ScanFn fn) {
  static const Combiner kLogSumExp =
      make("-infinity", "select(is_finite(max(x, y)), max(x, y) + log1p(exp(min(x, y) - max(x, y))), max(x, y))");
  switch (fn) {
    case op::ScanFn::Sum: return combiner(op::ReduceFn::Sum);
    case op::ScanFn::Prod: return combiner(op::ReduceFn::Prod);
    case op::ScanFn::Max: return combiner(op::ReduceFn::Max);
    case op::ScanFn::Min: return combiner(op::ReduceFn::Min);
    case op::ScanFn::LogSumExp: break;
  }
  return kLogSumExp;
}

DType accumulator(op::ReduceFn fn, DType dtype) {
  const bool adds = fn == op::ReduceFn::Sum || fn == op::ReduceFn::Mean || fn == op::ReduceFn::Prod;
  return adds && !is_float(dtype) ? DType::I64 : computed_in(dtype);
}
DType accumulator(op::ScanFn fn, DType dtype) {
  const bool adds = fn == op::ScanFn::Sum || fn == op::ScanFn::Prod;
  return adds && !is_float(dtype) ? DType::I64 : computed_in(dtype);
}

const Tree& replaces(op::ArgFn fn) { return replaces(fn == op::ArgFn::ArgMax ? op::ScanFn::Max : op::ScanFn::Min); }
const Tree& replaces(op::ScanFn fn) {
  static const Tree kMax = make_replaces("(y > x)"), kMin = make_replaces("(y < x)");
  return fn == op::ScanFn::Max ? kMax : kMin;
}

const RecurrenceStep& recurrence() {
  static const Variable kScope[] = {{"a"}, {"b"}, {"c"}, {"d"}};
  static const RecurrenceStep kStep{parse("c * a", kScope), parse("c * b + d", kScope)};
  return kStep;
}

}  // namespace kiln::expr
