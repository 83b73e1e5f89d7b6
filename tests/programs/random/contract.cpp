// Sums of products, and windows.
#include <cmath>

#include "tests/programs/random/program.hpp"

namespace kiln::programs {
namespace {

bool takes_image(Draft& draft, std::int64_t least) {
  return draft.take_where([&](const Grid& x) {
    return x.type == Type::Real && x.rank() == 4 && x.shape[2] >= least && x.shape[3] >= least;
  });
}
/// An image from the pool, or a new one.
void takes_or_makes_image(Draft& draft, std::int64_t least) {
  if (!draft.coin() || !takes_image(draft, least))
    draft.make({1 + draft.below(2), 1 + draft.below(3), least + draft.below(4), least + draft.below(4)});
}

/// The windows of x [batch, channels, height, width]: f(elements that are no padding).
Grid pooled(const Grid& x, const Attributes& s, const std::function<Dual(const std::vector<Dual>&)>& f) {
  const auto count = [&](int i) { return (x.shape[i] + 2 * s.b - s.a) / s.other + 1; };
  Grid result({x.shape[0], x.shape[1], count(2), count(3)});
  each(result.shape, [&](const Dims& index) {
    std::vector<Dual> window;
    for (std::int64_t i = 0; i < s.a; ++i)
      for (std::int64_t j = 0; j < s.a; ++j) {
        const std::int64_t row = index[2] * s.other - s.b + i, column = index[3] * s.other - s.b + j;
        if (0 <= row && row < x.shape[2] && 0 <= column && column < x.shape[3])
          window.push_back(x({index[0], index[1], row, column}));
      }
    result(index) = f(window);
  });
  return result;
}

bool takes_window(Draft& draft) {
  draft.s.a = 2 + draft.below(2);
  draft.s.b = draft.below(2);
  draft.s.other = 1 + static_cast<int>(draft.below(3));
  takes_or_makes_image(draft, 3);
  return true;
}

}  // namespace

std::vector<Instruction> contract_instructions() {
  std::vector<Instruction> list;
  for (int times = 0; times < 2; ++times)
    list.push_back({.name = "matmul",
                    .propose =
                        [](Draft& draft) {
                          if (!draft.take(Type::Real, 2, 4)) return false;
                          const Shape shape = draft.grid(0).shape;
                          const std::int64_t inner = shape.back();
                          const auto fits = [&](const Grid& y) {
                            return y.type == Type::Real && y.rank() == 2 && y.shape[0] == inner;
                          };
                          if (draft.coin() && draft.take_where(fits)) return true;
                          Shape second{inner, 1 + draft.below(4)};
                          if (shape.size() > 2 && draft.coin())
                            second.insert(0, draft.coin() ? shape[shape.size() - 3] : 1);
                          draft.make(second, -1, 1);
                          return true;
                        },
                    KILN_RUN(matmul(x, y)),
                    .meaning =
                        [](const Grids& in, const Attributes&, Margin&) {
                          const Grid &x = *in[0], &y = *in[1];
                          Shape shape = x.shape;
                          shape.back() = y.shape.back();
                          Grid result(shape);
                          each(shape, [&](const Dims& index) {
                            Dims from = index;
                            for (std::int64_t k = 0; k < x.shape.back(); ++k) {
                              from.back() = k;
                              Dims second{k, index.back()};
                              if (y.rank() == 3) second.insert(0, y.shape[0] == 1 ? 0 : index[index.size() - 3]);
                              result(index) = result(index) + x(from) * y(second);
                            }
                          });
                          return result;
                        }});
  list.push_back(
      {.name = "conv",
       .propose =
           [](Draft& draft) {
             takes_or_makes_image(draft, 3);
             const std::int64_t channels = draft.size(1);
             draft.s.a = channels % 2 == 0 && draft.coin() ? 2 : 1;  // groups
             draft.s.b = draft.below(2);
             draft.s.dims = {1 + draft.below(2), 1 + draft.below(2)};
             draft.make({draft.s.a * (1 + draft.below(2)), channels / draft.s.a, 2 + draft.below(2), 2}, -0.5, 0.5);
             draft.make({draft.grid(1).shape[0]});
             return true;
           },
       KILN_RUN(conv(x, y, z, {.stride = {s.dims[0], s.dims[1]}, .padding = {s.b, s.b}, .groups = s.a})),
       .meaning =
           [](const Grids& in, const Attributes& s, Margin&) {
             const Grid &x = *in[0], &w = *in[1], &bias = *in[2];
             const auto size = [&](int i) { return (x.shape[i] + 2 * s.b - w.shape[i]) / s.dims[i - 2] + 1; };
             Grid result({x.shape[0], w.shape[0], size(2), size(3)});
             const std::int64_t per_group = w.shape[0] / s.a;
             each(result.shape, [&](const Dims& index) {
               Dual sum = bias({index[1]});
               each({w.shape[1], w.shape[2], w.shape[3]}, [&](const Dims& tap) {
                 const std::int64_t row = index[2] * s.dims[0] - s.b + tap[1],
                                    column = index[3] * s.dims[1] - s.b + tap[2];
                 if (row < 0 || row >= x.shape[2] || column < 0 || column >= x.shape[3]) return;
                 const std::int64_t channel = index[1] / per_group * w.shape[1] + tap[0];
                 sum = sum + x({index[0], channel, row, column}) * w({index[1], tap[0], tap[1], tap[2]});
               });
               result(index) = sum;
             });
             return result;
           }});
  list.push_back({.name = "conv_transpose",
                  .propose =
                      [](Draft& draft) {
                        takes_or_makes_image(draft, 2);
                        draft.s.a = 1 + draft.below(2);  // stride
                        draft.s.b = draft.below(2);
                        draft.make({draft.size(1), 1 + draft.below(2), 2, 3}, -0.5, 0.5);
                        draft.make({draft.grid(1).shape[1]});
                        return true;
                      },
                  KILN_RUN(conv_transpose(x, y, z, {.stride = {s.a, s.a}, .padding = {s.b, s.b}})),
                  .meaning =
                      [](const Grids& in, const Attributes& s, Margin&) {
                        const Grid &x = *in[0], &w = *in[1], &bias = *in[2];
                        const auto size = [&](int i) { return (x.shape[i] - 1) * s.a - 2 * s.b + w.shape[i]; };
                        Grid result({x.shape[0], w.shape[1], size(2), size(3)});
                        each(result.shape, [&](const Dims& index) { result(index) = bias({index[1]}); });
                        each(x.shape, [&](const Dims& from) {
                          each({w.shape[1], w.shape[2], w.shape[3]}, [&](const Dims& tap) {
                            const Dims to{from[0], tap[0], from[2] * s.a + tap[1] - s.b, from[3] * s.a + tap[2] - s.b};
                            if (to[2] < 0 || to[2] >= size(2) || to[3] < 0 || to[3] >= size(3)) return;
                            result(to) = result(to) + x(from) * w({from[1], tap[0], tap[1], tap[2]});
                          });
                        });
                        return result;
                      }});
  list.push_back({.name = "max_pool",
                  .propose = takes_window,
                  KILN_RUN(max_pool(x, {.kernel = {s.a, s.a}, .stride = {s.other, s.other}, .padding = {s.b, s.b}})),
                  .meaning = [](const Grids& in, const Attributes& s, Margin& margin) {
                    return pooled(*in[0], s, [&](const std::vector<Dual>& window) {
                      std::size_t best = 0;
                      for (std::size_t i = 0; i < window.size(); ++i)
                        if (window[i].v > window[best].v) best = i;
                      for (std::size_t i = 0; i < window.size(); ++i)
                        if (i != best) margin.decided_by(window[best].v - window[i].v);
                      return window[best];
                    });
                  }});
  list.push_back({.name = "avg_pool",
                  .propose = takes_window,
                  KILN_RUN(avg_pool(x, {.kernel = {s.a, s.a}, .stride = {s.other, s.other}, .padding = {s.b, s.b}})),
                  .meaning = [](const Grids& in, const Attributes& s, Margin&) {
                    return pooled(*in[0], s, [&](const std::vector<Dual>& window) {
                      Dual sum;
                      for (const Dual& e : window) sum = sum + e;
                      return sum / Dual{static_cast<double>(s.a * s.a)};
                    });
                  }});
  list.push_back({.name = "layer_norm",
                  .propose =
                      [](Draft& draft) {
                        if (!draft.take(Type::Real, 1) || draft.grid(0).shape.back() < 2) return false;
                        draft.make({draft.grid(0).shape.back()});
                        draft.make({draft.grid(0).shape.back()});
                        return true;
                      },
                  KILN_RUN(layer_norm(x, y, z, 0.1)),
                  .meaning =
                      [](const Grids& in, const Attributes&, Margin&) {
                        const Grid& x = *in[0];
                        Grid result(x.shape);
                        const int last = x.rank() - 1;
                        const Dual count{static_cast<double>(x.shape[last])};
                        each(with(x.shape, last, 1), [&](const Dims& index) {
                          Dual mean, variance;
                          for (std::int64_t i = 0; i < x.shape[last]; ++i)
                            mean = mean + x(with(index, last, i)) / count;
                          for (std::int64_t i = 0; i < x.shape[last]; ++i) {
                            const Dual distance = x(with(index, last, i)) - mean;
                            variance = variance + distance * distance / count;
                          }
                          const double deviation = std::sqrt(variance.v + 0.1);
                          const Dual scale{1 / deviation, -0.5 * variance.d / (deviation * deviation * deviation)};
                          for (std::int64_t i = 0; i < x.shape[last]; ++i)
                            result(with(index, last, i)) =
                                (x(with(index, last, i)) - mean) * scale * (*in[1])({i}) + (*in[2])({i});
                        });
                        return result;
                      }});
  return list;
}

}  // namespace kiln::programs
