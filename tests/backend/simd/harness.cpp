#include "tests/backend/simd/harness.hpp"

#include <algorithm>
#include <cmath>

#include "kiln/core/random.hpp"

namespace kiln::cpu::simd {

namespace {

void each_offset(const Shape& shape, const Dims& strides, const std::function<void(std::int64_t)>& body) {
  const std::int64_t count = numel(shape);
  for (std::int64_t position = 0; position < count; ++position) {
    std::int64_t rest = position, offset = 0;
    for (int i = shape.size() - 1; i >= 0; --i) {
      offset += rest % shape[i] * strides[i];
      rest /= shape[i];
    }
    body(offset);
  }
}

}  // namespace

Dims channels_last(int rank) {
  Dims order{0};
  for (int i = 2; i < rank; ++i) order.push_back(i);
  order.push_back(1);
  return order;
}

Value tensor(DType dtype, const Shape& shape, const std::vector<double>& numbers, Dims order) {
  Dims strides = contiguous_strides(shape);
  if (!order.empty()) {
    std::int64_t step = 1;
    for (int i = order.size() - 1; i >= 0; --i) {
      strides[static_cast<int>(order[i])] = step;
      step *= shape[static_cast<int>(order[i])];
    }
  }
  Value value(make_ref<Node>(Desc{shape, dtype}, Device{}));
  const Array array = allocate(value, strides);
  std::size_t next = 0;
  visit_dtype(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    each_offset(shape, strides, [&](std::int64_t offset) { array.as<T>()[offset] = static_cast<T>(numbers[next++]); });
  });
  return value;
}

Value expanded(const Value& value, const Shape& shape) {
  Value result(make_ref<Node>(Desc{shape, value.dtype()}, value.device()));
  Dims strides = value.node()->strides;
  for (int i = 0; i < shape.size(); ++i)
    if (value.shape()[i] != shape[i]) strides[i] = 0;
  alias(result, value, strides, 0);
  return result;
}

Value every(std::int64_t step, const Value& value) {
  Shape shape = value.shape();
  Dims strides = value.node()->strides;
  shape.back() = (shape.back() + step - 1) / step;
  strides.back() *= step;
  Value result(make_ref<Node>(Desc{shape, value.dtype()}, value.device()));
  alias(result, value, strides, 0);
  return result;
}

Value first_of(const Value& value, const Shape& shape) {
  Value result(make_ref<Node>(Desc{shape, value.dtype()}, value.device()));
  alias(result, value, value.node()->strides, 0);
  return result;
}

std::vector<double> numbers(const Value& value) {
  std::vector<double> result;
  const Array array = read(value);
  visit_dtype(array.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    each_offset(array.shape, array.strides,
                [&](std::int64_t offset) { result.push_back(static_cast<double>(array.as<T>()[offset])); });
  });
  return result;
}

std::vector<double> rounded(DType dtype, std::vector<double> numbers) {
  visit_dtype(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    // Whole numbers keep their low bits, as the kernels do; from a double itself that would be undefined.
    using From = std::conditional_t<std::is_integral_v<T> && !std::is_same_v<T, bool>, std::int64_t, double>;
    for (double& number : numbers) number = static_cast<double>(static_cast<T>(static_cast<From>(number)));
  });
  return numbers;
}

std::vector<double> random_numbers(std::int64_t count, double low, double high, std::uint64_t seed) {
  Random random(seed);
  std::vector<double> result(static_cast<std::size_t>(count));
  for (double& number : result) number = random.uniform(low, high);
  return result;
}

void expect_close(const std::vector<double>& actual, const std::vector<double>& expected, double relative,
                  double absolute) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i) {
    if (std::isnan(expected[i]) && std::isnan(actual[i])) continue;
    if (actual[i] == expected[i]) continue;
    ASSERT_LE(std::abs(actual[i] - expected[i]), relative * std::abs(expected[i]) + absolute)
        << "element " << i << " is " << actual[i] << ", expected " << expected[i];
  }
}

std::int64_t broadcast_position(std::int64_t position, const Shape& shape, const Shape& operand) {
  const Dims strides = contiguous_strides(operand);
  std::int64_t result = 0;
  for (int i = shape.size() - 1, k = operand.size() - 1; k >= 0; --i, --k) {
    if (operand[k] != 1) result += position % shape[i] * strides[k];
    position /= shape[i];
  }
  return result;
}

std::vector<double> expected_of(op::ReduceFn fn, const std::vector<double>& x, const Shape& shape, const Dims& dims) {
  using op::ReduceFn;
  std::int64_t results = 1, count = 1;
  Shape kept = shape;
  for (const auto dim : dims) kept[static_cast<int>(dim)] = 1;
  for (int i = 0; i < shape.size(); ++i) {
    const bool folds = std::find(dims.begin(), dims.end(), i) != dims.end();
    (folds ? count : results) *= shape[i];
  }
  const double start = fn == ReduceFn::Prod ? 1 : fn == ReduceFn::Max ? -INFINITY : fn == ReduceFn::Min ? INFINITY : 0;
  std::vector<double> z(static_cast<std::size_t>(results), start);
  for (std::size_t i = 0; i < x.size(); ++i) {
    double& so_far = z[static_cast<std::size_t>(broadcast_position(static_cast<std::int64_t>(i), shape, kept))];
    if (fn == ReduceFn::Prod) so_far *= x[i];
    else if (fn == ReduceFn::Length) so_far += x[i] * x[i];
    else if (fn == ReduceFn::Max) so_far = std::max(so_far, x[i]);
    else if (fn == ReduceFn::Min) so_far = std::min(so_far, x[i]);
    else so_far += x[i];
  }
  if (fn == ReduceFn::Mean)
    for (double& number : z) number /= static_cast<double>(count);
  if (fn == ReduceFn::Length)
    for (double& number : z) number = std::sqrt(number);
  return z;
}

}  // namespace kiln::cpu::simd
