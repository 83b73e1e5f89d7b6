// Indices as data: RavelIndex, Nonzero; and Within, which checks data.
#include <cmath>

#include "kiln/backend/gpu/family/checks.hpp"
#include "kiln/backend/gpu/family/family.hpp"
#include "kiln/backend/gpu/family/index.hpp"
#include "kiln/backend/gpu/family/prefix.hpp"

namespace kiln::gpu::family {
namespace {

struct RavelKernel {
  std::vector<DType> indices;
  DType index, report_as;
  int rank;

  Kernel kernel() const {
    Builder k("ravel_index", kThreads);
    std::vector<Buffer> buffers;
    std::vector<Expr> sizes;
    for (const DType dtype : indices) buffers.push_back(k.input(dtype));
    const Buffer z = k.output(DType::I64), cell = k.both(report_as);
    for (std::size_t i = 0; i < indices.size(); ++i) sizes.push_back(k.number(DType::I64));
    const Expr count = k.number(index);
    const Offsets places(k, index, rank, static_cast<int>(indices.size()));
    const Expr i = k.place(index);
    k.when(i < count, [&] {
      const std::vector<Expr> at = places.of(i);
      Expr flat = k.literal(DType::I64, 0);
      for (std::size_t d = 0; d < indices.size(); ++d) {
        const Expr wanted = buffers[d][at[d]].as(DType::I64);
        const std::int64_t before = static_cast<std::int64_t>(d);
        k.when((wanted < -sizes[d]) | (wanted >= sizes[d]),
               [&] { report(cell, count.as(DType::I64) * before + i.as(DType::I64)); });
        flat = flat * sizes[d] + select(wanted < 0, wanted + sizes[d], wanted);
      }
      z.store(i, flat);
    });
    return k.finish();
  }
};

/// The flags that a thread of the two kernels below reads from a tile: kEach neighbours, as Bools.
constexpr int kEach = 8;
std::vector<Expr> flags_of(Builder& k, const Buffer& flags, const Expr& first, const Expr& count) {
  std::vector<Expr> all;
  for (int i = 0; i < kEach; ++i) {
    const Local flag = k.variable(k.literal(DType::I32, 0));
    k.when(first + i < count,
           [&] { flag.set(select(flags[first + i] != 0, k.literal(DType::I32, 1), k.literal(DType::I32, 0))); });
    all.push_back(flag);
  }
  return all;
}
Expr sum_of(const std::vector<Expr>& all) {
  Expr sum = all[0];
  for (std::size_t i = 1; i < all.size(); ++i) sum = sum + all[i];
  return sum;
}

/// Counts the true elements of each tile.
struct CountTrueKernel {
  Kernel kernel() const {
    Builder k("count_true", kThreads);
    const Buffer flags = k.input(DType::Bool), counts = k.output(DType::I32);
    const Expr count = k.number(DType::I64);
    const Expr first = (k.place(DType::I64)) * kEach;
    const Expr all = prefix_sum(k, sum_of(flags_of(k, flags, first, count))).all;
    k.when(k.thread() == 0, [&] { counts.store(k.block(), all); });
    return k.finish();
  }
};

struct NonzeroKernel {
  DType report_as;

  Kernel kernel() const {
    Builder k("nonzero", kThreads);
    const Buffer flags = k.input(DType::Bool), starts = k.input(DType::I32), total = k.input(DType::I32),
                 z = k.output(DType::I64), cell = k.both(report_as);
    const Expr count = k.number(DType::I64), wanted = k.number(DType::I64);
    const Expr first = (k.place(DType::I64)) * kEach;
    const std::vector<Expr> all = flags_of(k, flags, first, count);
    const Local to = k.variable((starts[k.block()] + prefix_sum(k, sum_of(all)).before).as(DType::I64));
    for (int i = 0; i < kEach; ++i)
      k.when(all[static_cast<std::size_t>(i)] != 0, [&] {
        k.when(to < wanted, [&] { z.store(to, first + i); });
        to.set(to + 1);
      });
    k.when((k.block() == 0) & (k.thread() == 0), [&] {
      const Expr found = total[k.literal(DType::I32, 0)].as(DType::I64);
      k.when(found != wanted, [&] { cell.store(k.literal(DType::I32, 0), (found + 1).as(report_as)); });
    });
    return k.finish();
  }
};

struct WithinKernel {
  DType dtype, index, report_as;
  int rank;

  /// The type in which elements are compared with the bounds.
  DType compared() const { return is_float(dtype) && expr::computed_in(dtype) == DType::F32 ? DType::F32 : DType::F64; }

