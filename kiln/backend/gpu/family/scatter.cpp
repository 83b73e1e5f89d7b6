// Writes by index. Items of the source, which are elements or whole slices, go to numbered items of the result. If
// several go to one place, the last assignment wins, and sums are added in the order of the source, as on the CPU: the
// source is sorted by destination, and one thread adds all items of a place.
#include <algorithm>

#include "kiln/backend/gpu/family/checks.hpp"
#include "kiln/backend/gpu/family/family.hpp"
#include "kiln/backend/gpu/family/index.hpp"
#include "kiln/backend/gpu/family/sort.hpp"

namespace kiln::gpu::family {
namespace {

/// The items of an op: for each of `outer`, `count` items of `inner` elements are written to `places` such items.
struct Writes {
  std::int64_t outer, places, count, inner;
  DType key() const { return places < 0xffffffff ? DType::U32 : DType::U64; }
};

/// The destination of each item of the source; `places` if the index is wrong, which is reported.
struct DestinationKernel {
  DType indices, key, index, report_as;
  int rank;

  Kernel kernel() const {
    Builder k("destinations", kThreads);
    const Buffer which = k.input(indices), keys = k.output(key), cell = k.both(report_as);
    const Expr count = k.number(index), size = k.number(DType::I64), stride = k.number(DType::I64);
    const Expr none = k.number(key);
    const Offsets places(k, index, rank, 2);
    const Expr i = k.place(index);
    k.when(i < count, [&] {
      const std::vector<Expr> at = places.of(i);
      const Expr wanted = which[at[0]].as(DType::I64);
      k.when((wanted >= 0) & (wanted < size), [&] { keys.store(i, (at[1].as(DType::I64) + wanted * stride).as(key)); },
             [&] {
               keys.store(i, none);
               report(cell, i.as(DType::I64));
             });
    });
    return k.finish();
  }
};

/// The last item that goes to each place, counted from 1.
struct WinnerKernel {
  DType key;

  Kernel kernel() const {
    Builder k("winners", kThreads);
    const Buffer keys = k.input(key), winners = k.both(DType::U32);
    const Expr count = k.number(DType::I64), places = k.number(key);
    const Expr i = k.place(DType::I64);
    k.when(i < count, [&] {
      const Expr to = keys[i];
      k.when(to < places, [&] { winners.update(Update::Maximum, to, (i + 1).as(DType::U32)); });
    });
    return k.finish();
  }
};

/// What a thread handles: a few elements of an item.
struct Item {
  Expr item, place, outer, from, to;  // the item's number; the offset where its data begin

  Item(Builder& k, int width, const Expr& each, const Expr& count)
      : item(k.block().as(each.type()) * kThreads + k.thread().as(each.type())),
        place(item % each * width),
        outer(item / each / count),
        from(item / each % count) {}
};

struct AssignKernel {
  DType word, key, index;
  int width;

  Kernel kernel() const {
    Builder k("assign", kThreads);
    const Buffer source = k.input(word), keys = k.input(key), winners = k.input(DType::U32), z = k.output(word);
    const Expr all = k.number(index), each = k.number(index), count = k.number(index);
    const Expr places = k.number(key);
    const Item at(k, width, each, count);
    k.when(at.item < all, [&] {
      const Expr to = keys[at.from];
      k.when(to < places, [&] {
        k.when(winners[to] == (at.from + 1).as(DType::U32), [&] {
          const Expr target = at.outer * places.as(index) + to.as(index);
          z.store((target * each) * width + at.place, source.load(at.item * width, width));
        });
      });
    });
    return k.finish();
  }
};

/// The first of the sorted items that go to one place adds up all of them.
struct CombineKernel {
  DType dtype, key, index;
  kiln::Update update;
  int width;

  Kernel kernel() const {
    Builder k("combine", kThreads);
    const Buffer source = k.input(dtype), keys = k.input(key), order = k.input(DType::I32), z = k.both(dtype);
    const Expr all = k.number(index), each = k.number(index), count = k.number(index);
    const Expr places = k.number(key);
    const Item at(k, width, each, count);
    k.when(at.item < all, [&] {
      const Expr to = keys[at.from];
      const Expr is_first = (at.from == 0) | (keys[max(at.from - 1, k.literal(index, 0))] != to);
      k.when(is_first & (to < places), [&] {
        const Expr target = (at.outer * places.as(index) + to.as(index)) * each * width + at.place;
        const Local sum = k.local(dtype, width);
        const std::vector<Expr> old = z.load(target, width);
        for (int i = 0; i < width; ++i) sum.set(i, old[static_cast<std::size_t>(i)]);
        const Local next = k.variable(at.from);
        const auto add = [&](int items) {  // loads all of them before it waits for one
          std::vector<std::vector<Expr>> loaded;
          for (int j = 0; j < items; ++j) {
            const Expr from = at.outer * count + order[next + j].as(index);
            loaded.push_back(source.load(from * each * width + at.place, width));
          }
          for (const auto& item : loaded)
            for (int i = 0; i < width; ++i) sum.set(i, updated(sum[i], item[static_cast<std::size_t>(i)]));
          next.set(next + items);
        };
        const auto there = [&](int items) {  // do this many more items go to the same place?
          const Expr last = next + (items - 1);
          return (last < count) & (keys[min(last, count - 1)] == to);
        };
        const int many = width > 4 ? 4 : 8;
        k.loop_while([&] { return there(many); }, [&] { add(many); });
        k.loop_while([&] { return there(1); }, [&] { add(1); });
        std::vector<Expr> values;
        for (int i = 0; i < width; ++i) values.push_back(dtype == DType::Bool ? (sum[i] != 0).as(DType::I32) : sum[i]);
        z.store(target, values);
      });
    });
    return k.finish();
  }

