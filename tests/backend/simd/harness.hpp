// What the tests of SIMD kernels share: tensors with any memory order, and a sweep over targets and thread counts.
#pragma once
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <vector>

#include "kiln/backend/cpu/kernel.hpp"
#include "kiln/backend/cpu/simd/simd.hpp"

namespace kiln::cpu::simd {

/// Calls body once for each instruction set that was compiled and that this machine has.
void for_each_target(const std::function<void()>& body);

/// The numbers in row-major order, in memory whose outermost dimension is order[0] (row-major where left out).
Value tensor(DType dtype, const Shape& shape, const std::vector<double>& numbers, Dims order = {});
/// The order of `rank` dimensions in which channels, the second of them, lie side by side.
Dims channels_last(int rank);
/// The same memory repeated along dimensions of size 1.
Value expanded(const Value& value, const Shape& shape);
/// Every `step`-th element of the last dimension.
Value every(std::int64_t step, const Value& value);
/// The first elements of each dimension, `shape` of them, in the memory of the whole.
Value first_of(const Value& value, const Shape& shape);
/// The elements in row-major order.
std::vector<double> numbers(const Value& value);
/// As the element type stores them.
std::vector<double> rounded(DType dtype, std::vector<double> numbers);

/// Runs an op; fails the test where no SIMD kernel takes it.
template <class T>
Value run_op(const T& op, std::vector<Value> in, int results = 1, int which = 0) {
  std::vector<Value> out;
  Device device;
  for (const Value& value : in)
    if (value.node()) device = value.device();
  const Descs descs = op.infer(in);
  for (int i = 0; i < results; ++i) out.push_back(Value(make_ref<Node>(descs[i], device)));
  EXPECT_TRUE(run(op, Call{in, out}));
  return out[static_cast<std::size_t>(which)];
}

/// `count` numbers in [low, high), the same every time.
std::vector<double> random_numbers(std::int64_t count, double low, double high, std::uint64_t seed = 1);

/// |actual - expected| <= relative * |expected| + absolute for all, NaN equal to NaN.
void expect_close(const std::vector<double>& actual, const std::vector<double>& expected, double relative,
                  double absolute = 0);

/// Index [i, j, ...] of element `position` in row-major order, and back for a shape that broadcasts to `shape`.
std::int64_t broadcast_position(std::int64_t position, const Shape& shape, const Shape& operand);

/// What a reduction gives, from its definition: in row-major order, in double.
std::vector<double> expected_of(op::ReduceFn fn, const std::vector<double>& x, const Shape& shape, const Dims& dims);

}  // namespace kiln::cpu::simd
