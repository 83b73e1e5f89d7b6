// Random samples: each element is a function of the key and of its index, so a thread generates the words that it
// needs.
#include <algorithm>
#include <cmath>

#include "kiln/backend/gpu/family/family.hpp"
#include "kiln/backend/gpu/family/index.hpp"
#include "kiln/backend/gpu/family/words.hpp"
#include "kiln/ops/expression/draw.hpp"

namespace kiln::gpu::family {
namespace {

using op::Distribution;

/// A sample of [low, high) rounded to a half; if that is `high`, the number below.
Expr half_below(Builder& k, const Expr& value, const Expr& low, const Expr& high, DType half) {
  const std::string of(half == DType::F16 ? "bits_of_f16" : "bits_of_bf16");
  const Expr number = k.narrow(value, half), bits = k.call(of, DType::F32, {number});
  const Expr beside = select(number > 0, bits - 1, bits + 1);
  const Expr below = select(number == 0, k.literal(DType::U32, 0x8001), beside);
  return select((high > low) & (number >= high), k.call("from_" + of, DType::F32, {below}), number);
}

/// Samples that use one word per element, or two in float64.
struct DrawKernel {
  Distribution distribution;
  DType dtype, index;

  DType computed() const {
    return dtype == DType::F64 && distribution != Distribution::Bernoulli ? DType::F64 : DType::F32;
  }
  int words_each() const { return dtype == DType::F64 && distribution != Distribution::Bernoulli ? 2 : 1; }
  /// Elements per thread: those of four words, or of 16 bytes.
  int width() const { return std::max(4 / words_each(), static_cast<int>(16 / size_of(dtype))); }

  Kernel kernel() const {
    Builder k("random", kThreads);
    const Buffer to = k.output(dtype);
    const Expr count = k.number(index);
    const KeyWords key(k);
    const Expr a = k.number(computed()), b = k.number(computed());
    const Expr item = k.place(index), first = item * width();
    const int blocks = width() * words_each() / 4;
    std::vector<Expr> words;
    for (int i = 0; i < blocks; ++i)
      for (const Expr& word : words_of(k, key, item * blocks + i)) words.push_back(word);
    const auto word = [&](int element, int part) {
      return words[static_cast<std::size_t>(element * words_each() + std::min(part, words_each() - 1))];
    };
    k.when(first < count, [&] {
      std::vector<Expr> values;
      for (int i = 0; i < width(); ++i) {
        const bool pairs = distribution == Distribution::Normal;
        const int even = pairs ? i / 2 * 2 : i, odd = pairs ? even + 1 : i;
        const Expr in[] = {a, b, word(even, 0), word(even, 1), word(odd, 0), word(odd, 1), k.boolean(i % 2 == 1)};
        const Expr value = k.tree(*expr::draw(distribution), computed(), in);
        const bool half = is_float(dtype) && size_of(dtype) == 2;
        values.push_back(half && distribution == Distribution::Uniform ? half_below(k, value, a, b, dtype)
                                                                       : k.convert(value, computed(), dtype));
      }
      store_before(k, to, first, count, values);
    });
    return k.finish();
  }
};

/// Samples from one stream per element, or with probabilities that are a tensor. They use the CPU's algorithm, in
/// float64.
struct SampleKernel {
  Distribution distribution;
  DType dtype, index;
  std::vector<DType> tensors;  // the types of a and b if they are tensors
  bool a_number, b_number;
  int rank;

