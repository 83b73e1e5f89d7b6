// Reading and writing at indices.
#include <algorithm>
#include <cmath>

#include "kiln/ops/index/index.hpp"
#include "tests/programs/random/program.hpp"

namespace kiln::programs {
namespace {

std::int64_t whole(const Dual& index) { return static_cast<std::int64_t>(index.v); }

/// Operand 0 from the pool, and indices into `dim` of it with another length there.
bool takes_with_indices(Draft& draft) {
  if (!draft.take(Type::Real, 1, 4)) return false;
  draft.s.dim = draft.some_dim();
  draft.make_index(with(draft.grid(0).shape, draft.s.dim, 1 + draft.below(4)), draft.size(draft.s.dim));
  return true;
}
/// The same with a list of indices.
bool takes_with_list(Draft& draft) {
  if (!draft.take(Type::Real, 1, 4)) return false;
  draft.s.dim = draft.some_dim();
  draft.make_index({1 + draft.below(4)}, draft.size(draft.s.dim));
  return true;
}

}  // namespace

std::vector<Instruction> index_instructions() {
  std::vector<Instruction> list;
  list.push_back({.name = "gather",
                  .propose = takes_with_indices,
                  KILN_RUN(gather(x, s.dim, y)),
                  .meaning = [](const Grids& in, const Attributes& s, Margin&) {
                    Grid result(in[1]->shape);
                    each(result.shape, [&](const Dims& index) {
                      result(index) = (*in[0])(with(index, s.dim, whole((*in[1])(index))));
                    });
                    return result;
                  }});
  list.push_back({.name = "scatter_add",
                  .propose =
                      [](Draft& draft) {
                        if (!takes_with_indices(draft)) return false;
                        draft.make(draft.grid(1).shape);
                        return true;
                      },
                  KILN_RUN(scatter_add(x, s.dim, y, z)),
                  .meaning =
                      [](const Grids& in, const Attributes& s, Margin&) {
                        Grid result = *in[0];
                        each(in[1]->shape, [&](const Dims& index) {
                          Dual& to = result(with(index, s.dim, whole((*in[1])(index))));
                          to = to + (*in[2])(index);
                        });
                        return result;
                      }});
  list.push_back({.name = "select",
                  .propose = takes_with_list,
                  KILN_RUN(select(x, s.dim, y)),
                  .meaning = [](const Grids& in, const Attributes& s, Margin&) {
                    Grid result(with(in[0]->shape, s.dim, in[1]->shape[0]));
                    each(result.shape, [&](const Dims& index) {
                      result(index) = (*in[0])(with(index, s.dim, whole((*in[1])({index[s.dim]}))));
                    });
                    return result;
                  }});
  list.push_back({.name = "select_add",
                  .propose =
                      [](Draft& draft) {
                        if (!takes_with_list(draft)) return false;
                        draft.make(with(draft.grid(0).shape, draft.s.dim, draft.grid(1).shape[0]));
                        return true;
                      },
                  KILN_RUN(select_add(x, s.dim, y, z)),
                  .meaning =
                      [](const Grids& in, const Attributes& s, Margin&) {
                        Grid result = *in[0];
                        each(in[2]->shape, [&](const Dims& index) {
                          Dual& to = result(with(index, s.dim, whole((*in[1])({index[s.dim]}))));
                          to = to + (*in[2])(index);
                        });
                        return result;
                      }});
  list.push_back({.name = "one_hot",
                  .propose =
                      [](Draft& draft) {
                        draft.s.a = 2 + draft.below(3);
                        draft.make_index({1 + draft.below(3), 1 + draft.below(3)}, draft.s.a);
                        return true;
                      },
                  KILN_RUN(one_hot(x, s.a, DType::F64)),
                  .meaning =
                      [](const Grids& in, const Attributes& s, Margin&) {
                        Shape shape = in[0]->shape;
                        shape.push_back(s.a);
                        Grid result(shape);
                        each(shape, [&](Dims index) {
                          const Dims to = index;
                          index.pop_back();
                          result(to) = {whole((*in[0])(index)) == to.back() ? 1.0 : 0.0};
                        });
                        return result;
                      }});
  list.push_back({.name = "cross_entropy",
                  .propose =
                      [](Draft& draft) {
                        if (!draft.take(Type::Real, 2, 2)) return false;
                        draft.make_index({draft.size(0)}, draft.size(1));
                        return true;
                      },
                  KILN_RUN(cross_entropy_each(x, y)),
                  .meaning =
                      [](const Grids& in, const Attributes&, Margin&) {
                        const Grid& logits = *in[0];
                        Grid result({logits.shape[0]});
                        for (std::int64_t i = 0; i < logits.shape[0]; ++i) {
                          const Dual chosen = logits({i, whole((*in[1])({i}))});
                          Dual sum;
                          for (std::int64_t j = 0; j < logits.shape[1]; ++j) {
                            const Dual gap = logits({i, j}) - chosen;
                            sum = sum + Dual{std::exp(gap.v), std::exp(gap.v) * gap.d};
                          }
                          result({i}) = {std::log(sum.v), sum.d / sum.v};
                        }
                        return result;
                      }});
  list.push_back({.name = "mask_select",
                  .propose =
                      [](Draft& draft) {
                        if (!draft.take(Type::Real, 1)) return false;
                        const Shape shape = draft.grid(0).shape;
                        return draft.take_where([&](const Grid& mask) {
                          const auto chosen = [](const Dual& e) { return e.v != 0; };
                          return mask.type == Type::Flag && mask.shape == shape &&
                                 std::any_of(mask.x.begin(), mask.x.end(), chosen);
                        });
                      },
                  KILN_RUN(mask_select(x, y)),
                  .meaning =
                      [](const Grids& in, const Attributes&, Margin&) {
                        Grid result{Shape{0}};
                        for (std::size_t i = 0; i < in[0]->x.size(); ++i)
                          if (in[1]->x[i].v != 0) result.x.push_back(in[0]->x[i]);
                        result.shape = {static_cast<std::int64_t>(result.x.size())};
                        return result;
                      }});
  return list;
}

}  // namespace kiln::programs
