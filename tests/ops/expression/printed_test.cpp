// The text of each row in C++, compiled, against its tree and against the row as the compiler took it: in every type
// that numbers are computed in, at the edges and at random.
#include "tests/ops/expression/printed.hpp"
#include "kiln/ops/elementwise/enumerators.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "kiln/ops/expression/evaluate.hpp"
#include "kiln/ops/expression/rows.hpp"
#include "tests/ops/expression/operands.hpp"
#include "tests/ops/expression/portable.hpp"

namespace kiln::expr {
namespace {

template <class T>
void operands_of(const PrintedRow& row, std::vector<T>& x, std::vector<T>& y) {
  const std::vector<T> few = operands<T>(row.operands == 2 ? 30 : 1000, 7);
  if (row.dtype == static_cast<int>(DType::I32) && row.operands == 2 &&
      op::domain(static_cast<op::BinaryFn>(row.fn)) == op::Domain::Bool) {
    x = {0, 0, 1, 1};
    y = {0, 1, 0, 1};
    return;
  }
  for (const T a : few)
    for (const T b : row.operands == 2 ? few : std::vector<T>{T{}}) {
      x.push_back(a);
      y.push_back(b);
    }
}

std::string_view function_of(const PrintedRow& row) {
  return row.operands == 1 ? op::name(static_cast<op::UnaryFn>(row.fn)) : op::name(static_cast<op::BinaryFn>(row.fn));
}
std::string name_of(const PrintedRow& row) {
  return text(row.set, " ", function_of(row), " of ", static_cast<DType>(row.dtype));
}
const Tree& tree_of(const PrintedRow& row) {
  return row.operands == 1 ? tree(static_cast<op::UnaryFn>(row.fn)) : tree(static_cast<op::BinaryFn>(row.fn));
}

/// What `dialect` makes of the tree (null: the functions of scalar_math.hpp).
template <class T>
T value(const Tree& tree, T x, T y, const Dialect* dialect) {
  const Cell<T> in[] = {{.number = x}, {.number = y}};
  const Cell<T> result = evaluate<T>(tree, in, dialect);
  return tree.root().type == Type::Bool ? static_cast<T>(result.word) : result.number;
}

template <class T>
void expect_tree(const PrintedRow& row) {
  const Dialect& dialect = std::strcmp(row.set, "native") == 0 ? kCpp : portable();
  std::vector<T> x, y;
  operands_of(row, x, y);
  std::vector<T> out(x.size());
  row.run(x.data(), y.data(), out.data(), static_cast<long>(x.size()));
  int wrong = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const T expected = value(tree_of(row), x[i], y[i], &dialect);
    if (!same(out[i], expected) && ++wrong <= 3)
      ADD_FAILURE() << name_of(row) << " of " << shown(x[i]) << ", " << shown(y[i]) << ": " << shown(out[i])
                    << ", the tree says " << shown(expected);
  }
}

TEST(PrintedRows, AreWhatTheirTreesSay) {
  int count = 0;
  for (const PrintedRow* row = kPrintedRows; row->set; ++row, ++count)
    visit_computed(static_cast<DType>(row->dtype), [&]<class T>(TypeTag<T>) { expect_tree<T>(*row); });
  // Twice 42 rows of floats alone in two types, and more of the others in six.
  EXPECT_GT(count, 2 * (42 * 2 + 30 * 6));
}

template <class T>
bool is_small(T x) {
  if constexpr (std::is_floating_point_v<T>) return std::abs(x) < std::numeric_limits<T>::min();
  return false;
}

/// What the errors of a row are measured by where that is larger than its value: what it takes from each other.
double scale_of(std::string_view name, double x, double y) {
  if (name == "gelu" || name == "gelu_tanh" || name == "tanhshrink") return std::abs(x);
  if (name == "digamma" || name == "gelu_slope" || (name == "polygamma" && x == 0)) return 1;
  // Below 0, the terms on both sides of y.
  if (name == "polygamma" && y < 0)
    return std::abs(op::evaluate(op::BinaryFn::Polygamma, x, 1 + y - std::ceil(y)).to<double>());
  return 0;
}

/// How far the text may be from the row: functions differ in their last bits, powers of float32 in more.
template <class T>
void expect_row(const PrintedRow& row) {
  std::vector<T> x, y;
  operands_of(row, x, y);
  std::vector<T> out(x.size());
  row.run(x.data(), y.data(), out.data(), static_cast<long>(x.size()));
  const bool exactly = std::is_integral_v<T>;
  const double tolerance = sizeof(T) == 8 ? 3e-13 : function_of(row) == "polygamma" ? 1e-4 : 3e-5;
  const std::string_view name = function_of(row);
  int wrong = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    // Beyond this order the factorial leaves float64, and infinities are taken from each other.
    if (name == "polygamma" && x[i] > 170) continue;
    const T expected = value<T>(tree_of(row), x[i], y[i], nullptr);
    const double scale = scale_of(name, static_cast<double>(x[i]), static_cast<double>(y[i]));
    double off = exactly ? !same(out[i], expected) : distance(out[i], expected, scale);
    // Devices may take subnormal numbers for 0.
    if (!exactly && is_small(out[i]) && is_small(expected)) off = 0;
    if (off > (exactly ? 0 : tolerance) && ++wrong <= 4)
      ADD_FAILURE() << name_of(row) << " of " << shown(x[i]) << ", " << shown(y[i]) << ": " << shown(out[i])
                    << ", expected " << shown(expected) << " (off by " << off << ")";
  }
}

TEST(PrintedRows, AreWhatTheCompilerMakesOfTheRows) {
  for (const PrintedRow* row = kPrintedRows; row->set; ++row)
    visit_computed(static_cast<DType>(row->dtype), [&]<class T>(TypeTag<T>) { expect_row<T>(*row); });
}

}  // namespace
}  // namespace kiln::expr
