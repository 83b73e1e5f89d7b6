#include "kiln/backend/gpu/family/spatial/occurrences.hpp"

#include "kiln/backend/gpu/family/checks.hpp"
#include "kiln/backend/gpu/family/index.hpp"

namespace kiln::gpu::family {
namespace {

constexpr int kThreads = 256;
// Putting a list in order takes the square of its length.
constexpr int kLongest = 32;

/// Each index before those that came earlier, in whatever order the threads do. Nodes count from 1; 0 is the end.
struct LinkKernel {
  DType indices, index;
  bool checked;

  Kernel kernel() const {
    Builder k("link_occurrences", kThreads);
    const Buffer from = k.input(indices), heads = k.both(DType::I32), next = k.output(DType::I32);
    const Buffer cell = checked ? k.both(DType::I64) : Buffer();
    const Expr all = k.number(index), count = k.number(index), places = k.number(index);
    const Expr i = k.place(index);
    k.when(i < all, [&] {
      const Expr place = from[i].as(DType::I64);
      k.when((place >= 0) & (place < places.as(DType::I64)),
             [&] {
               const Expr node = (i % count + 1).as(DType::I32);
               next.store(i, heads.update(Update::Exchange, i / count * places + place.as(index), node));
             },
             [&] {
               if (checked) report(cell, i.as(DType::I64));
             });
    });
    return k.finish();
  }
};

struct OrderKernel {
  DType index;

  Kernel kernel() const {
    Builder k("order_occurrences", kThreads);
    const Buffer heads = k.both(DType::I32), next = k.both(DType::I32);
    const Expr all = k.number(index), count = k.number(index), places = k.number(index);
    const Expr i = k.place(index);
    const Expr zero = k.literal(DType::I32, 0);
    k.when(i < all, [&] {
      const Expr line = i / places * count - 1;  // node 1 is its first
      const auto at = [&](const Expr& node) { return line + node.as(index); };
      const Local node = k.variable(heads[i]), sorted = k.variable(zero), length = k.variable(zero);
      k.loop_while([&] { return (node != 0) & (length < kLongest); },
                   [&] {
                     const Expr own = node.get(), rest = next[at(own)];
                     const Local before = k.variable(zero), after = k.variable(sorted);
                     k.loop_while([&] { return (after.get() != 0) & (after.get() < own); },
                                  [&] {
                                    before.set(after);
                                    after.set(next[at(after)]);
                                  });
                     next.store(at(own), after);
                     k.when(before.get() == 0, [&] { sorted.set(own); }, [&] { next.store(at(before), own); });
                     node.set(rest);
                     length.set(length.get() + 1);
                   });
      heads.store(i, select(node.get() != 0, k.literal(DType::I32, -1), sorted));
    });
    return k.finish();
  }
};

}  // namespace

Occurrences find_occurrences(Gpu& gpu, const Array& indices, std::int64_t lines, std::int64_t places,
                             const Value& cell) {
  const std::int64_t all = indices.numel(), count = lines ? all / lines : 0;
  Occurrences found{gpu.scratch({{lines, places}, DType::I32}), gpu.scratch({{lines, count}, DType::I32})};
  const Array heads = read(found.heads), next = read(found.next);
  if (heads.numel()) gpu.driver().clear(heads.data, static_cast<std::size_t>(heads.numel()) * sizeof(std::int32_t));
  if (all == 0) return found;
  const DType index = index_type({all, heads.numel()});
  std::vector<Argument> arguments{indices, heads, next};
  if (cell) arguments.emplace_back(read(cell));
  for (const std::int64_t number : {all, count, places}) arguments.emplace_back(number);
  gpu.launch(LinkKernel{indices.dtype, index, static_cast<bool>(cell)}, blocks_for(all, kThreads), arguments);
  gpu.launch(OrderKernel{index}, blocks_for(heads.numel(), kThreads), {heads, next, heads.numel(), count, places});
  return found;
}

OccurrenceReader::OccurrenceReader(Builder& k, DType indices, DType index)
    : k_(k),
      index_(index),
      heads_(k.input(DType::I32)),
      next_(k.input(DType::I32)),
      indices_(k.input(indices)),
      count_(k.number(index)),
      places_(k.number(index)) {}

void OccurrenceReader::append(std::vector<Argument>& arguments, const Occurrences& found, const Array& indices,
                              std::int64_t lines, std::int64_t places) {
  for (const Argument& argument : {Argument(read(found.heads)), Argument(read(found.next)), Argument(indices),
                                   Argument(lines ? indices.numel() / lines : 0), Argument(places)})
    arguments.push_back(argument);
}

void OccurrenceReader::each(const Expr& line, const Expr& place, FunctionRef<void(const Expr&)> f) const {
  const Expr first = line * count_, one = k_.literal(index_, 1);
  const Local node = k_.variable(heads_[line * places_ + place]);
  // One loop over either, so that f is written once: over the list's nodes, or over all of the line.
  const Expr listed = node.get() >= 0;
  const Local i = k_.variable(select(listed, node.get().as(index_) - one, k_.literal(index_, 0)));
  k_.loop_while([&] { return (i.get() >= 0) & (i.get() < count_); },
                [&] {
                  const Expr own = i.get();
                  const Local named = k_.variable(k_.literal(DType::I32, 1));
                  k_.when(!listed, [&] {
                    named.set((indices_[first + own].as(DType::I64) == place.as(DType::I64)).as(DType::I32));
                  });
                  k_.when(named.get() != 0, [&] { f(own); });
                  i.set(own + 1);
                  k_.when(listed, [&] { i.set(next_[first + own].as(index_) - one); });
                });
}

}  // namespace kiln::gpu::family
