// Random tensors and dropout, computed from blocks of random words. The words of an element depend on its index alone.
// Halves are computed as floats and rounded.
#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "kiln/backend/cpu/kernel.hpp"
#include "kiln/backend/cpu/rows.hpp"
#include "kiln/backend/cpu/samples.hpp"
#include "kiln/backend/cpu/simd/elementwise/convert.hpp"
#include "kiln/backend/cpu/simd/random/draw.hpp"
#include "kiln/core/grain.hpp"
#include "kiln/ops/create/create_ops.hpp"
#include "kiln/ops/create/draws.hpp"

namespace kiln::cpu::simd {
namespace {

constexpr std::int64_t kGrain = 8 * kBlockWords, kSampleGrain = 512;

Key key_of(const Value& key) { return {static_cast<std::uint64_t>(key.scalar().to<std::int64_t>())}; }

/// Calls f(position, words, count) for blocks of words that cover [0, count).
template <class F>
void each_draw(Key key, std::int64_t count, F&& f) {
  parallel_chunks(count, limited_grain(kGrain, kBlockWords), [&](std::int64_t begin, std::int64_t end) {
    alignas(64) std::uint32_t words[kBlockWords];
    for (std::int64_t at = begin; at < end; at += kBlockWords) {
      draw_kernels().words(key, static_cast<std::uint64_t>(at / kBlockWords), words);
      f(at, words, std::min(kBlockWords, end - at));
    }
  });
}

/// Writes the words of a block as 16-bit halves, the lower half first.
void draw_halves(Key key, std::uint64_t block, std::uint16_t* halves) {
  draw_kernels().words(key, block, reinterpret_cast<std::uint32_t*>(halves));
}

/// Calls draw(to), which writes kBlockWords numbers, and copies the first `count` of them to `numbers`.
template <class F>
void whole_block(float* numbers, std::int64_t count, F&& draw) {
  if (count == kBlockWords) return draw(numbers);
  float block[kBlockWords];
  draw(block);
  std::copy_n(block, count, numbers);
}

static_assert(std::endian::native == std::endian::little, "the first half of a word is its lower half");
constexpr std::int64_t kHalves = 2 * kBlockWords;  // the number of 16-bit halves of the words in a block

void drop_row_major(Key key, const Array& x, const Array& z, const DropoutThreshold& threshold) {
  const bool single = x.dtype == DType::F32;
  const auto bytes = static_cast<std::int64_t>(size_of(x.dtype));
  parallel_chunks(x.numel(), limited_grain(8 * kHalves, kHalves), [&](std::int64_t begin, std::int64_t end) {
    alignas(64) std::uint16_t halves[kHalves];
    alignas(64) float widened[kHalves];
    for (std::int64_t at = begin; at < end; at += kHalves) {
      const std::int64_t count = std::min(kHalves, end - at);
      draw_halves(key, static_cast<std::uint64_t>(at / kHalves), halves);
      if (!single) convert(x.dtype, x.data + at * bytes, DType::F32, widened, count);
      draw_kernels().drop(single ? x.as<float>() + at : widened, halves, threshold.threshold,
                          static_cast<float>(threshold.scale), single ? z.as<float>() + at : widened, count);
      if (!single) convert(DType::F32, widened, z.dtype, z.data + at * bytes, count);
    }
  });
}

/// Drops elements whose memory order is not row-major. Random bits belong to elements in row-major order: the bits of
/// each outermost slice are generated in that order and then permuted into the order of the memory.
void drop_permuted(Key key, const Array& x, const Array& z, const DropoutThreshold& threshold) {
  // The random bits of a slice, as elements of two bytes.
  Array slice{.data = nullptr, .dtype = DType::F16, .shape = x.shape, .strides = x.strides};
  slice.shape.erase(0);
  slice.strides.erase(0);
  const std::int64_t count = slice.numel();
  parallel_for(x.shape[0], std::max<std::int64_t>(1, 8 * kHalves / count), [&](std::int64_t begin, std::int64_t end) {
    // The bits of a slice may begin and end within a block: there is space for whole blocks.
    std::vector<std::uint16_t> halves(static_cast<std::size_t>(count + 2 * kHalves)),
        moved(static_cast<std::size_t>(count));
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t first = i * count, first_block = first / kHalves;
      for (std::int64_t block = first_block; block * kHalves < first + count; ++block)
        draw_halves(key, static_cast<std::uint64_t>(block), halves.data() + (block - first_block) * kHalves);
      Array from = slice, to = slice;
      from.data = reinterpret_cast<std::byte*>(halves.data() + first % kHalves);
      from.strides = contiguous_strides(slice.shape);
      to.data = reinterpret_cast<std::byte*>(moved.data());
      copy(from, to);
      const std::int64_t offset = i * x.strides[0];
      draw_kernels().drop(x.as<float>() + offset, moved.data(), threshold.threshold,
                          static_cast<float>(threshold.scale), z.as<float>() + offset, count);
    }
  });
}

/// The largest half below `limit`. Uniform numbers that would be rounded to `limit` become this number.
template <class Half>
float largest_below(double limit) {
  const Half rounded(limit);
  return rounded < limit ? rounded : sample::next_below(rounded);
}

/// Computes doubles from two words each, with the same bits as the reference backend. Vector functions of doubles would
/// not give the same bits on every machine.
void draw_doubles(op::Distribution distribution, Key key, double a, double b, const Array& z) {
  each_draw(key, 2 * z.numel(), [&](std::int64_t at, const std::uint32_t* words, std::int64_t some) {
    double* const numbers = z.as<double>() + at / 2;
    const std::int64_t count = some / 2;
    const auto unit = [&](std::int64_t i) { return to_uniform(words[2 * i], words[2 * i + 1]); };
    if (distribution == op::Distribution::Uniform) {
      draw_kernels().uniform_double(words, a, b, numbers, count);
    } else if (distribution == op::Distribution::Exponential) {
      for (std::int64_t i = 0; i < count; ++i)
        numbers[i] = -std::log(sample::open_uniform(words[2 * i], words[2 * i + 1])) / a;
    } else {
      for (std::int64_t i = 0; i < count; i += 2) {
        const sample::NormalPair pair(unit(i), unit(i + 1));
        numbers[i] = a + b * pair.even;
        if (i + 1 < count) numbers[i + 1] = a + b * pair.odd;
      }
    }
  });
}

}  // namespace

