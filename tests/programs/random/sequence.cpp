// Running folds, frequencies and attention: what goes along a dimension.
#include <algorithm>
#include <cmath>

#include "kiln/ops/norm/normalization.hpp"
#include "kiln/ops/reduce/scan.hpp"
#include "kiln/ops/sequence/attention.hpp"
#include "kiln/ops/signal/signal.hpp"
#include "kiln/ops/view/diagonal.hpp"
#include "kiln/ops/view/view.hpp"
#include "tests/programs/random/program.hpp"

namespace kiln::programs {
namespace {

bool takes_dim(Draft& draft) {
  if (!draft.take(Type::Real, 1)) return false;
  draft.s.dim = draft.some_dim();
  return true;
}

/// result[i] = f(result[i - 1], x[i]) along a dimension.
Grid scanned(const Grid& x, int dim, const std::function<Dual(Dual, Dual)>& f) {
  Grid result = x;
  each(x.shape, [&](const Dims& index) {
    if (index[dim] > 0) result(index) = f(result(with(index, dim, index[dim] - 1)), x(index));
  });
  return result;
}

Dual exp_of(Dual x) { return {std::exp(x.v), std::exp(x.v) * x.d}; }
Dual log_of(Dual x) { return {std::log(x.v), x.d / x.v}; }

}  // namespace

std::vector<Instruction> sequence_instructions() {
  std::vector<Instruction> list;
  list.push_back({.name = "cumsum",
                  .propose = takes_dim,
                  KILN_RUN(cumsum(x, s.dim)),
                  .meaning = [](const Grids& in, const Attributes& s, Margin&) {
                    return scanned(*in[0], s.dim, [](Dual before, Dual e) { return before + e; });
                  }});
  list.push_back({.name = "cumprod",
                  .propose = takes_dim,
                  KILN_RUN(cumprod(x, s.dim)),
                  .meaning = [](const Grids& in, const Attributes& s, Margin&) {
                    return scanned(*in[0], s.dim, [](Dual before, Dual e) { return before * e; });
                  }});
  list.push_back({.name = "cummax",
                  .propose = takes_dim,
                  KILN_RUN(cummax(x, s.dim).values),
                  .meaning = [](const Grids& in, const Attributes& s, Margin& margin) {
                    return scanned(*in[0], s.dim, [&](Dual before, Dual e) {
                      margin.decided_by(before.v - e.v);
                      return before.v < e.v ? e : before;
                    });
                  }});
  list.push_back({.name = "logcumsumexp",
                  .propose = takes_dim,
                  KILN_RUN(logcumsumexp(x, s.dim)),
                  .meaning = [](const Grids& in, const Attributes& s, Margin&) {
                    return scanned(*in[0], s.dim,
                                   [](Dual before, Dual e) { return log_of(exp_of(before) + exp_of(e)); });
                  }});
  list.push_back({.name = "triu",
                  .propose =
                      [](Draft& draft) {
                        draft.s.a = draft.below(5) - 2;
                        return draft.take(Type::Real, 2);
                      },
                  KILN_RUN(triu(x, s.a)),
                  .meaning =
                      [](const Grids& in, const Attributes& s, Margin&) {
                        Grid result = *in[0];
                        const int last = result.rank() - 1;
                        each(result.shape, [&](const Dims& index) {
                          if (index[last] < index[last - 1] + s.a) result(index) = {};
                        });
                        return result;
                      }});
  list.push_back({.name = "diagonal",
                  .propose = [](Draft& draft) { return draft.take(Type::Real, 2); },
                  KILN_RUN(diagonal(x)),
                  .meaning =
                      [](const Grids& in, const Attributes&, Margin&) {
                        const Grid& x = *in[0];
                        const int last = x.rank() - 1;
                        Shape shape = without(x.shape, last);
                        shape.back() = std::min(x.shape[last], x.shape[last - 1]);
                        Grid result(shape);
                        each(shape, [&](const Dims& index) {
                          Dims from = index;
                          from.push_back(index.back());
                          result(index) = x(from);
                        });
                        return result;
                      }});
  list.push_back({.name = "unfold",
                  .propose =
                      [](Draft& draft) {
                        if (!draft.take(Type::Real, 1, 4)) return false;
                        draft.s.dim = draft.some_dim();
                        draft.s.a = 1 + draft.below(draft.size(draft.s.dim));
                        draft.s.b = 1 + draft.below(3);
                        return true;
                      },
                  KILN_RUN(unfold(x, s.dim, s.a, s.b)),
                  .meaning =
                      [](const Grids& in, const Attributes& s, Margin&) {
                        Shape shape = with(in[0]->shape, s.dim, (in[0]->shape[s.dim] - s.a) / s.b + 1);
                        shape.push_back(s.a);
                        Grid result(shape);
                        each(shape, [&](const Dims& index) {
                          Dims from = index;
                          from.pop_back();
                          from[s.dim] = index[s.dim] * s.b + index.back();
                          result(index) = (*in[0])(from);
                        });
                        return result;
                      }});
  list.push_back({.name = "rfft",
                  .propose = [](Draft& draft) { return draft.take(Type::Real, 1, 4); },
                  KILN_RUN(rfft(x)),
                  .meaning =
                      [](const Grids& in, const Attributes&, Margin&) {
                        const Grid& x = *in[0];
                        const int last = x.rank() - 1;
                        const std::int64_t n = x.shape[last];
                        Shape shape = with(x.shape, last, n / 2 + 1);
                        shape.push_back(2);
                        Grid result(shape);
                        each(shape, [&](const Dims& index) {
                          Dims from = index;
                          from.pop_back();
                          const std::int64_t frequency = index[last];
                          for (std::int64_t i = 0; i < n; ++i) {
                            from[last] = i;
                            const double turn = 2 * M_PI * static_cast<double>(frequency * i) / static_cast<double>(n);
                            const Dual wave{index.back() == 0 ? std::cos(turn) : -std::sin(turn)};
                            result(index) = result(index) + x(from) * wave;
                          }
                        });
                        return result;
                      }});
  list.push_back({.name = "rms_norm",
                  .propose = [](Draft& draft) { return draft.take(Type::Real, 1); },
                  KILN_RUN(rms_norm(x, {}, 0.1)),
                  .meaning =
                      [](const Grids& in, const Attributes&, Margin&) {
                        const Grid& x = *in[0];
                        Grid result(x.shape);
                        const int last = x.rank() - 1;
                        each(x.shape, [&](const Dims& index) {
                          Dual squares{0.1};
                          for (std::int64_t i = 0; i < x.shape[last]; ++i) {
                            const Dual e = x(with(index, last, i));
                            squares = squares + e * e / Dual{static_cast<double>(x.shape[last])};
                          }
                          result(index) = x(index) * exp_of(log_of(squares) * Dual{-0.5});
                        });
                        return result;
                      }});
  list.push_back({.name = "attention",
                  .propose =
                      [](Draft& draft) {
                        const std::int64_t width = 1 + draft.below(3), queries = 1 + draft.below(4);
                        draft.s.flag = draft.coin();
                        const auto suits = [](const Grid& q) { return q.type == Type::Real && q.rank() == 4; };
                        if (!draft.coin() || !draft.take_where(suits)) draft.make({1, 2, queries, width});
                        const Shape q = draft.grid(0).shape;
                        const std::int64_t keys = q[2] + draft.below(3);
                        draft.make({q[0], q[1], keys, q[3]});
                        draft.make({q[0], q[1], keys, 2});
                        return true;
                      },
                  KILN_RUN(attention(x, y, z, {.causal = s.flag, .scale = 0.7})),
                  .meaning =
                      [](const Grids& in, const Attributes& s, Margin&) {
                        const Grid &q = *in[0], &k = *in[1], &v = *in[2];
                        Grid result({q.shape[0], q.shape[1], q.shape[2], v.shape[3]});
                        const std::int64_t earlier = k.shape[2] - q.shape[2];  // keys before the first query
                        each(result.shape, [&](const Dims& index) {
                          Dual weights, sum;
                          for (std::int64_t j = 0; j < k.shape[2]; ++j) {
                            if (s.flag && j > index[2] + earlier) continue;
                            Dual score;
                            for (std::int64_t c = 0; c < q.shape[3]; ++c)
                              score = score + q(with(index, 3, c)) * k({index[0], index[1], j, c});
                            const Dual weight = exp_of(score * Dual{0.7});
                            weights = weights + weight;
                            sum = sum + weight * v(with(with(index, 2, j), 3, index[3]));
                          }
                          result(index) = sum / weights;
                        });
                        return result;
                      }});
  return list;
}

}  // namespace kiln::programs
