// Elementwise ops: the result takes the memory order of its operands and is cut into pieces for the threads; within a
// piece, the row's function runs over the longest runs that all operands can serve.
#include <algorithm>

#include "kiln/backend/cpu/algorithm.hpp"
#include "kiln/backend/cpu/pieces.hpp"
#include "kiln/backend/cpu/simd/blocks.hpp"
#include "kiln/backend/cpu/simd/elementwise/operand.hpp"
#include "kiln/backend/cpu/simd/elementwise/select.hpp"
#include "kiln/backend/cpu/simd/elementwise/stream.hpp"
#include "kiln/core/parallel.hpp"
#include "kiln/ops/elementwise/elementwise_ops.hpp"
#include "kiln/ops/elementwise/enumerators.hpp"

namespace kiln::cpu::simd {
namespace {

constexpr std::int64_t kCostlyGrain = 4096;  // elements of a function that computes

std::int64_t grain_of(bool costly, DType dtype) {
  return costly ? kCostlyGrain : kBytesWorthAThread / static_cast<std::int64_t>(size_of(dtype));
}

constexpr bool kUnaryIsCostly[] = {
#define KILN_UNARY(Name, function, domain, value, gradient) is_costly(#value),
#define KILN_PREDICATE(Name, function, domain, value) is_costly(#value),
#define KILN_BINARY(...)
#define KILN_COMPARISON(...)
#include "kiln/ops/elementwise/elementwise.def"
};
constexpr bool kBinaryIsCostly[] = {
#define KILN_UNARY(...)
#define KILN_PREDICATE(...)
#define KILN_BINARY(Name, function, domain, value, grad_x, grad_y) is_costly(#value),
#define KILN_COMPARISON(Name, function, domain, value) is_costly(#value),
#include "kiln/ops/elementwise/elementwise.def"
};

Array allocate_like(Call call) { return allocate(call.out[0], follow_order(call.out[0].shape(), call.in)); }
/// Where a result goes, and whether past the caches.
struct Target {
  Array array;
  bool streams;
};
/// Where an operand lies that is not read afterwards, if there is one: what was read from there is in the caches.
Target allocate_in_place(Call call) {
  Value& result = call.out[0];
  const Dims strides = follow_order(result.shape(), call.in);
  for (std::size_t i = 0; i < call.in.size(); ++i)
    if (take_memory(result, strides, call, i)) return {allocate(result, strides), false};
  const Array array = allocate(result, strides);
  return {array, array.numel() * static_cast<std::int64_t>(size_of(array.dtype)) >= kStreamedBytes};
}

/// The type of number that a tensor of `dtype` is computed in here; nothing where there is none.
template <class F>
bool visit_computed(DType dtype, F&& f) {
  switch (dtype) {
    case DType::F64: f(TypeTag<double>{}, DType::F64); return true;
    case DType::F32:
    case DType::F16:
    case DType::BF16: f(TypeTag<float>{}, DType::F32); return true;
    case DType::I64: f(TypeTag<std::int64_t>{}, dtype); return true;
    case DType::I32: f(TypeTag<std::int32_t>{}, dtype); return true;
    case DType::I16: f(TypeTag<std::int16_t>{}, dtype); return true;
    case DType::U16: f(TypeTag<std::uint16_t>{}, dtype); return true;
    // What they wrap around to are the low bits of the wider result.
    case DType::U32: f(TypeTag<std::int64_t>{}, DType::I64); return true;
    case DType::I8: f(TypeTag<std::int8_t>{}, dtype); return true;
    case DType::U8:
    case DType::Bool: f(TypeTag<std::uint8_t>{}, dtype); return true;
    default: return false;
  }
}

/// Calls block(position, count, out) over all of `result` with `limit(position, count)` elements at a time. Results
/// come as `computed` and are rounded to the type of `result` where that is narrower.
template <class Limit, class Block>
void each_block(const Target& goal, DType computed, std::int64_t begin, std::int64_t end, Limit&& limit,
                Block&& block) {
  const auto& [result, streams] = goal;
  const bool rounds = result.dtype != computed && result.dtype != DType::Bool;
  const auto size = static_cast<std::int64_t>(size_of(result.dtype));
  alignas(kVectorBytes) std::byte made[kBlock * 8], rounded[kBlock * 4];
  for (std::int64_t at = begin; at < end;) {
    const std::int64_t count = limit(at, rounds || streams ? std::min(end - at, kBlock) : end - at);
    std::byte* const target = result.data + at * size;
    block(at, count, rounds || streams ? made : target);
    if (rounds) convert(computed, made, result.dtype, streams ? rounded : target, count);
    if (streams) stream(rounds ? rounded : made, target, count * size);
    at += count;
  }
  if (streams) finish_streaming();
}

template <class T>
bool run_unary(op::UnaryFn fn, Call call, DType computed) {
  const UnaryBlock<T> function = unary_block<T>(fn);
  if (!function) return false;
  const Target goal = allocate_in_place(call);
  const Array& result = goal.array;
  const Operand x(call.in[0], result, computed);
  const std::int64_t grain = grain_of(kUnaryIsCostly[static_cast<std::size_t>(fn)], computed);
  parallel_for(result.numel(), grain, [&](std::int64_t begin, std::int64_t end) {
    Feed<T> feed(x);
    each_block(
        goal, computed, begin, end, [&](std::int64_t at, std::int64_t count) { return feed.limit(at, count); },
        [&](std::int64_t at, std::int64_t count, void* out) {
          const Run<T> run = feed.read(at, count);
          function(run.data, run.step, out, static_cast<std::size_t>(count));
        });
  });
  return true;
}

/// Short rows that all three have side by side, as those of a slice are: a call for each takes less than bringing many of
/// them together. False where they are not like that.
template <class T>
bool run_short_rows(BinaryBlock<T> function, Call call, const Array& result, std::int64_t grain) {
  constexpr std::int64_t kShortest = 12, kLongest = 256;
  for (const Value& operand : call.in)
    if (operand.is_scalar() || operand.dtype() != dtype_of<T>) return false;
  const Array x = broadcast_to(read(call.in[0]), result.shape), y = broadcast_to(read(call.in[1]), result.shape);
  const Rows<3> rows(result.shape, {result.strides, x.strides, y.strides});
  const std::int64_t length = rows.length();
  if (rows.count() < 2 || length < kShortest || length >= kLongest) return false;
  if (rows.steps() != std::array<std::int64_t, 3>{1, 1, 1}) return false;
  const auto size = static_cast<std::int64_t>(size_of(result.dtype));
  parallel_for(rows.count(), std::max<std::int64_t>(1, grain / length), [&](std::int64_t begin, std::int64_t end) {
    rows.each(begin, end, [&](const auto& offsets) {
      function(x.as<T>() + offsets[1], 1, y.as<T>() + offsets[2], 1, result.data + offsets[0] * size,
               static_cast<std::size_t>(length));
    });
  });
  return true;
}

template <class T>
bool run_binary(op::BinaryFn fn, Call call, DType computed) {
  const BinaryBlock<T> function = binary_block<T>(fn);
  if (!function) return false;
  const Target goal = allocate_in_place(call);
  const Array& result = goal.array;
  const Operand x(call.in[0], result, computed), y(call.in[1], result, computed);
  const std::int64_t grain = grain_of(kBinaryIsCostly[static_cast<std::size_t>(fn)], computed);
  const bool gathers = x.access() == Operand::Access::Gathered || y.access() == Operand::Access::Gathered;
  const bool tries_rows = gathers && !goal.streams && !is_left_out(Algorithm::ShortRows);
  if (tries_rows && run_short_rows(function, call, result, grain)) return true;
  parallel_for(result.numel(), grain, [&](std::int64_t begin, std::int64_t end) {
    Feed<T> x_feed(x), y_feed(y);
    each_block(
        goal, computed, begin, end,
        [&](std::int64_t at, std::int64_t count) { return y_feed.limit(at, x_feed.limit(at, count)); },
        [&](std::int64_t at, std::int64_t count, void* out) {
          const Run<T> x_run = x_feed.read(at, count), y_run = y_feed.read(at, count);
          function(x_run.data, x_run.step, y_run.data, y_run.step, out, static_cast<std::size_t>(count));
        });
  });
  return true;
}

template <class Word>
void run_where(Call call) {
  const Array result = allocate_like(call);
  const Operand condition(call.in[op::Where::condition], result, DType::Bool);
  const Operand x(call.in[op::Where::x], result, result.dtype), y(call.in[op::Where::y], result, result.dtype);
  parallel_for(result.numel(), grain_of(false, result.dtype), [&](std::int64_t begin, std::int64_t end) {
    Feed<std::uint8_t> chooser(condition);
    Feed<Word> x_feed(x), y_feed(y);
    for (std::int64_t at = begin; at < end;) {
      const std::int64_t count = y_feed.limit(at, x_feed.limit(at, chooser.limit(at, end - at)));
      select_block(chooser.read(at, count), x_feed.read(at, count), y_feed.read(at, count), result.as<Word>() + at,
                   count);
      at += count;
    }
  });
}

template <class Word>
void run_cast(Call call, DType from) {
  const Array result = allocate_like(call);
  const Operand x(call.in[0], result, from);
  const auto size = static_cast<std::int64_t>(size_of(result.dtype));
  parallel_for(result.numel(), kBytesWorthAThread / std::max(size, static_cast<std::int64_t>(sizeof(Word))),
               [&](std::int64_t begin, std::int64_t end) {
                 Feed<Word> feed(x);
                 for (std::int64_t at = begin; at < end;) {
                   // A constant run holds one vector only.
                   const bool constant = feed.read(at, 1).step == 0;
                   const std::int64_t lanes = kVectorBytes / static_cast<std::int64_t>(sizeof(Word));
                   const std::int64_t count = feed.limit(at, constant ? std::min(end - at, lanes) : end - at);
                   convert(from, feed.read(at, count).data, result.dtype, result.data + at * size, count);
                   at += count;
                 }
               });
}

template <class F>
void visit_word(DType dtype, F&& f) {
  switch (size_of(dtype)) {
    case 1: return f(TypeTag<std::uint8_t>{});
    case 2: return f(TypeTag<std::uint16_t>{});
    case 4: return f(TypeTag<std::uint32_t>{});
    case 8: return f(TypeTag<std::uint64_t>{});
  }
  KILN_CHECK(false);
}

/// A whole number beside integers that are computed in a wider type: what it is in theirs.
Value in_type_of(DType dtype, const Value& value) {
  if (!value.is_scalar() || !is_integer(dtype)) return value;
  return visit_dtype(dtype, [&]<class T>(TypeTag<T>) {
    if constexpr (std::is_integral_v<T> && sizeof(T) < 8)
      return Value(static_cast<std::int64_t>(value.scalar().to<T>()));
    else return value;
  });
}

/// Calls f for halves; false for other types.
template <class F>
bool visit_half(DType dtype, F&& f) {
  if (dtype == DType::F16) return f(TypeTag<F16>{}, dtype);
  return dtype == DType::BF16 && f(TypeTag<BF16>{}, dtype);
}
/// Numbers beside tensors of halves are floats: only one that a half holds may be taken for one.
template <class T>
bool is_held(const Value& value) {
  if (!value.is_scalar()) return true;
  const auto number = value.scalar().to<float>();
  return static_cast<float>(T(number)) == number;
}

// A float beside an integer tensor would lose its fraction.
bool fits(const Value& number, DType dtype) {
  return !number.is_scalar() || number.scalar().kind() != Kind::Float || is_float(dtype);
}

}  // namespace

bool run(const op::Unary& op, Call call) {
  bool done = visit_half(call.in[0].dtype(),
                         [&]<class T>(TypeTag<T>, DType dtype) { return run_unary<T>(op.fn, call, dtype); });
  if (done) return true;
  visit_computed(call.in[0].dtype(),
                 [&]<class T>(TypeTag<T>, DType computed) { done = run_unary<T>(op.fn, call, computed); });
  return done;
}

bool run(const op::Binary& op, Call call) {
  const DType dtype = call.in[call.in[0].is_scalar() ? 1 : 0].dtype();
  if (!fits(call.in[0], dtype) || !fits(call.in[1], dtype)) return false;
  if (op.fn == op::BinaryFn::Div && call.in[1].is_scalar())
    if (const std::optional<double> inverse = exact_inverse(call.in[1].scalar())) {
      const Value in[] = {call.in[0], *inverse};
      return run(op::Binary{op::BinaryFn::Mul}, {in, call.out, call.last_uses});
    }
  bool done = visit_half(dtype, [&]<class T>(TypeTag<T>, DType half) {
    return is_held<T>(call.in[0]) && is_held<T>(call.in[1]) && run_binary<T>(op.fn, call, half);
  });
  if (done) return true;
  const Value in[] = {in_type_of(dtype, call.in[0]), in_type_of(dtype, call.in[1])};
  const Call wider{call.in[0].is_scalar() || call.in[1].is_scalar() ? Inputs(in) : call.in, call.out, call.last_uses};
  visit_computed(dtype, [&]<class T>(TypeTag<T>, DType computed) { done = run_binary<T>(op.fn, wider, computed); });
  return done;
}

bool run(const op::Where&, Call call) {
  visit_word(call.out[0].dtype(), [&]<class Word>(TypeTag<Word>) { run_where<Word>(call); });
  return true;
}

bool run(const op::Cast&, Call call) {
  const DType from = call.in[0].dtype();
  visit_word(from, [&]<class Word>(TypeTag<Word>) { run_cast<Word>(call, from); });
  return true;
}

}  // namespace kiln::cpu::simd
