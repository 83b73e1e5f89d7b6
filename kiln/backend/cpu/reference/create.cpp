#include <cmath>
#include <limits>

#include "kiln/backend/cpu/reference/chunk.hpp"
#include "kiln/backend/cpu/reference/reference.hpp"
#include "kiln/backend/cpu/samples.hpp"
#include "kiln/core/wrapping.hpp"
#include "kiln/ops/create/create_ops.hpp"
#include "kiln/ops/create/draws.hpp"

namespace kiln::cpu::reference {
namespace {

/// The words of a random stream, read in ascending order: one call of the generator gives four.
class Words {
 public:
  explicit Words(const Value& key) : key_{static_cast<std::uint64_t>(key.scalar().to<std::int64_t>())} {}
  std::uint32_t operator[](std::int64_t i) {
    const auto index = static_cast<std::uint64_t>(i);
    if (index / 4 != block_) words_ = philox(key_, block_ = index / 4);
    return words_[index % 4];
  }

 private:
  Key key_;
  std::uint64_t block_ = ~std::uint64_t{0};
  PhiloxWords words_{};
};

/// Returns a number in [0, 1) from word i, or for double, which has room for both, from words 2i and 2i + 1.
template <class T>
double unit(Words& words, std::int64_t i) {
  if constexpr (!std::is_same_v<T, double>) return static_cast<double>(to_uniform(words[i]));
  const std::uint32_t high = words[2 * i];
  return to_uniform(high, words[2 * i + 1]);
}
/// Returns a number in (0, 1) from the same words.
template <class T>
double open_unit(Words& words, std::int64_t i) {
  if constexpr (!std::is_same_v<T, double>) return sample::open_uniform(words[i]);
  const std::uint32_t high = words[2 * i];
  return sample::open_uniform(high, words[2 * i + 1]);
}

template <class T>
double standard_normal(Words& words, std::int64_t i) {
  const std::int64_t pair = i & ~std::int64_t{1};
  const double of_distance = unit<T>(words, pair);
  const sample::NormalPair numbers(of_distance, unit<T>(words, pair + 1));
  return i == pair ? numbers.even : numbers.odd;
}

}  // namespace

template <>
void run(const op::Fill&, Call call) {
  const Array z = allocate(call.out[0]);
  const ChunkOperand number(call.in[op::Fill::value], z.dtype, z.shape);
  copy(number.array(), z);
}

template <>
void run(const op::Arange&, Call call) {
  const Array z = allocate(call.out[0]);
  const Scalar &start = call.in[op::Arange::start].scalar(), &step = call.in[op::Arange::step].scalar();
  const auto count_as = [&]<class C>(TypeTag<C>) {
    const C first = start.to<C>(), stride = step.to<C>();
    for (std::int64_t i = 0; i < z.numel(); ++i) {
      const C number = wrapping_add(first, wrapping_multiply(static_cast<C>(i), stride));
      store(&number, 1, z, i, 1);
    }
  };
  const bool whole = start.kind() != Kind::Float && step.kind() != Kind::Float;
  if (whole) count_as(TypeTag<std::int64_t>{});
  else count_as(TypeTag<double>{});
}

template <>
void run(const op::Random& op, Call call) {
  const Array z = allocate(call.out[0]);
  const std::int64_t count = z.numel();
  if (Samples::make(op, call)) return Samples(op, call).fill(z, 0, count);
  const double a = call.in[op::Random::a].scalar().to<double>(), b = call.in[op::Random::b].scalar().to<double>();
  Words words(call.in[op::Random::key]);
  visit_dtype(z.dtype, [&]<class T>(TypeTag<T>) {
    T* numbers = z.as<T>();
    const auto fill = [&](auto&& draw) {
      for (std::int64_t i = 0; i < count; ++i) numbers[i] = convert<T>(draw(i));
    };
    if (op.distribution == op::Distribution::Bernoulli)
      return fill([&](std::int64_t i) { return static_cast<double>(to_uniform(words[i])) < a; });
    if constexpr (is_half<T> || std::is_floating_point_v<T>) {
      if (op.distribution == op::Distribution::Uniform)
        return fill([&](std::int64_t i) { return sample::between<T>(a, b, unit<T>(words, i)); });
      if (op.distribution == op::Distribution::Exponential)
        return fill([&](std::int64_t i) { return -std::log(open_unit<T>(words, i)) / a; });
      return fill([&](std::int64_t i) { return a + b * standard_normal<T>(words, i); });
    }
  });
}

template <>
void run(const op::Dropout&, Call call) {
  const Array x = read(call.in[op::Dropout::x]);
  const DropoutThreshold threshold(call.in[op::Dropout::probability].scalar().to<double>());
  Words words(call.in[op::Dropout::key]);
  visit_float(x.dtype, [&]<class C>(TypeTag<C>) {
    const RowMajor<C> data(x);
    Result<C> result(call.out[0]);
    const auto scale = static_cast<C>(threshold.scale);
    for (std::int64_t i = 0; i < x.numel(); ++i)
      result[i] = threshold.keeps(static_cast<std::uint16_t>(words[i / 2] >> 16 * (i % 2))) ? data[i] * scale : C{0};
    result.store();
  });
}

}  // namespace kiln::cpu::reference
