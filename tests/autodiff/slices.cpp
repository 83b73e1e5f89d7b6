// Gradients of tensors that are read in slices: what is right is counted element by element.
#include <gtest/gtest.h>

#include <vector>

#include "kiln/autodiff/backward.hpp"
#include "kiln/ops/functions.hpp"
#include "kiln/ops/view/view.hpp"
#include "tests/autodiff/counted.hpp"
#include "tests/support/devices.hpp"

namespace kiln {
namespace {

using test::autodiff;

constexpr std::int64_t kRows = 3, kColumns = 8;

Value leaf_of(const Device& device) {
  std::vector<double> numbers(static_cast<std::size_t>(kRows * kColumns));
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = 0.25 * static_cast<double>(i) - 2;
  return from_data(TensorData::of<double>({kRows, kColumns}, numbers), device).require_grad();
}

struct Span {
  std::int64_t begin, end, step = 1;
  Range range() const { return {begin, end < 0 ? std::nullopt : std::optional(end), step}; }
  bool has(std::int64_t i) const {
    return (i - begin) % step == 0 && (step > 0 ? begin <= i && i < end : end < i && i <= begin);
  }
};
struct Part {
  Span rows, columns;
};
Value part_of(const Value& x, const Part& part) {
  const Range ranges[] = {part.rows.range(), part.columns.range()};
  return slice(x, ranges);
}
/// Every element of x, and how often it lies in a part, each weighed by its place among the parts, from 1.
std::vector<double> weights_of(const std::vector<Part>& parts, double everywhere) {
  std::vector<double> weights(static_cast<std::size_t>(kRows * kColumns), everywhere);
  for (std::size_t part = 0; part < parts.size(); ++part)
    for (std::size_t i = 0; i < weights.size(); ++i)
      if (const auto at = static_cast<std::int64_t>(i);
          parts[part].rows.has(at / kColumns) && parts[part].columns.has(at % kColumns))
        weights[i] += static_cast<double>(part) + 1;
  return weights;
}

/// The sum of cubes of all parts, weighed, whose first and second derivatives are known.
void check(const std::vector<Part>& parts, bool also_whole) {
  const Value x = leaf_of(autodiff);
  const std::vector<double> numbers = x.data().to_vector<double>(), weights = weights_of(parts, also_whole ? 1 : 0);
  const auto cubes = [](const Value& v) { return sum(v * v * v); };
  Value loss = also_whole ? cubes(x) : zeros({}, autodiff, DType::F64);
  for (std::size_t i = 0; i < parts.size(); ++i)
    loss = loss + cubes(part_of(x, parts[i])) * (static_cast<double>(i) + 1);
  const Value grad = backward(loss, {.create_graph = true}).of(x);
  const std::vector<double> first = grad.data().to_vector<double>(),
                            second = backward(sum(grad)).of(x).data().to_vector<double>();
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    EXPECT_DOUBLE_EQ(first[i], 3 * weights[i] * numbers[i] * numbers[i]) << i;
    EXPECT_DOUBLE_EQ(second[i], 6 * weights[i] * numbers[i]) << i;
  }
}

TEST(SliceGradients, AreThoseOfEachElement) {
  const Span rows{0, kRows};
  for (const bool also_whole : {false, true}) {
    check({{rows, {0, 4}}, {rows, {4, 8}}}, also_whole);                  // halves
    check({{rows, {5, 8}}, {rows, {0, 2}}, {rows, {2, 5}}}, also_whole);  // in another order
    check({{rows, {1, 3}}, {rows, {5, 6}}}, also_whole);                  // with gaps
    check({{rows, {2, 3}}}, also_whole);                                  // one
    check({{rows, {0, 6}}, {rows, {2, 8}}}, also_whole);                  // that overlap, and are too many
    check({{rows, {0, 3}}, {rows, {2, 4}}}, also_whole);                  // that overlap
    check({{rows, {3, 3}}, {rows, {1, 2}}}, also_whole);                  // of nothing
    check({{rows, {7, -1, -1}}}, also_whole);                             // backwards
    check({{{2, -1, -1}, {0, 4}}, {{2, -1, -1}, {4, 8}}}, also_whole);    // halves, whose rows run backwards
    check({{rows, {7, 2, -2}}, {{2, -1, -1}, {0, 8}}}, also_whole);
    check({{rows, {1, 2}}, {rows, {1, 2}}}, also_whole);                        // twice the same
    check({{rows, {0, 8, 2}}, {rows, {1, 8, 2}}}, also_whole);                  // every other
    check({{{0, 1}, {0, 8}}, {{1, 2}, {0, 8}}, {{2, 3}, {0, 8}}}, also_whole);  // rows
    check({{{0, 1}, {0, 8}}, {rows, {0, 4}}}, also_whole);                      // across each other
    check({{{0, 2}, {0, 4}}, {{0, 2}, {4, 8}}}, also_whole);                    // side by side, but of some rows alone
    check({{{0, 1}, {0, 4}}, {{1, 3}, {4, 8}}}, also_whole);                    // apart in both
    check({{{0, 3, 2}, {0, 8}}, {{1, 2}, {0, 8}}}, also_whole);                 // rows between others
  }
}

TEST(SliceGradients, AreAlsoThoseOfValuesInBetween) {
  const Value x = leaf_of(autodiff), y = x * 2.0;
  const Value loss = sum(square(part_of(y, {{0, kRows}, {0, 3}}))) + sum(square(part_of(y, {{0, kRows}, {3, 8}})));
  const Values of = grad(std::vector{loss}, std::vector{Value()}, std::vector{y, x});
  EXPECT_EQ(of[0].data().to_vector<double>(), (y * 2.0).data().to_vector<double>());
  EXPECT_EQ(of[1].data().to_vector<double>(), (y * 4.0).data().to_vector<double>());
}

// A loop over the moments of a sequence: not the whole for each.
TEST(SliceGradients, AreJoinedAtOnce) {
  test::Counted on;
  const Value x = leaf_of(on.device);
  Value state = zeros({kRows, 1}, on.device, DType::F64);
  for (std::int64_t t = 0; t < kColumns; ++t) state = tanh(state + part_of(x, {{0, kRows}, {t, t + 1}}));
  on.counter->runs.clear();
  const Value grad = backward(sum(state)).of(x);
  grad.data();
  EXPECT_EQ(on.counter->runs["slice_assign"], 0);
  EXPECT_EQ(on.counter->runs["cat"], 1);
}

}  // namespace
}  // namespace kiln
