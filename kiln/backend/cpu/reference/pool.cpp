#include <algorithm>
#include <array>
#include <limits>

#include "kiln/backend/cpu/reference/chunk.hpp"
#include "kiln/backend/cpu/reference/reference.hpp"
#include "kiln/ops/spatial/pool_ops.hpp"

namespace kiln::cpu::reference {
namespace {

/// The part of the input that each result of a pool reads, by spatial dimension; missing dimensions have one of size 1.
template <class Pool>
struct WindowParts {
  using Part = typename Pool::WindowPart;
  std::array<std::vector<Part>, 3> of;
  std::array<std::int64_t, 3> sizes{1, 1, 1};  // of the pool's input

  WindowParts(const Pool& pool, const Shape& input, const Shape& result) {
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

  /// Calls f(result, z, y, x) with the parts of every result of a plane.
  template <class F>
  void each_result(F&& f) const {
    std::int64_t result = 0;
    for (const Part& z : of[0])
      for (const Part& y : of[1])
        for (const Part& x : of[2]) f(result++, z, y, x);
  }
  /// Calls f(input) for every element of a window, in row-major order.
  template <class F>
  void each_input(const Part& z, const Part& y, const Part& x, F&& f) const {
    for (std::int64_t i = z.begin; i < z.end; i += step(z))
      for (std::int64_t j = y.begin; j < y.end; j += step(y))
        for (std::int64_t k = x.begin; k < x.end; k += step(x)) f((i * sizes[1] + j) * sizes[2] + k);
  }

 private:
  static std::int64_t step(const Part& part) {
    if constexpr (requires { part.step; }) return part.step;
    else return 1;
  }
};

using Part = op::AvgPool::WindowPart;
double divisor(const Part& z, const Part& y, const Part& x) {
  return static_cast<double>(z.divisor * y.divisor * x.divisor);
}

}  // namespace

template <>
void run(const op::MaxPool& op, Call call) {
  const Array x = read(call.in[0]);
  Value& values = call.out[op::MaxPool::values];
  std::int64_t* found = op.indexed ? allocate(call.out[op::MaxPool::indices]).as<std::int64_t>() : nullptr;
  visit_compute(x.dtype, [&]<class C>(TypeTag<C>) {
    using Limits = std::numeric_limits<C>;
    const auto is_nan = [](C number) {
      if constexpr (std::is_floating_point_v<C>) return number != number;
      else return false;
    };
    const RowMajor<C> data(x);
    Result<C> result(values);
    if (values.numel() == 0) return;
    const WindowParts parts(op, x.shape, values.shape());
    for (std::int64_t plane = 0; plane < x.shape[0] * x.shape[1]; ++plane) {
      const C* from = data.data() + plane * parts.inputs();
      parts.each_result([&](std::int64_t at, const auto& pz, const auto& py, const auto& px) {
        // Takes the first of equal elements, and NaN before numbers. A window without elements gives the least number.
        C best = Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
        std::int64_t where = -1;
        parts.each_input(pz, py, px, [&](std::int64_t i) {
          const C element = from[i];
          if (where >= 0 && !(element > best) && (!is_nan(element) || is_nan(best))) return;
          best = element;
          where = i;
        });
        result[plane * parts.results() + at] = best;
        if (found) found[plane * parts.results() + at] = std::max<std::int64_t>(where, 0);
      });
    }
    result.store();
  });
}

template <>
void run(const op::MaxPoolGrad& op, Call call) {
  const Array y = read(call.in[op::MaxPoolGrad::y]);
  const std::int64_t planes = y.shape[0] * y.shape[1];
  const std::int64_t inputs = planes ? call.out[0].numel() / planes : 0, results = planes ? y.numel() / planes : 0;
  visit_float(y.dtype, [&]<class C>(TypeTag<C>) {
    const RowMajor<C> data(y);
    const RowMajor<std::int64_t> indices(read(call.in[op::MaxPoolGrad::indices]));
    Sums<C> sums(call.out[0], planes);
    for (std::int64_t plane = 0; plane < planes; ++plane, sums.next())
      for (std::int64_t i = plane * results; i < (plane + 1) * results; ++i) {
        require<IndexError>(indices[i] >= 0 && indices[i] < inputs, "max_pool_grad: index ", indices[i],
                            " is out of range for ", op.sizes);
        sums[plane * inputs + indices[i]] += static_cast<double>(data[i]);
      }
    sums.store();
  });
}

template <>
void run(const op::AvgPool& op, Call call) {
  const Array x = read(call.in[0]);
  const WindowParts parts(op, x.shape, call.out[0].shape());
  visit_float(x.dtype, [&]<class C>(TypeTag<C>) {
    const RowMajor<C> data(x);
    const std::int64_t planes = x.shape[0] * x.shape[1];
    Sums<C> means(call.out[0], planes);
    for (std::int64_t plane = 0; plane < planes; ++plane, means.next())
      parts.each_result([&](std::int64_t to, const Part& z, const Part& y, const Part& w) {
        double& mean = means[plane * parts.results() + to];
        parts.each_input(z, y, w,
                         [&](std::int64_t at) { mean += static_cast<double>(data[plane * parts.inputs() + at]); });
        mean /= divisor(z, y, w);
      });
    means.store();
  });
}

template <>
void run(const op::AvgPoolGrad& op, Call call) {
  const Array y = read(call.in[0]);
  const Shape& shape = call.out[0].shape();
  const WindowParts parts(op.pool, shape, y.shape);
  visit_float(y.dtype, [&]<class C>(TypeTag<C>) {
    const RowMajor<C> data(y);
    const std::int64_t planes = shape[0] * shape[1];
    Sums<C> sums(call.out[0], planes);
    for (std::int64_t plane = 0; plane < planes; ++plane, sums.next())
      parts.each_result([&](std::int64_t at, const Part& z, const Part& w, const Part& x) {
        const double share = static_cast<double>(data[plane * parts.results() + at]) / divisor(z, w, x);
        parts.each_input(z, w, x, [&](std::int64_t to) { sums[plane * parts.inputs() + to] += share; });
      });
    sums.store();
  });
}

}  // namespace kiln::cpu::reference
