// Comparisons, booleans, bits and choices.
#include "kiln/onnx/operators/broadcast.hpp"
#include "kiln/ops/elementwise/enumerators.hpp"
#include "kiln/ops/elementwise/numbers.hpp"

namespace kiln::onnx {
namespace {

template <Value (*function)(const Value&, const Value&)>
Results compare(Call& c) {
  const auto [a, b] = operands(c);
  return function(a, b);
}

Results equal(Call& c) {
  if (!c.datum(0).is_string()) return compare<eq>(c);
  // Equal strings under one number.
  Strings all = c.datum(0).strings();
  const std::size_t first = all.size();
  const Strings second = c.datum(1).strings();
  all.insert(all.end(), second.begin(), second.end());
  Strings sorted;
  const Ints ranks = ranks_of(all, sorted);
  const auto side = [&](int i, std::size_t from, std::size_t count) {
    const std::span<const std::int64_t> part(ranks.data() + from, count);
    return from_data(TensorData::of<std::int64_t>(c[i].shape(), part), c.device());
  };
  return eq(side(0, 0, first), side(1, first, second.size()));
}

Results choose(Call& c) {
  const std::vector<Datum> sides = with_one_list({c.datum(1), c.datum(2)});
  return sides[0].like(where(c[0], sides[0].value(), sides[1].value()));
}

Results is_infinite(Call& c) {
  const bool positive = c.i("detect_positive", 1) != 0, negative = c.i("detect_negative", 1) != 0;
  if (positive && negative) return is_inf(c[0]);
  if (positive) return is_posinf(c[0]);
  if (negative) return is_neginf(c[0]);
  return zeros(c[0].shape(), c.device(), DType::Bool);
}

Results shift(Call& c) {
  const std::string direction = c.s("direction", "");
  c.check(direction == "LEFT" || direction == "RIGHT", "direction '", direction, "' is neither LEFT nor RIGHT");
  return direction == "LEFT" ? shift_left(c[0], c[1]) : shift_right(c[0], c[1]);
}

using op::BinaryFn;
using op::UnaryFn;
constexpr OperatorRow kLogicRows[] = {
    {"And", 1, compare<logical_and>, traits_of(BinaryFn::LogicalAnd)},
    {"BitShift", 11, shift, {.kind = OperatorKind::Broadcasting}},
    {"BitwiseAnd", 18, compare<bitwise_and>, traits_of(BinaryFn::BitwiseAnd)},
    {"BitwiseNot", 18, result_of<bitwise_not>, traits_of(UnaryFn::BitwiseNot)},
    {"BitwiseOr", 18, compare<bitwise_or>, traits_of(BinaryFn::BitwiseOr)},
    {"BitwiseXor", 18, compare<bitwise_xor>, traits_of(BinaryFn::BitwiseXor)},
    {"Equal", 1, equal, traits_of(BinaryFn::Equal)},
    {"Greater", 1, compare<gt>, traits_of(BinaryFn::Greater)},
    {"GreaterOrEqual", 12, compare<ge>, traits_of(BinaryFn::GreaterEqual)},
    {"IsInf", 10, is_infinite, traits_of(UnaryFn::IsInf)},
    {"IsNaN", 9, result_of<is_nan>, traits_of(UnaryFn::IsNan)},
    {"Less", 1, compare<lt>, traits_of(BinaryFn::Less)},
    {"LessOrEqual", 12, compare<le>, traits_of(BinaryFn::LessEqual)},
    {"Not", 1, result_of<logical_not>, traits_of(UnaryFn::LogicalNot)},
    {"Or", 1, compare<logical_or>, traits_of(BinaryFn::LogicalOr)},
    {"Where", 9, choose, {.kind = OperatorKind::Broadcasting}},
    {"Xor", 1, compare<logical_xor>, traits_of(BinaryFn::LogicalXor)},
};

}  // namespace

std::span<const OperatorRow> logic_rows() { return kLogicRows; }

}  // namespace kiln::onnx