  Kernel kernel() const {
    Builder k("within", kThreads);
    const Buffer x = k.input(dtype), z = k.output(dtype), cell = k.both(report_as);
    const Expr count = k.number(index), low = k.number(compared()), high = k.number(compared());
    const Offsets places(k, index, rank, 1);
    const Expr i = k.place(index);
    k.when(i < count, [&] {
      const Expr element = x[places.of(i)[0]], number = element.as(compared());
      k.when((number < low) | (number > high), [&] { report(cell, i.as(DType::I64)); });
      z.store(i, element);
    });
    return k.finish();
  }
};

/// The nearest float32 in the direction of `towards`, or the number itself.
double rounded(double number, float towards) {
  const auto near = static_cast<float>(number);
  const bool beyond = towards > 0 ? near >= number : near <= number;
  return beyond || std::isnan(number) ? near : std::nextafter(near, towards);
}

}  // namespace

bool run(Gpu& gpu, const op::RavelIndex& op, Call call) {
  const Array z = gpu.allocate(call.out[0]);
  if (z.numel() == 0) return true;
  RavelKernel kernel{};
  std::vector<Argument> arguments;
  std::vector<Dims> strides;
  std::vector<KeptOperand> kept;
  for (const Value& value : call.in) {
    const Array array = read(value);
    kernel.indices.push_back(array.dtype);
    arguments.emplace_back(array);
    strides.push_back(strided::broadcast_strides(array.shape, array.strides, z.shape));
    kept.emplace_back(value, z.shape);
  }
  const Loop loop = merged(z.shape, strides);
  kernel.index = index_type(loop);
  kernel.rank = loop.sizes.size();
  const Value cell = gpu.check_cell(z.numel() * op.shape.size());
  kernel.report_as = cell.dtype();
  arguments.insert(arguments.end(), {z, read(cell)});
  for (const std::int64_t size : op.shape) arguments.emplace_back(size);
  arguments.emplace_back(z.numel());
  Offsets::append(arguments, loop);
  gpu.launch(kernel, blocks_for(z.numel(), kThreads), arguments);
  gpu.check(
      cell, call, [kept, function = CalledAs::function(), shape = op.shape, count = z.numel()](std::int64_t found) {
        const std::int64_t place = reported(found), d = place / count;
        const std::int64_t index = kept[static_cast<std::size_t>(d)].index(place % count);
        return wrong<IndexError>(function, text(op::RavelIndex::kName, ": index ", index, " is out of range for size ",
                                                shape[static_cast<int>(d)], " in ", shape));
      });
  return true;
}

bool run(Gpu& gpu, const op::Nonzero& op, Call call) {
  Value held;
  const Array x = gpu.read_contiguous(call.in[0], held), z = gpu.allocate(call.out[0]);
  if (x.numel() >= std::numeric_limits<std::int32_t>::max()) return false;
  if (x.numel() == 0) return true;
  const std::int64_t tiles = blocks_for(x.numel(), std::int64_t{kThreads} * kEach);
  const Value counts = gpu.scratch({{1, tiles}, DType::I32}), total = gpu.scratch({{1}, DType::I32}),
              cell = gpu.check_cell(x.numel());
  gpu.launch(CountTrueKernel{}, tiles, {x, read(counts), x.numel()});
  exclusive_sums(gpu, read(counts), read(total));
  gpu.launch(NonzeroKernel{cell.dtype()}, tiles, {x, read(counts), read(total), z, read(cell), x.numel(), op.count});
  gpu.check(cell, call, [function = CalledAs::function(), count = op.count](std::int64_t found) {
    const std::int64_t there = found - 1;
    return wrong<ArgumentError>(function, there > count ? text("nonzero: more than ", count, " elements are true")
                                                        : text("nonzero: ", there, " elements are true, not ", count));
  });
  return true;
}

bool run(Gpu& gpu, const op::Within& op, Call call) {
  const Array x = read(call.in[0]), z = gpu.allocate(call.out[0]);
  if (z.numel() == 0) return true;
  const Dims strides[] = {x.strides};
  const Loop loop = merged(x.shape, strides);
  const Value cell = gpu.check_cell(z.numel());
  const WithinKernel kernel{x.dtype, index_type(loop), cell.dtype(), loop.sizes.size()};
  // A float32 is below a bound just where it is below the next float32 above the bound.
  const bool narrow = kernel.compared() == DType::F32;
  std::vector<Argument> arguments{x,
                                  z,
                                  read(cell),
                                  z.numel(),
                                  Argument(Scalar(narrow ? rounded(op.low, INFINITY) : op.low), kernel.compared()),
                                  Argument(Scalar(narrow ? rounded(op.high, -INFINITY) : op.high), kernel.compared())};
  Offsets::append(arguments, loop);
  gpu.launch(kernel, blocks_for(z.numel(), kThreads), arguments);
  gpu.check(cell, call,
            [kept = KeptOperand(call.in[0]), function = CalledAs::function(), low = op.low,
             high = op.high](std::int64_t found) {
              return kept.visit(reported(found), [&](auto element) {
                return wrong<ArgumentError>(
                    function, text(op::Within::kName, ": ", element, " is outside [", low, ", ", high, "]"));
              });
            });
  return true;
}

}  // namespace kiln::gpu::family
