// The tree of each row, evaluated, against what the compilers made of the same row: op::evaluate and the reference
// kernels, in every element type.
#include <algorithm>

#include <gtest/gtest.h>

#include "kiln/core/convert.hpp"
#include "kiln/ops/emit.hpp"
#include "kiln/ops/expression/evaluate.hpp"
#include "kiln/ops/expression/rows.hpp"
#include "kiln/ops/functions.hpp"
#include "kiln/ops/op.hpp"
#include "tests/ops/expression/operands.hpp"

namespace kiln::expr {
namespace {

/// In C++ a constant like 0.5 is a double, and makes doubles of the floats beside it; in a tree it is of their type.
bool has_fractions(const Tree& tree) {
  for (const Node& node : tree.nodes)
    if (node.kind == Node::Kind::Literal && node.text.find('.') != std::string::npos) return true;
  return false;
}

template <class T>
T value(const Tree& tree, std::initializer_list<T> in) {
  std::vector<Cell<T>> cells;
  for (const T number : in) cells.push_back({.number = number});
  const Cell<T> result = evaluate<T>(tree, cells);
  return tree.root().type == Type::Bool ? static_cast<T>(result.word) : result.number;
}

template <class E, class T>
E as_element(T computed) {
  if constexpr (std::is_integral_v<E> && !std::is_same_v<E, bool>) return static_cast<E>(computed);
  else return convert<E>(computed);
}

/// Numbers of the element type E, as what they are computed in.
template <class E>
std::vector<E> elements(int random) {
  if constexpr (std::is_same_v<E, bool>) return {false, true, true, false};
  else if constexpr (is_half<E>) {
    std::vector<E> result;
    for (const float value : operands<float>(random)) result.push_back(E(value));
    return result;
  } else {
    return operands<E>(random);
  }
}

template <class E>
TensorData tensor(const std::vector<E>& values) {
  TensorData data({static_cast<std::int64_t>(values.size())}, dtype_of<E>);
  std::copy(values.begin(), values.end(), data.as<E>().begin());
  return data;
}

struct Tally {
  std::string where;
  int wrong = 0;
  std::size_t compared = 0;
  ~Tally() {
    EXPECT_EQ(wrong, 0) << where;
    EXPECT_GT(compared, 0u) << where;
  }
  template <class T, class... In>
  void compare(T found, T expected, bool exactly, double scale, double tolerance, In... in) {
    ++compared;
    if (exactly ? same(found, expected) : distance(found, expected, scale) <= tolerance) return;
    if (++wrong > 3) return;
    ADD_FAILURE() << where << ((" " + shown(in)) + ...) << ": " << shown(found) << ", expected " << shown(expected);
  }
};

constexpr int kRandom = 150;

/// The pairs of a row of two operands: everything with everything.
template <class E>
void pairs(std::vector<E>& x, std::vector<E>& y) {
  const std::vector<E> few = x;
  x.clear();
  for (const E a : few)
    for (const E b : few) {
      x.push_back(a);
      y.push_back(b);
    }
}

template <class Fn, class E>
void expect_reference(Fn fn) {
  constexpr bool kTwo = std::is_same_v<Fn, op::BinaryFn>;
  const Device device = Device::parse("reference");
  std::vector<E> x = elements<E>(kTwo ? 20 : kRandom), y;
  if constexpr (kTwo) pairs(x, y);
  Value result;
  if constexpr (kTwo) result = emit(op::Binary{fn}, {from_data(tensor(x), device), from_data(tensor(y), device)});
  else result = emit(op::Unary{fn}, {from_data(tensor(x), device)});
  const TensorData expected = result.data();
  const Tree& row = tree(fn);
  const DType dtype = dtype_of<E>;
  const bool exactly = !is_float(dtype) || dtype == DType::F64 || !has_fractions(row);
  const double tolerance = dtype == DType::F16 ? 0x1p-10 : dtype == DType::BF16 ? 0x1p-7 : 1e-6;
  Tally tally{text(op::name(fn), " of ", dtype)};
  visit_computed(dtype, [&]<class T>(TypeTag<T>) {
    for (std::size_t i = 0; i < x.size(); ++i) {
      const T a = static_cast<T>(x[i]);
      T found;
      if constexpr (kTwo) found = value<T>(row, {a, static_cast<T>(y[i])});
      else found = value<T>(row, {a});
      const double scale = std::abs(static_cast<double>(a));
      const auto compare = [&](auto got, auto want) {
        if constexpr (kTwo) tally.compare(got, want, exactly, scale, tolerance, a, static_cast<T>(y[i]));
        else tally.compare(got, want, exactly, scale, tolerance, a);
      };
      if (op::yields_bool(fn)) compare(static_cast<int>(found != 0), static_cast<int>(expected.as<bool>()[i]));
      else if constexpr (is_half<E>) compare(static_cast<float>(E(found)), static_cast<float>(expected.as<E>()[i]));
      else compare(as_element<E>(found), expected.as<E>()[i]);
    }
  });
}

template <class Fn>
void expect_reference_in_all_types(Fn fn) {
  for (const DType dtype : kElements)
    if (computes(op::domain(fn), dtype) && !(dtype == DType::Bool && op::name(fn) == "bitwise_not"))
      visit_dtype(dtype, [&]<class E>(TypeTag<E>) { expect_reference<Fn, E>(fn); });
}

TEST(ExpressionRows, AreWhatTheReferenceComputes) {
  for (std::size_t i = 0; i < enumerator_count(op::UnaryFn()); ++i)
    expect_reference_in_all_types(static_cast<op::UnaryFn>(i));
  for (std::size_t i = 0; i < enumerator_count(op::BinaryFn()); ++i)
    expect_reference_in_all_types(static_cast<op::BinaryFn>(i));
}

template <class T, class Fn>
void expect_evaluated(Fn fn) {
  Tally tally{text(op::name(fn), " of ", dtype_of<T>, " as numbers")};
  const std::vector<T> numbers = operands<T>(kRandom);
  for (const T a : numbers) {
    if constexpr (std::is_same_v<Fn, op::UnaryFn>) {
      tally.compare(value<T>(tree(fn), {a}), op::evaluate(fn, a).template to<T>(), true, 0, 0, a);
    } else {
      for (const T b : numbers)
        tally.compare(value<T>(tree(fn), {a, b}), op::evaluate(fn, a, b).template to<T>(), true, 0, 0, a, b);
    }
  }
}

template <class Fn>
void expect_evaluated_as_both(Fn fn) {
  if (op::domain(fn) != op::Domain::Integer) expect_evaluated<double>(fn);
  if (op::domain(fn) != op::Domain::Float) expect_evaluated<std::int64_t>(fn);
}

TEST(ExpressionRows, AreWhatPlainNumbersGive) {
  for (std::size_t i = 0; i < enumerator_count(op::UnaryFn()); ++i)
    expect_evaluated_as_both(static_cast<op::UnaryFn>(i));
  for (std::size_t i = 0; i < enumerator_count(op::BinaryFn()); ++i)
    expect_evaluated_as_both(static_cast<op::BinaryFn>(i));
}

}  // namespace
}  // namespace kiln::expr
