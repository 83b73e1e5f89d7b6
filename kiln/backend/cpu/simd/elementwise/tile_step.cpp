// The steps of tiles: which function a step calls, in which type, and how it gets its operands.
#include "kiln/backend/cpu/simd/blocks.hpp"
#include "kiln/backend/cpu/simd/elementwise/fused_tiles.hpp"
#include "kiln/backend/cpu/simd/elementwise/select.hpp"
#include "kiln/backend/cpu/simd/elementwise/through_float32.hpp"
#include "kiln/backend/cpu/simd/elementwise/tile_source.hpp"
#include "kiln/ops/elementwise/enumerators.hpp"

namespace kiln::cpu::simd {
namespace {

template <class T>
Run<T> as(const Tile& tile) {
  return {static_cast<const T*>(tile.data), tile.step};
}

/// Calls f with the type that elements of `dtype` are computed in, and its name; gives a step that cannot run where
/// there is none.
template <class F>
TileStep visit_computed(DType dtype, bool in_halves, F&& f) {
  switch (dtype) {
    case DType::F64: return f(TypeTag<double>{}, dtype);
    case DType::F32: return f(TypeTag<float>{}, dtype);
    case DType::F16:
      if (in_halves) return f(TypeTag<F16>{}, dtype);
      return f(TypeTag<float>{}, DType::F32);
    case DType::BF16:
      if (in_halves) return f(TypeTag<BF16>{}, dtype);
      return f(TypeTag<float>{}, DType::F32);
    case DType::I64: return f(TypeTag<std::int64_t>{}, dtype);
    case DType::I32: return f(TypeTag<std::int32_t>{}, dtype);
    case DType::I16: return f(TypeTag<std::int16_t>{}, dtype);
    case DType::U16: return f(TypeTag<std::uint16_t>{}, dtype);
    // Their wrapped results are the low bits of the wider result.
    case DType::U32: return f(TypeTag<std::int64_t>{}, DType::I64);
    case DType::I8: return f(TypeTag<std::int8_t>{}, dtype);
    case DType::U8:
    case DType::Bool: return f(TypeTag<std::uint8_t>{}, dtype);
    default: return {};
  }
}

template <class Block>
TileStep step_of(Block function, TileStep::Call call, std::uint8_t arity, DType computed, DType out) {
  TileStep step;
  if (!function) return step;
  step.call = call;
  step.function = reinterpret_cast<void (*)()>(function);
  step.reads = {computed, computed, computed};
  step.makes = out == DType::Bool ? out : computed;
  step.stored = out;
  step.arity = arity;
  return step;
}

template <class T>
void call_unary(const TileStep& step, const Tile* const* operands, void* out, std::int64_t n) {
  const Run<T> x = as<T>(*operands[0]);
  reinterpret_cast<UnaryBlock<T>>(step.function)(x.data, x.step, out, static_cast<std::size_t>(n));
}
template <class T>
void call_binary(const TileStep& step, const Tile* const* operands, void* out, std::int64_t n) {
  const Run<T> x = as<T>(*operands[0]), y = as<T>(*operands[1]);
  const auto function = reinterpret_cast<BinaryBlock<T>>(operands[1]->inverted ? step.multiply : step.function);
  function(x.data, x.step, y.data, y.step, out, static_cast<std::size_t>(n));
}
template <class Word>
void call_where(const TileStep&, const Tile* const* operands, void* out, std::int64_t n) {
  select_block(as<std::uint8_t>(*operands[op::Where::condition]), as<Word>(*operands[op::Where::x]),
               as<Word>(*operands[op::Where::y]), static_cast<Word*>(out), n);
}
void call_cast(const TileStep& step, const Tile* const* operands, void* out, std::int64_t n) {
  convert(step.reads[0], operands[0]->data, step.stored, out, operands[0]->step ? n : 1);
  if (!operands[0]->step) repeat_first(out, size_of(step.stored), n);
}

}  // namespace

TileStep tile_step(const op::Unary& op, std::span<const DType> in, DType out, bool in_halves) {
  return visit_computed(in[0], in_halves, [&]<class T>(TypeTag<T>, DType computed) {
    return step_of(unary_block<T>(op.fn), call_unary<T>, 1, computed, out);
  });
}

TileStep tile_step(const op::Binary& op, std::span<const DType> in, DType out, bool in_halves) {
  return visit_computed(in[0], in_halves, [&]<class T>(TypeTag<T>, DType computed) {
    TileStep step = step_of(binary_block<T>(op.fn), call_binary<T>, 2, computed, out);
    if (op.fn == op::BinaryFn::Div) step.multiply = reinterpret_cast<void (*)()>(binary_block<T>(op::BinaryFn::Mul));
    return step;
  });
}

TileStep tile_step(const op::Where&, std::span<const DType>, DType out) {
  TileStep step;
  switch (size_of(out)) {
    case 1: step.call = call_where<std::uint8_t>; break;
    case 2: step.call = call_where<std::uint16_t>; break;
    case 4: step.call = call_where<std::uint32_t>; break;
    case 8: step.call = call_where<std::uint64_t>; break;
  }
  step.reads = {DType::Bool, out, out};
  step.makes = step.stored = out;
  step.arity = 3;
  return step;
}

TileStep tile_step(const op::Cast&, std::span<const DType> in, DType out) {
  TileStep step;
  step.call = call_cast;
  step.reads = {in[0], in[0], in[0]};
  step.makes = step.stored = out;
  return step;
}

}  // namespace kiln::cpu::simd
