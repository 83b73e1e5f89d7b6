#include "kiln/ops/sequence/recurrent.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "kiln/autodiff/backward.hpp"
#include "kiln/ops/scope/autocast.hpp"
#include "tests/ops/harness.hpp"

namespace kiln::test {
namespace {

struct Case {
  std::int64_t batch, time, in, hidden;
  bool bias = true, state = true;
};

double sigmoid_of(double x) { return 1 / (1 + std::exp(-x)); }

/// The textbook's formula, an element at a time. Operands as in lstm_row.
std::vector<Array> remember(const Case& c, const std::vector<Array>& in) {
  const Array &x = in[0], &wx = in[1], &wh = in[2];
  Array outputs({c.batch, c.time, c.hidden}), h({c.batch, c.hidden}), cell = h;
  if (c.state) {
    h = in[in.size() - 2];
    cell = in[in.size() - 1];
  }
  for (std::int64_t t = 0; t < c.time; ++t) {
    const Array before = h;
    for (std::int64_t b = 0; b < c.batch; ++b)
      for (std::int64_t j = 0; j < c.hidden; ++j) {
        double gate[4];
        for (std::int64_t k = 0; k < 4; ++k) {
          const std::int64_t row = k * c.hidden + j;
          double sum = c.bias ? in[3].v[static_cast<std::size_t>(row)] + in[4].v[static_cast<std::size_t>(row)] : 0;
          for (std::int64_t p = 0; p < c.in; ++p) sum += wx({row, p}) * x({b, t, p});
          for (std::int64_t p = 0; p < c.hidden; ++p) sum += wh({row, p}) * before({b, p});
          gate[k] = k == 2 ? std::tanh(sum) : sigmoid_of(sum);
        }
        cell({b, j}) = gate[1] * cell({b, j}) + gate[0] * gate[2];
        outputs({b, t, j}) = h({b, j}) = gate[3] * std::tanh(cell({b, j}));
      }
  }
  return {outputs, h, cell};
}

Row lstm_row(std::string name, const Case& c, bool gradient = true) {
  const std::int64_t rows = 4 * c.hidden;
  Row row{.name = std::move(name),
          .operands = {{{c.batch, c.time, c.in}}, {{rows, c.in}}, {{rows, c.hidden}}},
          .function = {},
          .meaning = [=](const std::vector<Array>& in) { return remember(c, in); },
          .tolerance = 20,  // errors pass through every later moment
          .gradient = gradient};
  for (int bias = 0; bias < 2 && c.bias; ++bias) row.operands.push_back({{rows}});
  for (int state = 0; state < 2 && c.state; ++state) row.operands.push_back({{c.batch, c.hidden}});
  row.function = [=](const Values& in) {
    const LstmWeights weights{in[1], in[2], c.bias ? in[3] : Value(), c.bias ? in[4] : Value()};
    const LstmPass pass = c.state ? lstm(in[0], weights, in[in.size() - 2], in[in.size() - 1]) : lstm(in[0], weights);
    return Values{pass.outputs, pass.hidden, pass.cell};
  };
  return row;
}

std::vector<Row> recurrent_rows() {
  return {
      lstm_row("lstm", {2, 3, 2, 2}),
      lstm_row("lstm_from_zeros", {2, 3, 2, 2, true, false}),
      lstm_row("lstm_without_bias", {1, 4, 3, 1, false, true}),
      lstm_row("lstm_of_one_moment", {3, 1, 2, 2}),
      lstm_row("lstm_of_nothing", {0, 2, 3, 2}),
      lstm_row("lstm_of_many", {5, 7, 19, 33}, false),
  };
}

const Family kFamily(&recurrent_rows);

TEST(Lstm, GoesOnWhereItStopped) {
  const auto numbers = [](const Shape& shape, std::uint64_t seed) {
    return normal(shape, 0, 1, Device::cpu(), DType::F64, Key{seed});
  };
  const Value x = numbers({2, 5, 3}, 1);
  const LstmWeights weights{numbers({16, 3}, 2), numbers({16, 4}, 3), {}, {}};
  const LstmPass whole = lstm(x, weights), start = lstm(narrow(x, 1, 0, 2), weights);
  const LstmPass rest = lstm(narrow(x, 1, 2, 3), weights, start.hidden, start.cell);
  EXPECT_EQ(difference(rest.outputs.data(), narrow(whole.outputs, 1, 2, 3).data(), {1e-14, 1e-14}), "");
  EXPECT_EQ(difference(rest.cell.data(), whole.cell.data(), {1e-14, 1e-14}), "");
}

// The gradients of float32 parameters stay float32, and are those of float32 to bfloat16's two or three digits.
TEST(Lstm, LearnsUnderAutocast) {
  const Device device = Device::cpu().autodiff();
  const auto numbers = [&](const Shape& shape, std::uint64_t seed) {
    return normal(shape, 0, 0.5, device, DType::F32, Key{seed});
  };
  const Value x = numbers({3, 4, 5}, 1);
  const Values leaves{numbers({24, 5}, 2).require_grad(), numbers({24, 6}, 3).require_grad()};
  const auto gradients = [&](DType dtype) {
    const Autocast autocast(dtype);
    const LstmPass pass = lstm(x, {leaves[0], leaves[1], {}, {}});
    return grad(sum(pass.outputs) + sum(pass.cell), leaves);
  };
  const Values expected = gradients(DType::F32), found = gradients(DType::BF16);
  for (std::size_t i = 0; i < leaves.size(); ++i)
    EXPECT_EQ(difference(found[i].data(), expected[i].data(), {0.1, 0.05}), "") << i;
}

}  // namespace
}  // namespace kiln::test