  /// Bernoulli's numbers are multiples of 2^-24: float32 compares them with probabilities that are no wider.
  DType type() const {
    if (distribution == Distribution::Integer) return DType::U64;
    const auto narrow = [](DType each) { return is_float(each) && expr::computed_in(each) == DType::F32; };
    const bool compares = distribution == Distribution::Bernoulli && !a_number && std::ranges::all_of(tensors, narrow);
    return compares ? DType::F32 : DType::F64;
  }
  Kernel kernel() const {
    Builder k("sample", kThreads);
    const DType computed = type();
    std::vector<Buffer> buffers;
    for (const DType each : tensors) buffers.push_back(k.input(each));
    const Expr a = a_number ? k.number(computed) : Expr(), b = b_number ? k.number(computed) : Expr();
    const Buffer to = k.output(dtype);
    const Expr count = k.number(index);
    const KeyWords key(k);
    const Offsets places(k, index, rank, static_cast<int>(tensors.size()));
    const Expr i = k.place(index);
    k.when(i < count, [&] {
      const std::vector<Expr> at = places.of(i);
      std::size_t next = 0;
      const auto operand = [&](const Expr& number) {
        if (number) return number;
        const std::size_t which = next++;
        return buffers[which][at[which]].as(computed == DType::F32 ? DType::F32 : DType::F64);
      };
      const Expr x = operand(a), y = operand(b);
      if (distribution == Distribution::Bernoulli) {
        const std::vector<Expr> words = words_of(k, key, i / 4);
        const Expr word =
            select(i % 4 < 2, select(i % 2 == 0, words[0], words[1]), select(i % 2 == 0, words[2], words[3]));
        const Expr in[] = {x, y, word, word, word, word, k.boolean(false)};
        to.store(i, k.convert(k.tree(*expr::draw(distribution), computed, in), computed, dtype));
        return;
      }
      const Expr in[] = {x, y, low_half(i), high_half(k, i), key.low, key.high};
      const Expr drawn = k.tree(*expr::sample(distribution), computed, in);
      const Expr number = computed == DType::U64 ? drawn.bits_as(DType::I64) : drawn;
      to.store(i, k.convert(number, number.type(), dtype));
    });
    return k.finish();
  }
};

bool has_tensor(Call call) { return call.in[op::Random::a].node() || call.in[op::Random::b].node(); }

/// Bernoulli's numbers are multiples of 2^-24, below a probability just where they are below its next such multiple,
/// which is a float32.
Scalar next_step(double probability) {
  constexpr double kSteps = 1 << 24;
  return Scalar(std::isnan(probability) ? probability : std::ceil(std::clamp(probability, 0.0, 2.0) * kSteps) / kSteps);
}

void draw(Gpu& gpu, const op::Random& op, Call call, const Array& z) {
  const DrawKernel kernel{op.distribution, z.dtype, index_type(z.numel())};
  std::vector<Argument> arguments{z, z.numel()};
  KeyWords::append(arguments, call.in[op::Random::key]);
  const Scalar& a = call.in[op::Random::a].scalar();
  arguments.emplace_back(op.distribution == Distribution::Bernoulli ? next_step(a.to<double>()) : a, kernel.computed());
  arguments.emplace_back(call.in[op::Random::b].scalar(), kernel.computed());
  gpu.launch(kernel, blocks_for(z.numel(), std::int64_t{kThreads} * kernel.width()), arguments);
}

void sample(Gpu& gpu, const op::Random& op, Call call, const Array& z) {
  SampleKernel kernel{op.distribution, z.dtype, {}, {}, false, false, 0};
  std::vector<Argument> arguments;
  std::vector<const Scalar*> plain;
  std::vector<Dims> strides;
  for (const int slot : {op::Random::a, op::Random::b}) {
    const Value& operand = call.in[static_cast<std::size_t>(slot)];
    (slot == op::Random::a ? kernel.a_number : kernel.b_number) = !operand.node();
    if (!operand.node()) {
      plain.push_back(&operand.scalar());
      continue;
    }
    const Array array = read(operand);
    arguments.emplace_back(array);
    kernel.tensors.push_back(array.dtype);
    strides.push_back(strided::broadcast_strides(array.shape, array.strides, z.shape));
  }
  const Loop loop = merged(z.shape, strides);
  kernel.index =
      std::max(index_type(loop), index_type(z.numel()), [](DType a, DType b) { return size_of(a) < size_of(b); });
  kernel.rank = loop.sizes.size();
  for (const Scalar* const number : plain)
    arguments.emplace_back(*number, op.distribution == Distribution::Integer ? DType::I64 : kernel.type());
  arguments.emplace_back(z);
  arguments.emplace_back(z.numel());
  KeyWords::append(arguments, call.in[op::Random::key]);
  Offsets::append(arguments, loop);
  gpu.launch(kernel, blocks_for(z.numel(), kThreads), arguments);
}

}  // namespace

bool run(Gpu& gpu, const op::Random& op, Call call) {
  if (op.distribution == Distribution::Categorical) return draw_classes(gpu, op, call);
  const Array z = gpu.allocate(call.out[0]);
  if (z.numel() == 0) return true;
  if (expr::draw(op.distribution) && !has_tensor(call)) draw(gpu, op, call, z);
  else sample(gpu, op, call, z);
  return true;
}

}  // namespace kiln::gpu::family
