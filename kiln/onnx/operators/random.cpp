// Random numbers. A node with a seed gives the same numbers in every run; without, they come from the device's stream.
#include "kiln/ops/create/random.hpp"

#include <bit>
#include <cmath>

#include "kiln/onnx/operators/broadcast.hpp"

namespace kiln::onnx {
namespace {

RandomKey key_of(const Call& c) {
  if (!c.given("seed")) return {};
  const auto seed = static_cast<std::uint64_t>(std::bit_cast<std::uint32_t>(static_cast<float>(c.f("seed", 0))));
  return Key(seed);
}

// Numbers of the shape and type of the operand, or of those that attributes give.
template <bool is_normal, bool like>
Results random_numbers(Call& c) {
  const Shape shape = like ? c[0].shape() : to_shape(c.ints("shape"));
  const Element type = c.element("dtype", like ? c.datum(0).element() : Element::Float);
  const DType drawn = type == Element::Double ? DType::F64 : DType::F32;
  const Value numbers = is_normal ? normal(shape, c.f("mean", 0), c.f("scale", 1), c.device(), drawn, key_of(c))
                                  : uniform(shape, c.f("low", 0), c.f("high", 1), c.device(), drawn, key_of(c));
  return cast_to(numbers, type);
}

Results draw_bernoulli(Call& c) {
  const Value draws = bernoulli(c[0], key_of(c));
  return cast_to(draws, c.element("dtype", c.datum(0).element()));
}

Results draw_multinomial(Call& c) {
  const Value& logits = c[0];
  c.check(logits.rank() == 2, "logits of shape ", logits.shape());
  const std::int64_t count = c.i("sample_size", 1);
  c.check(count >= 1, "sample_size is ", count);
  return cast_to(multinomial(softmax(cast(logits, DType::F32), 1), count, true, key_of(c)),
                 c.element("dtype", Element::Int32));
}

// Dropout drops elements up to version 6 unless is_test; from 7 to 11 never; later if training_mode is true.
Results dropout_of(Call& c) {
  const Value& x = c[0];
  const bool training = c.version() < 7 ? c.i("is_test", 0) == 0 : c.has(2) && c.number(2) != 0;
  const double ratio = c.version() < 12 ? c.f("ratio", 0.5) : c.has(1) ? c.number(1) : 0.5;
  const DType mask_type = c.version() < 10 ? x.dtype() : DType::Bool;
  if (!training || ratio == 0) return {c.like(0, x), full(x.shape(), 1, c.device(), mask_type)};
  c.check(ratio > 0 && ratio < 1, "the ratio is ", ratio);
  RandomKey key;
  if (c.given("seed")) key = Key(static_cast<std::uint64_t>(c.i("seed", 0)));
  const Value kept = bernoulli(x.shape(), 1 - ratio, c.device(), DType::F32, key);
  return {of_type(x * of_type(kept, x.dtype()) * (1 / (1 - ratio)), x.dtype()), of_type(kept, mask_type)};
}

constexpr OperatorRow kRandomRows[] = {
    {"Bernoulli", 15, draw_bernoulli, {.random = true}},
    {"Dropout", 1, dropout_of, {.kind = OperatorKind::SameShape}},
    {"Multinomial", 7, draw_multinomial, {.random = true}},
    {"RandomNormal", 1, random_numbers<true, false>, {.random = true}},
    {"RandomNormalLike", 1, random_numbers<true, true>, {.random = true}},
    {"RandomUniform", 1, random_numbers<false, false>, {.random = true}},
    {"RandomUniformLike", 1, random_numbers<false, true>, {.random = true}},
};

}  // namespace

std::span<const OperatorRow> random_rows() { return kRandomRows; }

}  // namespace kiln::onnx
