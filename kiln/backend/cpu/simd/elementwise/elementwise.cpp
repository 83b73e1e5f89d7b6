// Single elementwise ops: each is a program of one step (fused_tiles.hpp), whose result takes the memory order of its
// operands.
#include <algorithm>

#include "kiln/backend/cpu/simd/blocks.hpp"
#include "kiln/backend/cpu/simd/elementwise/fused_tiles.hpp"
#include "kiln/backend/cpu/simd/elementwise/stream.hpp"
#include "kiln/ops/elementwise/enumerators.hpp"

namespace kiln::cpu::simd {
namespace {

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

/// Runs a step whose operands are read as `types`. Its result may lie where an operand does that is not read
/// afterwards, unless the step reads an element after it has written it.
template <class Op>
void run_alone(const Op& op, const TileStep& step, std::span<const DType> types, Call call) {
  Value& result = call.out[0];
  const Dims order = follow_order(result.shape(), call.in);
  bool in_place = false;
  if constexpr (std::is_same_v<Op, op::Unary> || std::is_same_v<Op, op::Binary>)
    for (std::size_t i = 0; i < call.in.size() && !in_place; ++i) in_place = reuse_memory(result, order, call, i);
  const FusedResult made{allocate(result, order), in_place};
  const auto bytes = made.array.numel() * static_cast<std::int64_t>(size_of(made.array.dtype));
  const FusedCall alone{.in = call.in,
                        .inputs = types,
                        .whole = made.array,
                        .results = {&made, 1},
                        // The elements that were read from there are in the caches.
                        .streams = !in_place && bytes >= kStreamedBytes};
  std::size_t widest = size_of(made.array.dtype);
  for (const DType type : types) widest = std::max(widest, size_of(type));
  run_tiles({&step, 1}, 0, alone, grain_of(cost_of(op), widest));
}

/// Numbers beside tensors of halves are floats: only one that a half holds may be taken for one.
template <class T>
bool is_held(const Value& value) {
  if (!value.is_scalar()) return true;
  const auto number = value.scalar().to<float>();
  return static_cast<float>(T(number)) == number;
}
bool is_held(const Value& value, DType half) {
  return half == DType::F16 ? is_held<F16>(value) : half == DType::BF16 && is_held<BF16>(value);
}

/// A float beside an integer tensor would lose its fraction.
bool fits(const Value& number, DType dtype) {
  return !number.is_scalar() || number.scalar().kind() != Kind::Float || is_float(dtype);
}

}  // namespace

std::int64_t cost_of(const op::Unary& op) { return kUnaryIsCostly[static_cast<std::size_t>(op.fn)] ? kCostly : 1; }
std::int64_t cost_of(const op::Binary& op) { return kBinaryIsCostly[static_cast<std::size_t>(op.fn)] ? kCostly : 1; }

bool run(const op::Unary& op, Call call) {
  const DType types[] = {call.in[0].dtype()};
  const DType out = call.out[0].dtype();
  TileStep step = tile_step(op, types, out, true);
  if (!step.call) step = tile_step(op, types, out);
  if (step.call) run_alone(op, step, types, call);
  return step.call;
}

bool run(const op::Binary& op, Call call) {
  const DType dtype = call.in[call.in[0].is_scalar() ? 1 : 0].dtype(), out = call.out[0].dtype();
  if (!fits(call.in[0], dtype) || !fits(call.in[1], dtype)) return false;
  const DType types[] = {dtype, dtype};
  TileStep step;
  if (is_held(call.in[0], dtype) && is_held(call.in[1], dtype)) step = tile_step(op, types, out, true);
  if (!step.call) step = tile_step(op, types, out);
  if (step.call) run_alone(op, step, types, call);
  return step.call;
}

bool run(const op::Where& op, Call call) {
  const DType out = call.out[0].dtype();
  const DType types[] = {DType::Bool, out, out};
  run_alone(op, tile_step(op, types, out), types, call);
  return true;
}

bool run(const op::Cast& op, Call call) {
  const DType types[] = {call.in[0].dtype()};
  run_alone(op, tile_step(op, types, op.to), types, call);
  return true;
}

}  // namespace kiln::cpu::simd
