#include "kiln/backend/cpu/integer/integer.hpp"
#include "kiln/core/text.hpp"
#include "tests/backend/integer/bytes.hpp"

namespace kiln::cpu {
namespace {

struct Case {
  Shape x, weight;
  Spatial stride, padding, padding_after, dilation;
  std::int64_t groups = 1;
};

/// With leading spatial dimensions of one element where there are fewer than three.
struct Lifted {
  std::int64_t size[3] = {1, 1, 1}, kernel[3] = {1, 1, 1}, result[3] = {1, 1, 1}, stride[3] = {1, 1, 1},
               padding[3] = {0, 0, 0}, dilation[3] = {1, 1, 1};
  Lifted(const Case& c, const Shape& y) {
    const int dims = c.x.size() - 2;
    for (int d = 0; d < dims; ++d) {
      const int to = 3 - dims + d;
      size[to] = c.x[d + 2], kernel[to] = c.weight[d + 2], result[to] = y[d + 2];
      stride[to] = c.stride[d], padding[to] = c.padding[d], dilation[to] = c.dilation[d];
    }
  }
};

std::vector<std::int64_t> expected(const Case& c, const Shape& y, const Value& x, const Value& weight,
                                   const Value& x_zero, const Value& weight_zero) {
  const Lifted s(c, y);
  const std::vector<std::int64_t> data = whole_numbers(x), filter = whole_numbers(weight);
  const std::vector<std::int64_t> zeros = weight_zero ? whole_numbers(weight_zero) : std::vector<std::int64_t>{0};
  const std::int64_t zero = x_zero ? whole_numbers(x_zero)[0] : 0;
  const std::int64_t in = c.weight[1], out = c.weight[0], of_group = out / c.groups;
  std::vector<std::int64_t> result;
  for (std::int64_t n = 0; n < y[0]; ++n)
    for (std::int64_t o = 0; o < out; ++o)
      for (std::int64_t at = 0; at < s.result[0] * s.result[1] * s.result[2]; ++at) {
        const std::int64_t place[] = {at / s.result[2] / s.result[1], at / s.result[2] % s.result[1], at % s.result[2]};
        std::int64_t sum = 0;
        for (std::int64_t i = 0; i < in; ++i)
          for (std::int64_t k = 0; k < s.kernel[0] * s.kernel[1] * s.kernel[2]; ++k) {
            const std::int64_t tap[] = {k / s.kernel[2] / s.kernel[1], k / s.kernel[2] % s.kernel[1], k % s.kernel[2]};
            std::int64_t from = n * c.x[1] + o / of_group * in + i;
            bool inside = true;
            for (int d = 0; d < 3; ++d) {
              const std::int64_t under = place[d] * s.stride[d] - s.padding[d] + tap[d] * s.dilation[d];
              inside = inside && under >= 0 && under < s.size[d];
              from = from * s.size[d] + under;
            }
            if (!inside) continue;
            const std::int64_t taps = s.kernel[0] * s.kernel[1] * s.kernel[2];
            sum += (data[static_cast<std::size_t>(from)] - zero) *
                   (filter[static_cast<std::size_t>((o * in + i) * taps + k)] -
                    zeros[zeros.size() == 1 ? 0 : static_cast<std::size_t>(o)]);
          }
        result.push_back(wrapped(sum));
      }
  return result;
}

const Case kCases[] = {
    {{2, 5, 9}, {7, 5, 3}, {1}, {1}, {1}, {1}},                                        // a line
    {{1, 3, 11, 10}, {6, 3, 3, 3}, {2, 2}, {1, 1}, {1, 1}, {1, 1}},                    // a network's first
    {{2, 16, 7, 9}, {33, 16, 1, 1}, {1, 1}, {0, 0}, {0, 0}, {1, 1}},                   // points
    {{1, 64, 8, 8}, {20, 64, 1, 1}, {1, 1}, {0, 0}, {0, 0}, {1, 1}},                   // points that are read in place
    {{1, 64, 8, 8}, {20, 64, 1, 1}, {2, 2}, {0, 0}, {0, 0}, {1, 1}},                   // every other point
    {{1, 8, 6, 7}, {4, 8, 3, 2}, {1, 2}, {2, 0}, {1, 3}, {2, 3}},                      // dilation, uneven padding
    {{2, 12, 6, 6}, {9, 4, 3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 3},                  // groups
    {{2, 24, 7, 6}, {24, 1, 3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 24},                // depthwise
    {{1, 40, 9, 9}, {40, 1, 5, 5}, {2, 2}, {2, 2}, {2, 2}, {1, 1}, 40},                // depthwise, every other place
    {{1, 40, 9}, {40, 1, 3}, {1}, {4}, {0}, {2}, 40},                                  // depthwise along a line
    {{1, 9, 6, 6}, {18, 1, 3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 9},                  // two filters a channel
    {{1, 8, 5, 5}, {8, 1, 3, 3}, {1, 1}, {4, 4}, {4, 4}, {1, 1}, 8},                   // padding past the kernel
    {{1, 8, 40, 40}, {8, 1, 17, 17}, {3, 3}, {0, 0}, {0, 0}, {1, 1}, 8},               // more terms than float32 holds
    {{1, 4, 4, 5, 6}, {5, 4, 2, 3, 2}, {1, 2, 1}, {1, 1, 0}, {0, 1, 1}, {1, 1, 2}},    // three axes
    {{1, 8, 4, 5, 6}, {8, 1, 2, 3, 2}, {1, 1, 2}, {1, 1, 0}, {0, 1, 1}, {1, 1, 1}, 8}  // depthwise of three axes
};

void check(const Case& c, DType left, DType right, const Value& x_zero, const Value& weight_zero,
           std::vector<int> order = {}) {
  const Value x = random_bytes(c.x, left, 1, std::move(order)), weight = random_bytes(c.weight, right, 2);
  const op::ConvInteger op{{c.stride, c.padding, c.padding_after, c.dilation, c.groups}};
  const Value y = run_on_bytes(op, {x, weight, x_zero, weight_zero}, integer::run);
  EXPECT_EQ(whole_numbers(y), expected(c, y.shape(), x, weight, x_zero, weight_zero)) << text(c.x, " * ", c.weight);
}

TEST(IntegerConv, ConvolvesBytesOfAnySignAndZeroPoint) {
  for (const Case& c : kCases)
    for (const DType left : {DType::U8, DType::I8})
      for (const DType right : {DType::U8, DType::I8}) {
        check(c, left, right, {}, {});
        check(c, left, right, random_bytes({}, left, 3), random_bytes({}, right, 4));
        check(c, left, right, random_bytes({1}, left, 5), random_bytes({c.weight[0]}, right, 6));
      }
}

TEST(IntegerConv, ReadsChannelsLast) {
  for (const Case& c : kCases) {
    std::vector<int> order{0};
    for (int d = 2; d < c.x.size(); ++d) order.push_back(d);
    order.push_back(1);
    check(c, DType::U8, DType::I8, random_bytes({}, DType::U8, 3), {}, order);
  }
}

TEST(IntegerConv, GivesTheSameOnAnyThreads) {
  const int before = num_threads();
  for (const int threads : {1, 2, 5}) {
    set_num_threads(threads);
    check({{1, 40, 40, 40}, {70, 40, 3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}}, DType::U8, DType::I8,
          random_bytes({}, DType::U8, 3), {});
    check({{2, 64, 60, 60}, {64, 1, 3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 64}, DType::U8, DType::I8,
          random_bytes({}, DType::U8, 3), {});
  }
  set_num_threads(before);
}

TEST(IntegerConv, KeepsApartDepthwiseWeightsWithOtherZeroPoints) {
  const Case c = kCases[7];
  const Value x = random_bytes(c.x, DType::U8, 1), weight = random_bytes(c.weight, DType::I8, 2);
  const op::ConvInteger op{{c.stride, c.padding, c.padding_after, c.dilation, c.groups}};
  for (int time = 0; time < 4; ++time)
    for (const unsigned seed : {3u, 4u, 5u}) {
      const Value zero = random_bytes({}, DType::I8, seed);
      const Value y = run_on_bytes(op, {x, weight, Value(), zero}, integer::run);
      EXPECT_EQ(whole_numbers(y), expected(c, y.shape(), x, weight, {}, zero));
    }
}

}  // namespace
}  // namespace kiln::cpu
