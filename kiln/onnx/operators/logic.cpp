// Comparisons, booleans, bits and choices.
#include <algorithm>

#include "kiln/onnx/operators/broadcast.hpp"
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
  std::vector<Value> sides;
  Strings all = c.datum(0).strings();
  const std::size_t first = all.size();
  const Strings second = c.datum(1).strings();
  all.insert(all.end(), second.begin(), second.end());
  Strings sorted = all;
  std::sort(sorted.begin(), sorted.end());
  Ints ranks;
  for (const std::string& word : all)
    ranks.push_back(std::lower_bound(sorted.begin(), sorted.end(), word) - sorted.begin());
  const auto side = [&](int i, std::size_t from, std::size_t count) {
    const std::span<const std::int64_t> part(ranks.data() + from, count);
    return from_data(TensorData::of<std::int64_t>(c[i].shape(), part), c.device());
  };
  return eq(side(0, 0, first), side(1, first, second.size()));
}

Results choose(Call& c) {
  const std::vector<Datum> sides = with_one_list({c.datum(1), c.datum(2)});
  const Value result = where(c[0], sides[0].value(), sides[1].value());
  return sides[0].is_string() ? Datum(result, sides[0].string_list()) : Datum(result, sides[0].element());
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

constexpr Row kLogicRows[] = {
    {"And", 1, compare<logical_and>},
    {"BitShift", 11, shift},
    {"BitwiseAnd", 18, compare<bitwise_and>},
    {"BitwiseNot", 18, [](Call& c) -> Results { return bitwise_not(c[0]); }},
    {"BitwiseOr", 18, compare<bitwise_or>},
    {"BitwiseXor", 18, compare<bitwise_xor>},
    {"Equal", 1, equal},
    {"Greater", 1, compare<gt>},
    {"GreaterOrEqual", 12, compare<ge>},
    {"IsInf", 10, is_infinite},
    {"IsNaN", 9, [](Call& c) -> Results { return is_nan(c[0]); }},
    {"Less", 1, compare<lt>},
    {"LessOrEqual", 12, compare<le>},
    {"Not", 1, [](Call& c) -> Results { return logical_not(c[0]); }},
    {"Or", 1, compare<logical_or>},
    {"Where", 9, choose},
    {"Xor", 1, compare<logical_xor>},
};

}  // namespace

std::span<const Row> logic_rows() { return kLogicRows; }

}  // namespace kiln::onnx
