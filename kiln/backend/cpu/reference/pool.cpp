#include <algorithm>
#include <limits>

#include "kiln/backend/cpu/kernel.hpp"
#include "kiln/backend/cpu/reference/chunk.hpp"
#include "kiln/backend/cpu/reference/window.hpp"
#include "kiln/ops/pool.hpp"

namespace kiln::cpu::reference {
namespace {

using Part = op::AvgPool::Part;

/// The parts of each spatial dimension that an average is taken over; missing dimensions have one of size 1.
struct Parts {
  std::array<std::vector<Part>, 3> of;
  std::array<std::int64_t, 3> sizes{1, 1, 1};  // of the pool's input

  Parts(const op::AvgPool& pool, const Shape& input, const Shape& result) {
    const int count = input.size() - 2;
    for (int i = 0; i < 3; ++i) {
      const auto slot = static_cast<std::size_t>(i);
      const int axis = i - (3 - count);
      if (axis < 0) {
        of[slot] = {Part{0, 1, 1}};
        continue;
      }
      sizes[slot] = input[axis + 2];
      for (std::int64_t k = 0; k < result[axis + 2]; ++k) of[slot].push_back(pool.part(axis, k, sizes[slot]));
    }
  }

  std::int64_t inputs() const { return sizes[0] * sizes[1] * sizes[2]; }
  std::int64_t results() const { return static_cast<std::int64_t>(of[0].size() * of[1].size() * of[2].size()); }

  /// Calls f(result, divisor, each) for every result of a plane; each(g) calls g(input) for what it averages.
  template <class F>
  void each_result(F&& f) const {
    std::int64_t result = 0;
    for (const Part& z : of[0])
      for (const Part& y : of[1])
        for (const Part& x : of[2])
          f(result++, static_cast<double>(z.divisor * y.divisor * x.divisor), [&](auto&& g) {
            for (std::int64_t i = z.begin; i < z.end; ++i)
              for (std::int64_t j = y.begin; j < y.end; ++j)
                for (std::int64_t k = x.begin; k < x.end; ++k) g((i * sizes[1] + j) * sizes[2] + k);
          });
  }
};

}  // namespace

void run(const op::MaxPool& op, Call call) {
  const Array x = read(call.in[0]);
  Value &values = call.out[op::MaxPool::values], &indices = call.out[op::MaxPool::indices];
  const Axes axes = make_axes(op.window, x.shape, values.shape(), op.window.kernel);
  const std::int64_t planes = x.shape[0] * x.shape[1], results = result_size(axes);
  std::int64_t* found = allocate(indices).as<std::int64_t>();
  visit_compute(x.dtype, [&]<class C>(TypeTag<C>) {
    using Limits = std::numeric_limits<C>;
    const RowMajor<C> data(x);
    Result<C> result(values);
    // A window that lies in the padding altogether finds the least number.
    std::fill_n(result.data(), planes * results, Limits::has_infinity ? -Limits::infinity() : Limits::lowest());
    std::fill_n(found, planes * results, std::int64_t{-1});
    for (std::int64_t plane = 0; plane < planes; ++plane) {
      const C* from = data.data() + plane * input_size(axes);
      C* best = result.data() + plane * results;
      std::int64_t* where = found + plane * results;
      each_tap(axes, [&](std::int64_t, std::int64_t at, std::int64_t to) {
        const C element = from[at];
        if (where[to] >= 0 && !(element > best[to]) && (element == element || best[to] != best[to])) return;
        best[to] = element;
        where[to] = at;
      });
    }
    std::replace(found, found + planes * results, std::int64_t{-1}, std::int64_t{0});
    result.store();
  });
}

void run(const op::AvgPool& op, Call call) {
  const Array x = read(call.in[0]);
  const Parts parts(op, x.shape, call.out[0].shape());
  visit_float(x.dtype, [&]<class C>(TypeTag<C>) {
    const RowMajor<C> data(x);
    Result<C> result(call.out[0]);
    for (std::int64_t plane = 0; plane < x.shape[0] * x.shape[1]; ++plane)
      parts.each_result([&](std::int64_t to, double divisor, auto&& each) {
        double sum = 0;
        each([&](std::int64_t at) { sum += static_cast<double>(data[plane * parts.inputs() + at]); });
        result[plane * parts.results() + to] = convert<C>(sum / divisor);
      });
    result.store();
  });
}

void run(const op::AvgPoolGrad& op, Call call) {
  const Array y = read(call.in[0]);
  const Shape& shape = call.out[0].shape();
  const Parts parts(op.pool, shape, y.shape);
  visit_float(y.dtype, [&]<class C>(TypeTag<C>) {
    const RowMajor<C> data(y);
    Result<C> result(call.out[0]);
    std::vector<double> sums(static_cast<std::size_t>(parts.inputs()));
    for (std::int64_t plane = 0; plane < shape[0] * shape[1]; ++plane) {
      std::fill(sums.begin(), sums.end(), 0.0);
      parts.each_result([&](std::int64_t at, double divisor, auto&& each) {
        const double share = static_cast<double>(data[plane * parts.results() + at]) / divisor;
        each([&](std::int64_t to) { sums[static_cast<std::size_t>(to)] += share; });
      });
      for (std::int64_t i = 0; i < parts.inputs(); ++i)
        result[plane * parts.inputs() + i] = convert<C>(sums[static_cast<std::size_t>(i)]);
    }
    result.store();
  });
}

}  // namespace kiln::cpu::reference
