// Combiners evaluated, in random trees of pairs, against the reference's reductions and scans.
#include <algorithm>
#include <cmath>

#include "kiln/ops/expression/combiner.hpp"

#include <gtest/gtest.h>

#include "kiln/ops/emit.hpp"
#include "kiln/ops/expression/evaluate.hpp"
#include "kiln/ops/functions.hpp"
#include "kiln/ops/op.hpp"
#include "tests/ops/expression/operands.hpp"

namespace kiln::expr {
namespace {

template <class T>
T of(const Tree& tree, std::initializer_list<T> in) {
  std::vector<Cell<T>> cells;
  for (const T number : in) cells.push_back({.number = number});
  return evaluate<T>(tree, cells).number;
}

/// Elements that fold differently when one goes missing, some with edges among them.
template <class E>
std::vector<E> elements(unsigned seed, bool edgy) {
  std::mt19937 engine(seed);
  std::vector<E> values;
  for (int i = 0; i < 17; ++i) {
    if constexpr (std::is_same_v<E, bool>) values.push_back(seed % 3 ? engine() % 8 == 0 : engine() % 8 != 0);
    else if constexpr (std::is_integral_v<E>) values.push_back(static_cast<E>(engine()));
    else values.push_back(static_cast<E>(static_cast<double>(engine() % 4000) / 1000 - 2));
  }
  if constexpr (std::is_floating_point_v<E>) {
    using Limits = std::numeric_limits<E>;
    const E special[] = {Limits::quiet_NaN(), Limits::infinity(), -Limits::infinity()};
    if (edgy) values[engine() % 17] = special[seed % 3];
    if (edgy && seed % 2) values[engine() % 17] = special[seed / 2 % 3];
  }
  return values;
}

template <class E>
Value tensor(const std::vector<E>& values) {
  TensorData data({static_cast<std::int64_t>(values.size())}, dtype_of<E>);
  std::copy(values.begin(), values.end(), data.as<E>().begin());
  return from_data(std::move(data), Device::parse("reference"));
}

/// [begin, end) folded as a tree that is cut anywhere.
template <class T>
T fold(const Combiner& combiner, std::span<const T> values, std::mt19937& engine) {
  if (values.empty()) return of<T>(combiner.identity, {});
  if (values.size() == 1)
    return engine() % 2 ? values[0] : of<T>(combiner.combine, {values[0], of<T>(combiner.identity, {})});
  const std::size_t middle = engine() % (values.size() + 1);
  if (middle == 0 || middle == values.size())
    return of<T>(combiner.combine, {fold<T>(combiner, values.first(values.size() / 2), engine),
                                    fold<T>(combiner, values.subspan(values.size() / 2), engine)});
  return of<T>(combiner.combine,
               {fold<T>(combiner, values.first(middle), engine), fold<T>(combiner, values.subspan(middle), engine)});
}

template <class T, class E>
std::vector<T> widened(const std::vector<E>& values) {
  return {values.begin(), values.end()};
}

constexpr double kClose = 1e-5;

/// Element i of `expected`, as its type holds `found`.
template <class T>
void expect_element(T found, const TensorData& expected, std::size_t i, const std::string& what) {
  double held = 0, reference = 0;
  visit_dtype(expected.dtype(), [&]<class R>(TypeTag<R>) {
    held = static_cast<double>(static_cast<R>(found));
    reference = static_cast<double>(expected.as<R>()[i]);
  });
  EXPECT_LE(distance(held, reference, 1.0), is_float(expected.dtype()) ? kClose : 0) << what << '[' << i << ']';
}

template <class E>
void expect_reduced(op::ReduceFn fn, unsigned seed) {
  const std::vector<E> values = elements<E>(seed, seed % 2 == 1);
  const TensorData expected = emit(op::Reduce{fn, {0}}, {tensor(values)}).data();
  std::mt19937 engine(seed);
  visit_computed(accumulator(fn, dtype_of<E>), [&]<class T>(TypeTag<T>) {
    const Combiner& by = combiner(fn);
    const T found = of<T>(by.finish, {fold<T>(by, widened<T>(values), engine), static_cast<T>(values.size())});
    expect_element(found, expected, 0, text(op::name(fn), " of ", dtype_of<E>, ", seed ", seed));
  });
}

TEST(Combiners, FoldAsReductionsDoInAnyTree) {
  using op::ReduceFn;
  for (unsigned seed = 0; seed < 40; ++seed) {
    for (const ReduceFn fn : {ReduceFn::Sum, ReduceFn::Prod, ReduceFn::Max, ReduceFn::Min}) {
      expect_reduced<double>(fn, seed);
      expect_reduced<float>(fn, seed);
      expect_reduced<std::int64_t>(fn, seed);
      expect_reduced<std::int32_t>(fn, seed);
      expect_reduced<std::int8_t>(fn, seed);
      expect_reduced<std::uint8_t>(fn, seed);
      if (fn == ReduceFn::Max || fn == ReduceFn::Min) {
        expect_reduced<std::uint64_t>(fn, seed);
        expect_reduced<std::uint32_t>(fn, seed);
      }
    }
    expect_reduced<double>(ReduceFn::Mean, seed);
    expect_reduced<float>(ReduceFn::Mean, seed);
    expect_reduced<double>(ReduceFn::Length, seed);
    expect_reduced<float>(ReduceFn::Length, seed);
    expect_reduced<bool>(ReduceFn::Any, seed);
    expect_reduced<bool>(ReduceFn::All, seed);
  }
}

TEST(Combiners, HaveIdentities) {
  using op::ReduceFn;
  for (const ReduceFn fn : {ReduceFn::Sum, ReduceFn::Mean, ReduceFn::Prod, ReduceFn::Max, ReduceFn::Min})
    for (const DType dtype : kComputed)
      visit_computed(dtype, [&]<class T>(TypeTag<T>) {
        for (const T x : edges<T>()) {
          const T none = of<T>(combiner(fn).identity, {});
          EXPECT_TRUE(of<T>(combiner(fn).combine, {x, none}) == x || x != x) << op::name(fn) << " of " << shown(x);
          EXPECT_TRUE(of<T>(combiner(fn).combine, {none, x}) == x || x != x) << op::name(fn) << " of " << shown(x);
        }
      });
}

template <class E>
void expect_scanned(op::ScanFn fn, unsigned seed) {
  const std::vector<E> values = elements<E>(seed, seed % 2 == 1);
  Values results = emit_all(op::Scan{fn, 0}, {tensor(values)});
  const TensorData expected = results[0].data();
  std::mt19937 engine(seed);
  visit_computed(accumulator(fn, dtype_of<E>), [&]<class T>(TypeTag<T>) {
    const std::vector<T> wide = widened<T>(values);
    for (std::size_t i = 0; i < wide.size(); ++i) {
      const T found = fold<T>(combiner(fn), std::span(wide).first(i + 1), engine);
      expect_element(found, expected, i, text(op::name(fn), " of ", dtype_of<E>, ", seed ", seed));
    }
  });
}

TEST(Combiners, FoldAsScansDoInAnyTree) {
  using op::ScanFn;
  for (unsigned seed = 0; seed < 20; ++seed) {
    for (const ScanFn fn : {ScanFn::Sum, ScanFn::Prod, ScanFn::Max, ScanFn::Min}) {
      expect_scanned<double>(fn, seed);
      expect_scanned<float>(fn, seed);
      expect_scanned<std::int32_t>(fn, seed);
      expect_scanned<std::uint8_t>(fn, seed);
    }
    expect_scanned<double>(ScanFn::LogSumExp, seed);
    expect_scanned<float>(ScanFn::LogSumExp, seed);
  }
}

struct Found {
  double value;
  std::uint32_t place;
};

/// The extreme of [begin, end), by pairs in any order.
Found extreme(const Tree& tree, std::span<const double> values, std::uint32_t first, std::mt19937& engine) {
  if (values.size() == 1) return {values[0], first};
  const std::size_t middle = 1 + engine() % (values.size() - 1);
  Found x = extreme(tree, values.first(middle), first, engine);
  Found y = extreme(tree, values.subspan(middle), first + static_cast<std::uint32_t>(middle), engine);
  if (engine() % 2) std::swap(x, y);
  const Cell<double> in[] = {{x.value, 0}, {0, x.place}, {y.value, 0}, {0, y.place}};
  return evaluate<double>(tree, in).word ? y : x;
}

TEST(Combiners, FindTheFirstExtremeInAnyOrder) {
  for (unsigned seed = 0; seed < 60; ++seed) {
    std::vector<double> values = elements<double>(seed, seed % 2 == 1);
    if (seed % 4 == 0)  // ties
      for (double& value : values) value = std::round(value);
    if (seed % 4 == 3) values[3] = values[11] = std::numeric_limits<double>::quiet_NaN();
    std::mt19937 engine(seed);
    for (const op::ArgFn fn : {op::ArgFn::ArgMax, op::ArgFn::ArgMin}) {
      const TensorData expected = emit(op::ArgReduce{fn, 0}, {tensor(values)}).data();
      EXPECT_EQ(extreme(replaces(fn), values, 0, engine).place, expected.as<std::int64_t>()[0])
          << op::name(fn) << ", seed " << seed;
    }
    for (const op::ScanFn fn : {op::ScanFn::Max, op::ScanFn::Min}) {
      const TensorData expected = emit_all(op::Scan{fn, 0}, {tensor(values)})[1].data();
      for (std::size_t i = 0; i < values.size(); ++i)
        EXPECT_EQ(extreme(replaces(fn), std::span(values).first(i + 1), 0, engine).place,
                  expected.as<std::int64_t>()[i])
            << op::name(fn) << "[" << i << "], seed " << seed;
    }
  }
}

/// y -> slope y + offset, for the steps of [begin, end).
std::pair<double, double> steps(std::span<const double> a, std::span<const double> b, std::mt19937& engine) {
  if (a.size() == 1) return {a[0], b[0]};
  const std::size_t middle = 1 + engine() % (a.size() - 1);
  const auto first = steps(a.first(middle), b.first(middle), engine),
             then = steps(a.subspan(middle), b.subspan(middle), engine);
  const std::initializer_list<double> in = {first.first, first.second, then.first, then.second};
  return {of<double>(recurrence().slope, in), of<double>(recurrence().offset, in)};
}

TEST(Combiners, FoldRecurrencesAsPairs) {
  std::mt19937 engine(3);
  const std::vector<double> a = elements<double>(4, false), b = elements<double>(6, false);
  const TensorData expected = emit(op::Recurrence{0}, {tensor(a), tensor(b)}).data();
  for (std::size_t i = 0; i < a.size(); ++i)
    EXPECT_LE(distance(steps(std::span(a).first(i + 1), std::span(b).first(i + 1), engine).second,
                       expected.as<double>()[i], 1.0),
              1e-9);
}

}  // namespace
}  // namespace kiln::expr