bool run(const op::Random& op, Call call) {
  if (Samples::make(op, call)) {
    const Samples samples(op, call);
    const Array z = allocate(call.out[0]);
    parallel_for(z.numel(), kSampleGrain, [&](std::int64_t begin, std::int64_t end) { samples.fill(z, begin, end); });
    return true;
  }
  const bool doubles = op.dtype == DType::F64 && op.distribution != op::Distribution::Bernoulli;
  if (!doubles && !is_single_or_half(op.dtype)) return false;
  const Array z = allocate(call.out[0]);
  const double a = call.in[op::Random::a].scalar().to<double>(), b = call.in[op::Random::b].scalar().to<double>();
  if (doubles) {
    draw_doubles(op.distribution, key_of(call.in[op::Random::key]), a, b, z);
    return true;
  }
  const bool single = op.dtype == DType::F32;
  const float most = op.dtype == DType::F16 ? largest_below<F16>(b) : largest_below<BF16>(b);  // used for halves only
  each_draw(key_of(call.in[op::Random::key]), z.numel(),
            [&](std::int64_t at, const std::uint32_t* words, std::int64_t count) {
              float wide[kBlockWords];
              float* const numbers = single ? z.as<float>() + at : wide;
              switch (op.distribution) {
                case op::Distribution::Uniform:
                  draw_kernels().uniform(words, a, b, numbers, count);
                  if (!single && b > a)
                    for (std::int64_t i = 0; i < count; ++i) wide[i] = std::min(wide[i], most);
                  break;
                case op::Distribution::Bernoulli:
                  draw_kernels().bernoulli(words, uniform_threshold(a), numbers, count);
                  break;
                case op::Distribution::Exponential:
                  whole_block(numbers, count, [&](float* block) { draw_kernels().exponential(words, a, block); });
                  break;
                case op::Distribution::Normal:
                  whole_block(numbers, count, [&](float* block) { draw_kernels().normal(words, a, b, block); });
                  break;
                default: KILN_CHECK(false);
              }
              if (!single)
                convert(DType::F32, wide, op.dtype, z.data + at * static_cast<std::int64_t>(size_of(op.dtype)), count);
            });
  return true;
}

bool run(const op::Dropout&, Call call) {
  const Value& operand = call.in[op::Dropout::x];
  if (!is_single_or_half(operand.dtype())) return false;
  const Array x = read(operand);
  const Dims strides = follow_order(x.shape, call.in.first(1));
  const bool row_major = x.contiguous();
  if (!row_major && operand.dtype() != DType::F32) return false;
  if (!row_major && (strides != x.strides || strides[0] * x.shape[0] != x.numel())) return false;

  const DropoutThreshold threshold(call.in[op::Dropout::probability].scalar().to<double>());
  const Key key = key_of(call.in[op::Dropout::key]);
  const Array z = allocate(call.out[0], strides);
  if (row_major) drop_row_major(key, x, z, threshold);
  else drop_permuted(key, x, z, threshold);
  return true;
}

}  // namespace kiln::cpu::simd