 private:
  Expr updated(const Expr& a, const Expr& b) const {
    switch (update) {
      case kiln::Update::Add: return a + b;
      case kiln::Update::Mul: return a * b;
      case kiln::Update::Min: return select((b != b) | (b < a), b, a);
      case kiln::Update::Max: return select((b != b) | (b > a), b, a);
      case kiln::Update::Assign: break;
    }
    return b;
  }
};

/// The type that counts the elements on both sides.
DType counted(const Writes& writes) {
  return index_type(writes.outer * std::max(writes.places, writes.count) * writes.inner);
}

/// How many neighbours of a slice can be moved at once.
int width_of(std::int64_t inner, std::size_t bytes, const Array& source, const Array& z) {
  const auto width = static_cast<std::int64_t>(16 / bytes);
  return inner % width == 0 && is_aligned(source) && is_aligned(z) ? static_cast<int>(width) : 1;
}

void assign(Gpu& gpu, const Writes& writes, const Array& keys, const Array& source, const Array& z) {
  const Value winners = gpu.scratch({{writes.places}, DType::U32});
  gpu.driver().clear(read(winners).data, static_cast<std::size_t>(writes.places) * sizeof(std::uint32_t));
  const auto none = Argument(writes.places);
  gpu.launch(WinnerKernel{keys.dtype}, blocks_for(writes.count, kThreads), {keys, read(winners), writes.count, none});
  // Elements are copied unchanged, in the largest words that fit.
  const std::size_t size = size_of(z.dtype);
  const int elements = width_of(writes.inner, size, source, z);
  const std::size_t bytes = static_cast<std::size_t>(elements) * size, word = std::min<std::size_t>(bytes, 8);
  const std::int64_t each = writes.inner / elements, all = writes.outer * writes.count * each;
  gpu.launch(AssignKernel{word_of(word), keys.dtype, counted(writes), static_cast<int>(bytes / word)},
             blocks_for(all, kThreads), {source, keys, read(winners), z, all, each, writes.count, none});
}

void combine(Gpu& gpu, const Writes& writes, kiln::Update update, const Value& keys, const Array& source,
             const Array& z) {
  int bits = 1;
  while (bits < 64 && writes.places >> bits) ++bits;
  const Sorted sorted = sort_keys(gpu, keys, bits);
  const int width = width_of(writes.inner, size_of(z.dtype), source, z);
  const std::int64_t each = writes.inner / width, all = writes.outer * writes.count * each;
  gpu.launch(CombineKernel{z.dtype, writes.key(), counted(writes), update, width}, blocks_for(all, kThreads),
             {source, read(sorted.keys), read(sorted.places), z, all, each, writes.count, Argument(writes.places)});
}

/// Both ops have the same slots. `destinations` are the strides, along the index, of each item's destination, and
/// `stride` is the one along the dimension that is written to.
template <class Op>
bool run_update(Gpu& gpu, const Op& op, Call call, int dim, const Writes& writes, const Dims& destinations,
                std::int64_t stride) {
  if (writes.count > kLongestLine) return false;
  const Array indices = read(call.in[Op::index]);
  const std::int64_t size = call.out[0].shape()[dim];
  if (!gpu.take_memory(call.out[0], contiguous_strides(call.out[0].shape()), call, Op::x))
    copy(gpu, read(call.in[Op::x]), gpu.allocate(call.out[0]));
  const Array z = gpu.allocate(call.out[0]);
  if (writes.count == 0) return true;

  const Value cell = gpu.check_cell(writes.count), keys = gpu.scratch({{1, writes.count}, writes.key()});
  const Dims strides[] = {indices.strides, destinations};
  const Loop loop = merged(indices.shape, strides);
  std::vector<Argument> arguments{indices, read(keys), read(cell), writes.count, size, stride, writes.places};
  Offsets::append(arguments, loop);
  gpu.launch(DestinationKernel{indices.dtype, writes.key(), index_type(loop), cell.dtype(), loop.sizes.size()},
             blocks_for(writes.count, kThreads), arguments);
  check_indices(gpu, cell, call, call.in[Op::index], op.function_name(), dim, size);
  if (z.numel() == 0) return true;

  Value held;
  const Array source = gpu.read_contiguous(call.in[Op::source], held);
  if (op.update == kiln::Update::Assign) assign(gpu, writes, read(keys), source, z);
  else combine(gpu, writes, op.update, keys, source, z);
  return true;
}

}  // namespace

bool run(Gpu& gpu, const op::Scatter& op, Call call) {
  const Shape& shape = call.out[0].shape();
  const int dim = wrap_dim(op.function_name(), op.dim, shape.size());
  Dims strides = contiguous_strides(shape);
  const std::int64_t stride = strides[dim];
  strides[dim] = 0;
  return run_update(gpu, op, call, dim, {1, numel(shape), call.in[op::Scatter::index].numel(), 1}, strides, stride);
}

bool run(Gpu& gpu, const op::SelectUpdate& op, Call call) {
  const Shape& shape = call.out[0].shape();
  const Value& index = call.in[op::SelectUpdate::index];
  const int dim = wrap_dim(op.function_name(), op.dim, shape.size());
  Writes writes{1, shape[dim], index.numel(), 1};
  for (int i = 0; i < dim; ++i) writes.outer *= shape[i];
  for (int i = dim + 1; i < shape.size(); ++i) writes.inner *= shape[i];
  return run_update(gpu, op, call, dim, writes, Dims::filled(index.rank(), 0), 1);
}

}  // namespace kiln::gpu::family
