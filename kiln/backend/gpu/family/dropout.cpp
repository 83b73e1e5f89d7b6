#include <algorithm>

#include "kiln/backend/gpu/family/family.hpp"
#include "kiln/backend/gpu/family/index.hpp"
#include "kiln/backend/gpu/family/words.hpp"
#include "kiln/ops/expression/draw.hpp"

namespace kiln::gpu::family {
namespace {

constexpr int kEach = 8;  // elements per thread: two per word, four words per call of the generator

struct DropoutKernel {
  DType dtype, index;
  bool in_place;

  Kernel kernel() const {
    Builder k("dropout", kThreads);
    const Buffer x = k.input(dtype), z = in_place ? k.both(dtype) : k.output(dtype);
    const Expr count = k.number(index), scale = k.number(dtype), threshold = k.number(DType::U32);
    const KeyWords key(k);
    const Expr item = k.place(index), first = item * kEach;
    k.when(first < count, [&] {
      const std::vector<Expr> words = words_of(k, key, item);
      const auto dropped = [&](const Expr& element, int i) {
        const Expr in[] = {element, scale, threshold, words[static_cast<std::size_t>(i / 2)], k.boolean(i % 2 == 1)};
        return k.tree(expr::dropout(), dtype, in);
      };
      const int most = std::min(kEach, static_cast<int>(16 / size_of(dtype)));
      k.when(
          first + kEach <= count,
          [&] {
            std::vector<Expr> values;
            for (int i = 0; i < kEach; i += most)
              for (const Expr& each : x.load(first + i, most))
                values.push_back(dropped(each, static_cast<int>(values.size())));
            for (int i = 0; i < kEach; i += most)
              z.store(first + i,
                      std::span(values).subspan(static_cast<std::size_t>(i), static_cast<std::size_t>(most)));
          },
          [&] {
            for (int i = 0; i < kEach; ++i)
              k.when(first + i < count, [&] { z.store(first + i, dropped(x[first + i], i)); });
          });
    });
    return k.finish();
  }
};

}  // namespace

bool run(Gpu& gpu, const op::Dropout&, Call call) {
  using op::Dropout;
  const DropoutThreshold drops(call.in[Dropout::probability].scalar().to<double>());
  const bool in_place = gpu.take_memory(call.out[0], contiguous_strides(call.out[0].shape()), call, Dropout::x);
  Value held;
  const Array x = gpu.read_contiguous(call.in[Dropout::x], held), z = gpu.allocate(call.out[0]);
  if (z.numel() == 0) return true;
  std::vector<Argument> arguments{x, z, z.numel(), Argument(drops.scale, z.dtype),
                                  static_cast<std::int64_t>(drops.threshold)};
  KeyWords::append(arguments, call.in[Dropout::key]);
  gpu.launch(DropoutKernel{z.dtype, index_type(z.numel()), in_place},
             blocks_for(z.numel(), std::int64_t{kThreads} * kEach), arguments);
  return true;
}

}  // namespace kiln::gpu::family
