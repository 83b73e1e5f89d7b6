#include "kiln/backend/gpu/family/spatial/occurrences.hpp"

#include "kiln/backend/gpu/family/checks.hpp"
#include "kiln/backend/gpu/family/index.hpp"

namespace kiln::gpu::family {
namespace {

// Traversing a list in order takes quadratic time in its length.
constexpr int kLongest = 32;

/// Links each index before earlier ones, in whatever order the threads run. Nodes count from 1; 0 is the end.
struct LinkKernel {
  DType indices, index, report_as;
  bool checked;

  Kernel kernel() const {
    Builder k("link_occurrences", kThreads);
    const Buffer from = k.input(indices), heads = k.both(DType::I32), next = k.output(DType::I32);
    const Buffer cell = checked ? k.both(report_as) : Buffer();
    const Expr all = k.number(index), count = k.number(index), places = k.number(index), beside = k.number(index);
    const Expr i = k.place(index);
    k.when(i < all, [&] {
      const Expr place = from[i].as(DType::I64);
      k.when((place >= 0) & (place < places.as(DType::I64)),
             [&] {
               const Expr lines = count * beside, node = (i % lines + 1).as(DType::I32);
               const Expr head = (i / lines * places + place.as(index)) * beside + i % beside;
               next.store(i, heads.update(Update::Exchange, head, node));
             },
             [&] {
               if (!checked) return;
               const Expr rest = i % (count * beside), line = i / (count * beside) * beside + rest % beside;
               report(cell, (line * count + rest / beside).as(DType::I64));
             });
    });
    return k.finish();
  }
};

}  // namespace

Occurrences find_occurrences(Gpu& gpu, const Array& indices, const IndexLines& lines, const Value& cell) {
  const std::int64_t all = indices.numel(), heads_in_all = lines.count * lines.places;
  Occurrences found{gpu.scratch({{heads_in_all}, DType::I32}), gpu.scratch({{all}, DType::I32})};
  const Array heads = read(found.heads), next = read(found.next);
  if (heads_in_all) gpu.driver().clear(heads.data, static_cast<std::size_t>(heads_in_all) * sizeof(std::int32_t));
  if (all == 0) return found;
  const DType index = index_type({all, heads_in_all});
  std::vector<Argument> arguments{indices, heads, next};
  if (cell) arguments.emplace_back(read(cell));
  for (const std::int64_t number : {all, all / lines.count, lines.places, lines.beside}) arguments.emplace_back(number);
  gpu.launch(LinkKernel{indices.dtype, index, cell ? cell.dtype() : DType::I64, static_cast<bool>(cell)},
             blocks_for(all, kThreads), arguments);
  return found;
}

OccurrenceReader::OccurrenceReader(Builder& k, DType indices, DType index)
    : k_(k),
      index_(index),
      heads_(k.input(DType::I32)),
      next_(k.input(DType::I32)),
      indices_(k.input(indices)),
      count_(k.number(index)),
      places_(k.number(index)),
      beside_(k.number(index)) {}

void OccurrenceReader::append(std::vector<Argument>& arguments, const Occurrences& found, const Array& indices,
                              const IndexLines& lines) {
  for (const Argument& argument :
       {Argument(read(found.heads)), Argument(read(found.next)), Argument(indices),
        Argument(lines.count ? indices.numel() / lines.count : 0), Argument(lines.places), Argument(lines.beside)})
    arguments.push_back(argument);
}

void OccurrenceReader::each(const Expr& block, const Expr& place, const Expr& line,
                            FunctionRef<void(const Expr&)> f) const {
  const Expr none = k_.literal(DType::I32, 0), one = k_.literal(DType::I32, 1);
  const Expr first = block * count_ * beside_, head = heads_[(block * places_ + place) * beside_ + line];
  const auto after = [&](const Expr& node) { return next_[first + (node - 1).as(index_)]; };
  k_.when(head != 0, [&] {
    // The least node of the list, and the list's length: most lists have one node.
    const Local least = k_.variable(head), length = k_.variable(one), node = k_.variable(after(head));
    k_.loop_while([&] { return (node.get() != 0) & (length.get() <= kLongest); },
                  [&] {
                    least.set(min(least.get(), node.get()));
                    length.set(length.get() + 1);
                    node.set(after(node));
                  });
    // One loop for both cases, so that f is written once: over the list's nodes, or over the whole line.
    const Expr listed = length.get() <= kLongest;
    const Expr point_of_least = ((least.get() - 1).as(index_) - line) / beside_;
    const Local left = k_.variable(select(listed, length.get().as(index_), count_));
    const Local point = k_.variable(select(listed, point_of_least, k_.literal(index_, 0)));
    k_.loop_while([&] { return left.get() > 0; },
                  [&] {
                    const Expr own = point.get(), at = own * beside_ + line;
                    const Local named = k_.variable(one);
                    k_.when(!listed, [&] {
                      named.set((indices_[first + at].as(DType::I64) == place.as(DType::I64)).as(DType::I32));
                    });
                    k_.when(named.get() != 0, [&] { f(own); });
                    left.set(left.get() - 1);
                    point.set(own + 1);
                    k_.when(listed & (left.get() > 0), [&] {
                      const Expr own_node = at.as(DType::I32) + 1;
                      const Local later = k_.variable(none);  // the least of those after it
                      node.set(head);
                      k_.loop_while([&] { return node.get() != 0; },
                                    [&] {
                                      const Expr other = node.get();
                                      k_.when((other > own_node) & ((later.get() == 0) | (other < later.get())),
                                              [&] { later.set(other); });
                                      node.set(after(other));
                                    });
                      point.set(((later.get() - 1).as(index_) - line) / beside_);
                    });
                  });
  });
}

}  // namespace kiln::gpu::family
