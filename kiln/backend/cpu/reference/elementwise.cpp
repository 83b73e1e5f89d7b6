#include <algorithm>

#include "kiln/backend/cpu/reference/chunk.hpp"
#include "kiln/backend/cpu/reference/reference.hpp"
#include "kiln/core/parallel.hpp"
#include "kiln/ops/elementwise/elementwise_ops.hpp"
#include "kiln/ops/elementwise/enumerators.hpp"
#include "kiln/ops/elementwise/scalar_math.hpp"

namespace kiln::cpu::reference {
namespace {

constexpr std::int64_t kChunk = 256, kGrain = 32768;

/// Computes z = f(operands) in chunks: f(operands' chunks, count, z's chunk), all of type C.
template <class C, int N, class F>
void map(const Array& z, const std::array<const Array*, N>& operands, F&& f) {
  std::array<Dims, N + 1> strides{z.strides};
  for (std::size_t k = 0; k < N; ++k) strides[k + 1] = operands[k]->strides;
  const Rows<N + 1> rows(z.shape, strides);
  const auto& steps = rows.steps();
  C chunks[N][kChunk], result[kChunk];
  rows.each([&](const auto& offsets) {
    for (std::int64_t begin = 0; begin < rows.length(); begin += kChunk) {
      const std::int64_t count = std::min(kChunk, rows.length() - begin);
      for (std::size_t k = 0; k < N; ++k)
        load(*operands[k], offsets[k + 1] + begin * steps[k + 1], steps[k + 1], count, chunks[k]);
      f(chunks, count, result);
      store(result, count, z, offsets[0] + begin * steps[0], steps[0]);
    }
  });
}

template <class C>
constexpr bool computes(op::Domain domain) {
  switch (domain) {
    case op::Domain::Float: return std::is_floating_point_v<C>;
    case op::Domain::Integer: return std::is_integral_v<C>;
    case op::Domain::Bool: return std::is_same_v<C, std::int64_t>;
    case op::Domain::Number:
    case op::Domain::Any: return true;
  }
  return false;
}

// A row of elementwise.def as a loop. Predicates and comparisons give 0 and 1.
#define KILN_UNARY_LOOP(Name, domain, value)                                                             \
  case op::UnaryFn::Name:                                                                                \
    if constexpr (computes<C>(op::Domain::domain)) {                                                     \
      using Number = Computed<C, wraps(#value)>;                                                         \
      for (std::int64_t i = 0; i < count; ++i) z[i] = [](Number x) { return convert<C>(value); }(xs[i]); \
    }                                                                                                    \
    return;
#define KILN_BINARY_LOOP(Name, domain, value)                                      \
  case op::BinaryFn::Name:                                                         \
    if constexpr (computes<C>(op::Domain::domain)) {                               \
      using Number = Computed<C, wraps(#value)>;                                   \
      for (std::int64_t i = 0; i < count; ++i)                                     \
        z[i] = [](Number x, Number y) { return convert<C>(value); }(xs[i], ys[i]); \
    }                                                                              \
    return;

template <class C>
void apply(op::UnaryFn fn, const C* xs, std::int64_t count, C* z) {
  using namespace scalar_math;
  switch (fn) {
#define KILN_UNARY(Name, function, domain, value, gradient) KILN_UNARY_LOOP(Name, domain, value)
#define KILN_PREDICATE(Name, function, domain, value) KILN_UNARY_LOOP(Name, domain, value)
#define KILN_BINARY(...)
#define KILN_COMPARISON(...)
#include "kiln/ops/elementwise/elementwise.def"
  }
}

template <class C>
void apply(op::BinaryFn fn, const C* xs, const C* ys, std::int64_t count, C* z) {
  using namespace scalar_math;
  switch (fn) {
#define KILN_UNARY(...)
#define KILN_PREDICATE(...)
#define KILN_BINARY(Name, function, domain, value, grad_x, grad_y) KILN_BINARY_LOOP(Name, domain, value)
#define KILN_COMPARISON(Name, function, domain, value) KILN_BINARY_LOOP(Name, domain, value)
#include "kiln/ops/elementwise/elementwise.def"
  }
}

#undef KILN_UNARY_LOOP
#undef KILN_BINARY_LOOP

/// Returns the type of a plain number beside a tensor: beside halves it keeps the digits that a half lacks.
DType number_dtype(DType dtype) { return is_float(dtype) && dtype != DType::F64 ? DType::F32 : dtype; }

Array allocate_like_operands(Call call) { return allocate(call.out[0], follow_order(call.out[0].shape(), call.in)); }

}  // namespace

template <>
void run(const op::Unary& op, Call call) {
  const Array x = read(call.in[0]), z = allocate_like_operands(call);
  // The complement of a boolean has one bit, not 64.
  const bool one_bit = op.fn == op::UnaryFn::BitwiseNot && x.dtype == DType::Bool;
  const op::UnaryFn fn = one_bit ? op::UnaryFn::LogicalNot : op.fn;
  visit_compute(x.dtype, [&]<class C>(TypeTag<C>) {
    map<C, 1>(z, {&x}, [&](auto& in, std::int64_t count, C* out) { apply(fn, in[0], count, out); });
  });
}

template <>
void run(const op::Binary& op, Call call) {
  const Array z = allocate_like_operands(call);
  const DType dtype = (call.in[0].is_scalar() ? call.in[1] : call.in[0]).dtype();
  const ChunkOperand x(call.in[0], number_dtype(dtype), z.shape), y(call.in[1], number_dtype(dtype), z.shape);
  visit_compute(dtype, [&]<class C>(TypeTag<C>) {
    map<C, 2>(z, {&x.array(), &y.array()},
              [&](auto& in, std::int64_t count, C* out) { apply(op.fn, in[0], in[1], count, out); });
  });
}

template <>
void run(const op::Where&, Call call) {
  const Array z = allocate_like_operands(call);
  const ChunkOperand condition(call.in[op::Where::condition], DType::Bool, z.shape),
      x(call.in[op::Where::x], z.dtype, z.shape), y(call.in[op::Where::y], z.dtype, z.shape);
  visit_compute(z.dtype, [&]<class C>(TypeTag<C>) {
    map<C, 3>(z, {&condition.array(), &x.array(), &y.array()}, [](auto& in, std::int64_t count, C* out) {
      for (std::int64_t i = 0; i < count; ++i) out[i] = in[0][i] != 0 ? in[1][i] : in[2][i];
    });
  });
}

template <>
void run(const op::Within& op, Call call) {
  const Array x = read(call.in[0]);
  visit_compute(x.dtype, [&]<class C>(TypeTag<C>) {
    const auto check = [&](std::int64_t at, std::int64_t step, std::int64_t all) {
      C chunk[kChunk];
      for (std::int64_t begin = 0; begin < all; begin += kChunk) {
        const std::int64_t count = std::min(kChunk, all - begin);
        load(x, at + begin * step, step, count, chunk);
        for (std::int64_t i = 0; i < count; ++i)
          require<ArgumentError>(!(chunk[i] < op.low || chunk[i] > op.high), op::Within::kName, ": ", chunk[i],
                                 " is outside [", op.low, ", ", op.high, "]");
      }
    };
    if (x.contiguous()) {
      parallel_for(x.numel(), kGrain, [&](std::int64_t begin, std::int64_t end) { check(begin, 1, end - begin); });
    } else {
      const Rows<1> rows(x.shape, {x.strides});
      rows.each([&](const auto& offsets) { check(offsets[0], rows.steps()[0], rows.length()); });
    }
  });
  alias(call.out[0], call.in[0], x.strides, call.in[0].node()->offset);
}

template <>
void run(const op::Cast&, Call call) {
  const Array x = read(call.in[0]), z = allocate_like_operands(call);
  visit_compute(x.dtype, [&]<class C>(TypeTag<C>) {
    map<C, 1>(z, {&x}, [](auto& in, std::int64_t count, C* out) { std::copy_n(in[0], count, out); });
  });
}

}  // namespace kiln::cpu::reference
