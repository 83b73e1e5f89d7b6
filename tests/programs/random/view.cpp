// The same elements elsewhere: a meaning is the map from an index of the result to one of the operand.
#include "kiln/ops/view/view.hpp"

#include <algorithm>

#include "tests/programs/random/program.hpp"

namespace kiln::programs {
namespace {

Grid moved(const Grid& x, const Shape& shape, const std::function<Dims(const Dims&)>& from) {
  Grid result(shape, {}, x.type);
  each(shape, [&](const Dims& index) { result(index) = x(from(index)); });
  return result;
}

Dims unravelled(std::int64_t offset, const Shape& shape) {
  Dims index = Dims::filled(shape.size(), 0);
  for (int i = shape.size() - 1; i >= 0; --i) {
    index[i] = offset % shape[i];
    offset /= shape[i];
  }
  return index;
}

Grid same_order(const Grid& x, const Shape& shape) {
  Grid result = x;
  result.shape = shape;
  return result;
}

bool takes_with_dim(Draft& draft) {
  if (!draft.take(draft.below(6) ? Type::Real : Type::Flag, 1)) return false;
  draft.s.dim = draft.some_dim();
  return true;
}

}  // namespace

std::vector<Instruction> view_instructions() {
  std::vector<Instruction> list;
  list.push_back({.name = "reshape",
                  .propose =
                      [](Draft& draft) {
                        if (!draft.take(Type::Real)) return false;
                        std::int64_t left = static_cast<std::int64_t>(draft.grid(0).x.size());
                        for (std::int64_t i = draft.below(3); i >= 0; --i) {
                          std::int64_t size = draft.below(4) + 1;
                          if (left % size) size = 1;
                          draft.s.dims.push_back(size);
                          left /= size;
                        }
                        draft.s.dims.push_back(left);
                        return true;
                      },
                  KILN_RUN(reshape(x, s.dims)),
                  .meaning =
                      [](const Grids& in, const Attributes& s, Margin&) {
                        return moved(*in[0], s.dims, [&](const Dims& index) {
                          std::int64_t offset = 0;
                          for (int i = 0; i < index.size(); ++i) offset = offset * s.dims[i] + index[i];
                          return unravelled(offset, in[0]->shape);
                        });
                      }});
  list.push_back({.name = "flatten",
                  .propose = [](Draft& draft) { return draft.take(Type::Real, 2); },
                  KILN_RUN(flatten(x, -2, -1)),
                  .meaning =
                      [](const Grids& in, const Attributes&, Margin&) {
                        Shape shape = in[0]->shape;
                        const std::int64_t last = shape.back();
                        shape.pop_back();
                        shape.back() *= last;
                        return same_order(*in[0], shape);
                      }});
  list.push_back({.name = "unsqueeze",
                  .propose =
                      [](Draft& draft) {
                        if (!draft.take(Type::Real, 0, 4)) return false;
                        draft.s.dim = static_cast<int>(draft.below(draft.grid(0).rank() + 1));
                        return true;
                      },
                  KILN_RUN(unsqueeze(x, s.dim)),
                  .meaning =
                      [](const Grids& in, const Attributes& s, Margin&) {
                        Shape shape = in[0]->shape;
                        shape.insert(s.dim, 1);
                        return same_order(*in[0], shape);
                      }});
  list.push_back({.name = "permute",
                  .propose =
                      [](Draft& draft) {
                        if (!draft.take(Type::Real, 2)) return false;
                        draft.s.dims = draft.some_dims();
                        for (int i = 0; i < draft.grid(0).rank(); ++i)
                          if (std::find(draft.s.dims.begin(), draft.s.dims.end(), i) == draft.s.dims.end())
                            draft.s.dims.push_back(i);
                        return true;
                      },
                  KILN_RUN(permute(x, s.dims)),
                  .meaning =
                      [](const Grids& in, const Attributes& s, Margin&) {
                        Shape shape;
                        for (const auto dim : s.dims) shape.push_back(in[0]->shape[static_cast<int>(dim)]);
                        return moved(*in[0], shape, [&](const Dims& index) {
                          Dims from = index;
                          for (int i = 0; i < index.size(); ++i) from[static_cast<int>(s.dims[i])] = index[i];
                          return from;
                        });
                      }});
  list.push_back({.name = "transpose",
                  .propose = [](Draft& draft) { return draft.take(Type::Real, 2); },
                  KILN_RUN(transpose(x)),
                  .meaning =
                      [](const Grids& in, const Attributes&, Margin&) {
                        Shape shape = in[0]->shape;
                        const int last = shape.size() - 1;
                        std::swap(shape[last], shape[last - 1]);
                        return moved(*in[0], shape, [&](Dims index) {
                          std::swap(index[last], index[last - 1]);
                          return index;
                        });
                      }});
  list.push_back({.name = "flip",
                  .propose = takes_with_dim,
                  KILN_RUN(flip(x, {s.dim})),
                  .meaning = [](const Grids& in, const Attributes& s, Margin&) {
                    return moved(*in[0], in[0]->shape, [&](const Dims& index) {
                      return with(index, s.dim, in[0]->shape[s.dim] - 1 - index[s.dim]);
                    });
                  }});
  list.push_back({.name = "roll",
                  .propose =
                      [](Draft& draft) {
                        draft.s.a = draft.below(9) - 4;
                        return takes_with_dim(draft);
                      },
                  KILN_RUN(roll(x, s.a, s.dim)),
                  .meaning =
                      [](const Grids& in, const Attributes& s, Margin&) {
                        const std::int64_t size = in[0]->shape[s.dim];
                        return moved(*in[0], in[0]->shape, [&](const Dims& index) {
                          return with(index, s.dim, ((index[s.dim] - s.a) % size + size) % size);
                        });
                      }});
  list.push_back({.name = "repeat",
                  .propose =
                      [](Draft& draft) {
                        if (!draft.take(Type::Real, 1, 3)) return false;
                        for (int i = 0; i < draft.grid(0).rank(); ++i) draft.s.dims.push_back(1 + draft.below(2));
                        return true;
                      },
                  KILN_RUN(repeat(x, s.dims)),
                  .meaning =
                      [](const Grids& in, const Attributes& s, Margin&) {
                        Shape shape = in[0]->shape;
                        for (int i = 0; i < shape.size(); ++i) shape[i] *= s.dims[i];
                        return moved(*in[0], shape, [&](Dims index) {
                          for (int i = 0; i < index.size(); ++i) index[i] %= in[0]->shape[i];
                          return index;
                        });
                      }});
  list.push_back({.name = "expand",
                  .propose =
                      [](Draft& draft) {
                        if (!draft.take(Type::Real, 0, 4)) return false;
                        draft.s.dims = draft.grid(0).shape;
                        for (auto& size : draft.s.dims) size = size == 1 ? 1 + draft.below(3) : size;
                        if (draft.coin()) draft.s.dims.insert(0, 1 + draft.below(3));
                        return true;
                      },
                  KILN_RUN(expand(x, s.dims)),
                  .meaning =
                      [](const Grids& in, const Attributes& s, Margin&) {
                        const int added = s.dims.size() - in[0]->rank();
                        return moved(*in[0], s.dims, [&](const Dims& index) {
                          Dims from;
                          for (int i = 0; i < in[0]->rank(); ++i)
                            from.push_back(in[0]->shape[i] == 1 ? 0 : index[i + added]);
                          return from;
                        });
                      }});
  list.push_back({.name = "slice",
                  .propose =
                      [](Draft& draft) {
                        if (!draft.take(Type::Real, 1)) return false;
                        for (int i = 0; i < draft.grid(0).rank(); ++i) {
                          const std::int64_t size = draft.size(i), at = draft.below(size);
                          if (size < 2) draft.s.ranges.push_back({});
                          else if (draft.coin()) draft.s.ranges.push_back({at, {}, 1 + draft.below(2)});
                          else draft.s.ranges.push_back({at, {}, -1 - draft.below(2)});
                        }
                        return true;
                      },
                  KILN_RUN(slice(x, s.ranges)),
                  .meaning =
                      [](const Grids& in, const Attributes& s, Margin&) {
                        Shape shape = in[0]->shape;
                        for (int i = 0; i < shape.size(); ++i) {
                          const Range& range = s.ranges[static_cast<std::size_t>(i)];
                          if (!range.from) continue;
                          shape[i] = range.step > 0 ? (shape[i] - *range.from + range.step - 1) / range.step
                                                    : (*range.from - range.step) / -range.step;
                        }
                        return moved(*in[0], shape, [&](Dims index) {
                          for (int i = 0; i < index.size(); ++i) {
                            const Range& range = s.ranges[static_cast<std::size_t>(i)];
                            index[i] = range.from.value_or(0) + index[i] * range.step;
                          }
                          return index;
                        });
                      }});
  list.push_back({.name = "narrow",
                  .propose =
                      [](Draft& draft) {
                        if (!takes_with_dim(draft)) return false;
                        draft.s.a = draft.below(draft.size(draft.s.dim));
                        draft.s.b = 1 + draft.below(draft.size(draft.s.dim) - draft.s.a);
                        return true;
                      },
                  KILN_RUN(narrow(x, s.dim, s.a, s.b)),
                  .meaning =
                      [](const Grids& in, const Attributes& s, Margin&) {
                        return moved(*in[0], with(in[0]->shape, s.dim, s.b),
                                     [&](const Dims& index) { return with(index, s.dim, index[s.dim] + s.a); });
                      }});
  list.push_back({.name = "at",
                  .propose =
                      [](Draft& draft) {
                        if (!takes_with_dim(draft)) return false;
                        draft.s.a = draft.below(draft.size(draft.s.dim));
                        return true;
                      },
                  KILN_RUN(at(x, s.dim, s.a)),
                  .meaning =
                      [](const Grids& in, const Attributes& s, Margin&) {
                        return moved(*in[0], without(in[0]->shape, s.dim), [&](Dims index) {
                          index.insert(s.dim, s.a);
                          return index;
                        });
                      }});
  list.push_back({.name = "split",
                  .propose =
                      [](Draft& draft) {
                        if (!takes_with_dim(draft)) return false;
                        const std::int64_t size = draft.size(draft.s.dim);
                        draft.s.a = 1 + draft.below(size);
                        draft.s.b = draft.below((size + draft.s.a - 1) / draft.s.a);
                        return true;
                      },
                  KILN_RUN(split(x, s.a, s.dim)[static_cast<std::size_t>(s.b)]),
                  .meaning =
                      [](const Grids& in, const Attributes& s, Margin&) {
                        const std::int64_t count = std::min(s.a, in[0]->shape[s.dim] - s.a * s.b);
                        return moved(*in[0], with(in[0]->shape, s.dim, count),
                                     [&](const Dims& index) { return with(index, s.dim, index[s.dim] + s.a * s.b); });
                      }});
  list.push_back({.name = "pad",
                  .propose =
                      [](Draft& draft) {
                        if (!draft.take(Type::Real, 1, 3)) return false;
                        for (int i = 0; i < draft.grid(0).rank(); ++i) {
                          draft.s.dims.push_back(draft.below(3));
                          draft.s.more.push_back(draft.below(2));
                        }
                        draft.s.low = 0.5;
                        return true;
                      },
                  KILN_RUN(pad(x, s.dims, s.more, s.low)),
                  .meaning =
                      [](const Grids& in, const Attributes& s, Margin&) {
                        Shape shape = in[0]->shape;
                        for (int i = 0; i < shape.size(); ++i) shape[i] += s.dims[i] + s.more[i];
                        Grid result(shape, {s.low});
                        each(in[0]->shape, [&](const Dims& index) {
                          Dims to = index;
                          for (int i = 0; i < to.size(); ++i) to[i] += s.dims[i];
                          result(to) = (*in[0])(index);
                        });
                        return result;
                      }});
  list.push_back({.name = "slice_assign",
                  .propose =
                      [](Draft& draft) {
                        if (!draft.take(Type::Real, 1)) return false;
                        Shape part = draft.grid(0).shape;
                        draft.s.a = draft.below(part[0]);
                        part[0] -= draft.s.a;
                        draft.s.ranges = {{draft.s.a, {}}};
                        draft.make(part);
                        return true;
                      },
                  KILN_RUN(slice_assign(x, s.ranges, y)),
                  .meaning =
                      [](const Grids& in, const Attributes& s, Margin&) {
                        Grid result = *in[0];
                        each(in[1]->shape,
                             [&](const Dims& index) { result(with(index, 0, index[0] + s.a)) = (*in[1])(index); });
                        return result;
                      }});
  const auto takes_neighbours = [](Draft& draft, bool same) {
    if (!takes_with_dim(draft)) return false;
    const Grid first = draft.grid(0);
    const int dim = draft.s.dim;
    const auto fits = [&](const Grid& other) {
      return other.type == first.type && other.rank() == first.rank() &&
             (same ? other.shape == first.shape : without(other.shape, dim) == without(first.shape, dim));
    };
    return draft.take_where(fits);
  };
  list.push_back({.name = "cat",
                  .propose = [=](Draft& draft) { return takes_neighbours(draft, false); },
                  KILN_RUN(cat(Values{x, y, x}, s.dim)),
                  .meaning =
                      [](const Grids& in, const Attributes& s, Margin&) {
                        const std::int64_t a = in[0]->shape[s.dim], b = in[1]->shape[s.dim];
                        Grid result(with(in[0]->shape, s.dim, a + b + a), {}, in[0]->type);
                        each(result.shape, [&](const Dims& index) {
                          const std::int64_t i = index[s.dim];
                          result(index) = i < a       ? (*in[0])(index)
                                          : i < a + b ? (*in[1])(with(index, s.dim, i - a))
                                                      : (*in[0])(with(index, s.dim, i - a - b));
                        });
                        return result;
                      }});
  list.push_back({.name = "stack",
                  .propose = [=](Draft& draft) { return takes_neighbours(draft, true); },
                  KILN_RUN(stack(Values{x, y}, s.dim)),
                  .meaning =
                      [](const Grids& in, const Attributes& s, Margin&) {
                        Shape shape = in[0]->shape;
                        shape.insert(s.dim, 2);
                        Grid result(shape, {}, in[0]->type);
                        each(shape, [&](const Dims& index) {
                          result(index) = (*in[static_cast<std::size_t>(index[s.dim])])(without(index, s.dim));
                        });
                        return result;
                      }});
  return list;
}

}  // namespace kiln::programs
