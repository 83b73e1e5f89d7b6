// Functions of the elements along dimensions. A meaning gathers those elements into a list and folds it.
#include <algorithm>
#include <cmath>

#include "kiln/ops/reduce/order.hpp"
#include "tests/programs/random/program.hpp"

namespace kiln::programs {
namespace {

using List = std::vector<Dual>;

/// f of the elements along `dims`, which keep size 1 or disappear.
Grid folded(const Grid& x, const Dims& dims, bool keep, const std::function<Dual(const List&)>& f,
            Type type = Type::Real) {
  Shape kept = x.shape, left;
  for (int i = 0; i < x.rank(); ++i) {
    const bool folds = std::find(dims.begin(), dims.end(), i) != dims.end();
    if (folds) kept[i] = 1;
    else left.push_back(x.shape[i]);
  }
  Grid result(kept, {}, type);
  std::vector<List> lists(result.x.size());
  each(x.shape, [&](Dims index) {
    const Dual element = x(index);
    for (int i = 0; i < index.size(); ++i)
      if (kept[i] == 1) index[i] = 0;
    lists[result.offset(index)].push_back(element);
  });
  for (std::size_t i = 0; i < lists.size(); ++i) result.x[i] = f(lists[i]);
  if (!keep) result.shape = left;
  return result;
}

/// Each list along `dim` replaced by f of it, a list of any one length.
Grid mapped(const Grid& x, int dim, const std::function<List(const List&)>& f) {
  std::int64_t length = -1;
  Grid result;
  each(with(x.shape, dim, 1), [&](const Dims& index) {
    List list;
    for (std::int64_t i = 0; i < x.shape[dim]; ++i) list.push_back(x(with(index, dim, i)));
    const List made = f(list);
    if (length < 0) {
      length = static_cast<std::int64_t>(made.size());
      result = Grid(with(x.shape, dim, length));
    }
    for (std::int64_t i = 0; i < length; ++i) result(with(index, dim, i)) = made[static_cast<std::size_t>(i)];
  });
  return result;
}

Dual exp_of(Dual x) { return {std::exp(x.v), std::exp(x.v) * x.d}; }
Dual log_of(Dual x) { return {std::log(x.v), x.d / x.v}; }

Dual total(const List& list) {
  Dual sum;
  for (const Dual& x : list) sum = sum + x;
  return sum;
}
Dual product(const List& list) {
  Dual product{1};
  for (const Dual& x : list) product = product * x;
  return product;
}
Dual average(const List& list) { return total(list) / Dual{static_cast<double>(list.size())}; }
Dual spread(const List& list) {
  Dual squares;
  for (const Dual& x : list) squares = squares + (x - average(list)) * (x - average(list));
  return squares / Dual{static_cast<double>(list.size()) - 1};
}

/// Indices in ascending order of value.
std::vector<std::size_t> order(const List& list, Margin& margin) {
  std::vector<std::size_t> places(list.size());
  for (std::size_t i = 0; i < places.size(); ++i) places[i] = i;
  std::sort(places.begin(), places.end(), [&](std::size_t a, std::size_t b) { return list[a].v < list[b].v; });
  for (std::size_t i = 1; i < places.size(); ++i) margin.decided_by(list[places[i]].v - list[places[i - 1]].v);
  return places;
}
Dual largest(const List& list, Margin& margin) {
  std::size_t best = 0;
  for (std::size_t i = 1; i < list.size(); ++i)
    if (list[i].v > list[best].v) best = i;
  for (std::size_t i = 0; i < list.size(); ++i)
    if (i != best) margin.decided_by(list[i].v - list[best].v);
  return list[best];
}
Dual smallest(List list, Margin& margin) {
  for (Dual& x : list) x = Dual{} - x;
  return Dual{} - largest(list, margin);
}
List softmaxed(const List& list) {
  List shares;
  for (const Dual& x : list) {
    Dual sum;
    for (const Dual& other : list) sum = sum + exp_of(other - x);
    shares.push_back(Dual{1} / sum);
  }
  return shares;
}

bool takes_dims(Draft& draft) {
  if (!draft.take(Type::Real, 1)) return false;
  draft.s.dims = draft.some_dims();
  draft.s.flag = draft.coin();
  return true;
}
bool takes_flags_with_dims(Draft& draft) {
  if (!draft.take(Type::Flag, 1)) return false;
  draft.s.dims = draft.some_dims();
  draft.s.flag = draft.coin();
  return true;
}
bool takes_dim(Draft& draft) {
  if (!draft.take(Type::Real, 1)) return false;
  draft.s.dim = draft.some_dim();
  return true;
}

}  // namespace

std::vector<Instruction> reduce_instructions() {
  std::vector<Instruction> list;
  list.push_back(
      {.name = "sum",
       .propose = takes_dims,
       KILN_RUN(sum(x, s.dims, s.flag)),
       .meaning = [](const Grids& in, const Attributes& s, Margin&) { return folded(*in[0], s.dims, s.flag, total); }});
  list.push_back({.name = "mean",
                  .propose = takes_dims,
                  KILN_RUN(mean(x, s.dims, s.flag)),
                  .meaning = [](const Grids& in, const Attributes& s, Margin&) {
                    return folded(*in[0], s.dims, s.flag, average);
                  }});
  list.push_back({.name = "prod",
                  .propose = takes_dims,
                  KILN_RUN(prod(x, s.dims, s.flag)),
                  .meaning = [](const Grids& in, const Attributes& s, Margin& margin) {
                    for (const Dual& e : in[0]->x) margin.decided_by(e.v);  // not near 0, where its gradient divides
                    return folded(*in[0], s.dims, s.flag, product);
                  }});
  list.push_back({.name = "max",
                  .propose = takes_dims,
                  KILN_RUN(max(x, s.dims, s.flag)),
                  .meaning = [](const Grids& in, const Attributes& s, Margin& margin) {
                    return folded(*in[0], s.dims, s.flag, [&](const List& e) { return largest(e, margin); });
                  }});
  list.push_back({.name = "min",
                  .propose = takes_dims,
                  KILN_RUN(min(x, s.dims, s.flag)),
                  .meaning = [](const Grids& in, const Attributes& s, Margin& margin) {
                    return folded(*in[0], s.dims, s.flag, [&](const List& e) { return smallest(e, margin); });
                  }});
  list.push_back({.name = "variance",
                  .propose =
                      [](Draft& draft) {
                        if (!takes_dims(draft)) return false;
                        std::int64_t count = 1;
                        for (const auto dim : draft.s.dims) count *= draft.size(static_cast<int>(dim));
                        return count > 1;
                      },
                  KILN_RUN(variance(x, s.dims, 1, s.flag)),
                  .meaning = [](const Grids& in, const Attributes& s,
                                Margin&) { return folded(*in[0], s.dims, s.flag, spread); }});
  list.push_back({.name = "sum_of_all",
                  .propose = [](Draft& draft) { return draft.take(Type::Real); },
                  KILN_RUN(sum(x)),
                  .meaning =
                      [](const Grids& in, const Attributes&, Margin&) {
                        Grid result{Shape{}};
                        result.x[0] = total(in[0]->x);
                        return result;
                      }});
  list.push_back({.name = "any",
                  .propose = takes_flags_with_dims,
                  KILN_RUN(any(x, s.dims, s.flag)),
                  .meaning = [](const Grids& in, const Attributes& s, Margin&) {
                    return folded(
                        *in[0], s.dims, s.flag, [](const List& e) { return Dual{total(e).v > 0 ? 1.0 : 0.0}; },
                        Type::Flag);
                  }});
  list.push_back({.name = "all",
                  .propose = takes_flags_with_dims,
                  KILN_RUN(all(x, s.dims, s.flag)),
                  .meaning = [](const Grids& in, const Attributes& s, Margin&) {
                    return folded(*in[0], s.dims, s.flag, [](const List& e) { return Dual{product(e).v}; }, Type::Flag);
                  }});
  list.push_back({.name = "argmax",
                  .propose = takes_dim,
                  KILN_RUN(argmax(x, s.dim)),
                  .meaning = [](const Grids& in, const Attributes& s, Margin& margin) {
                    return folded(
                        *in[0], {s.dim}, false,
                        [&](const List& e) { return Dual{static_cast<double>(order(e, margin).back())}; }, Type::Index);
                  }});
  list.push_back(
      {.name = "softmax",
       .propose = takes_dim,
       KILN_RUN(softmax(x, s.dim)),
       .meaning = [](const Grids& in, const Attributes& s, Margin&) { return mapped(*in[0], s.dim, softmaxed); }});
  list.push_back({.name = "log_softmax",
                  .propose = takes_dim,
                  KILN_RUN(log_softmax(x, s.dim)),
                  .meaning = [](const Grids& in, const Attributes& s, Margin&) {
                    return mapped(*in[0], s.dim, [](const List& e) {
                      List logs = softmaxed(e);
                      for (Dual& x : logs) x = log_of(x);
                      return logs;
                    });
                  }});
  list.push_back({.name = "sort",
                  .propose =
                      [](Draft& draft) {
                        draft.s.flag = draft.coin();
                        return takes_dim(draft);
                      },
                  KILN_RUN(sort(x, s.dim, s.flag).values),
                  .meaning =
                      [](const Grids& in, const Attributes& s, Margin& margin) {
                        return mapped(*in[0], s.dim, [&](const List& e) {
                          List sorted;
                          for (const std::size_t i : order(e, margin)) sorted.push_back(e[i]);
                          if (s.flag) std::reverse(sorted.begin(), sorted.end());
                          return sorted;
                        });
                      }});
  list.push_back({.name = "topk",
                  .propose =
                      [](Draft& draft) {
                        if (!takes_dim(draft)) return false;
                        draft.s.a = 1 + draft.below(draft.size(draft.s.dim));
                        return true;
                      },
                  KILN_RUN(topk(x, s.a, s.dim).values),
                  .meaning =
                      [](const Grids& in, const Attributes& s, Margin& margin) {
                        return mapped(*in[0], s.dim, [&](const List& e) {
                          List top;
                          const std::vector<std::size_t> places = order(e, margin);
                          for (std::int64_t i = 0; i < s.a; ++i)
                            top.push_back(e[places[places.size() - 1 - static_cast<std::size_t>(i)]]);
                          return top;
                        });
                      }});
  return list;
}

}  // namespace kiln::programs
