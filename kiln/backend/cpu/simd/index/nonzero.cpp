// The indices at which a mask is true, or the elements of a tensor at these indices. The true flags of each piece of
// the mask are counted first, which tells where each piece writes.
#include <algorithm>
#include <cstring>
#include <vector>

#include "kiln/backend/cpu/copy_bytes.hpp"
#include "kiln/backend/cpu/kernel.hpp"
#include "kiln/backend/cpu/simd/each_type.hpp"
#include "kiln/core/grain.hpp"
#include "kiln/ops/index/index_ops.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kiln/backend/cpu/simd/index/nonzero.cpp"
#include "kiln/backend/cpu/simd/targets.hpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace kiln::cpu::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Words = hn::ScalableTag<std::uint32_t>;

// Whether one instruction compresses the lanes of a vector. Elsewhere the tables that Highway uses cost more than
// they save.
inline constexpr bool kCompresses = HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3;

/// Masks of the next flags, with one lane for each flag, and with two lanes for each flag.
HWY_INLINE hn::Mask<Words> flags_of(const std::uint8_t* flags) {
  const Words tag;
  const hn::Rebind<std::uint8_t, Words> bytes;
  return hn::Ne(hn::PromoteTo(tag, hn::LoadU(bytes, flags)), hn::Zero(tag));
}
HWY_INLINE hn::Mask<Words> flags_of_pairs(const std::uint8_t* flags) {
  const hn::RepartitionToWide<Words> pairs;
  const hn::Rebind<std::uint32_t, decltype(pairs)> halves;
  const hn::Rebind<std::uint8_t, decltype(pairs)> bytes;
  const auto wide = hn::PromoteTo(pairs, hn::PromoteTo(halves, hn::LoadU(bytes, flags)));
  return hn::Ne(hn::BitCast(Words(), hn::Or(wide, hn::ShiftLeft<32>(wide))), hn::Zero(Words()));
}

std::int64_t count_flags(const std::uint8_t* flags, std::int64_t count) {
  const hn::ScalableTag<std::uint8_t> tag;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(tag));
  std::int64_t i = 0, set = 0;
  for (; i + lanes <= count; i += lanes)
    set += static_cast<std::int64_t>(hn::CountTrue(tag, hn::Ne(hn::LoadU(tag, flags + i), hn::Zero(tag))));
  for (; i < count; ++i) set += flags[i] != 0;
  return set;
}

/// Writes one(k) to `to` for the indices k from i on whose flags are set, until `last`.
template <class Word, class One>
HWY_INLINE void compress_rest(const std::uint8_t* flags, std::int64_t i, std::int64_t count, Word* to, const Word* last,
                              One&& one) {
  // Without a branch: every one(i) is written, and is overwritten by the next if its flag is not set. Near the end,
  // this would overwrite results of the next piece.
  while (i < count && last - to >= 8) {
    const std::int64_t stop = std::min(count, i + 8);
    std::uint64_t eight = 1;
    if (stop - i == 8) std::memcpy(&eight, flags + i, 8);
    if (eight == 0) i = stop;
    for (; i < stop; ++i) {
      *to = one(i);
      to += flags[i] != 0;
    }
  }
  for (; to < last; ++i)
    if (flags[i]) *to++ = one(i);
}

void compress_places(const std::uint8_t* flags, std::int64_t first, std::int64_t count, std::int64_t* to,
                     const std::int64_t* last) {
  std::int64_t i = 0;
  if constexpr (kCompresses) {
    const Words tag;
    const hn::RepartitionToWide<Words> wide;
    const hn::Rebind<std::uint32_t, decltype(wide)> half;
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(tag));
    for (; i + lanes <= count && last - to >= lanes; i += lanes) {
      const auto mask = flags_of(flags + i);
      alignas(64) std::uint32_t places[HWY_MAX_BYTES / sizeof(std::uint32_t)];
      hn::Store(hn::Compress(hn::Iota(tag, 0), mask), tag, places);
      const auto base = hn::Set(wide, static_cast<std::uint64_t>(first + i));
      auto* const words = reinterpret_cast<std::uint64_t*>(to);
      hn::StoreU(hn::Add(hn::PromoteTo(wide, hn::Load(half, places)), base), wide, words);
      hn::StoreU(hn::Add(hn::PromoteTo(wide, hn::Load(half, places + lanes / 2)), base), wide, words + lanes / 2);
      to += hn::CountTrue(tag, mask);
    }
  }
  compress_rest(flags, i, count, to, last, [first](std::int64_t k) { return first + k; });
}

template <class Word>
HWY_INLINE void compress_words(const std::uint8_t* flags, const Word* x, std::int64_t count, Word* to,
                               const Word* last) {
  std::int64_t i = 0;
  if constexpr (kCompresses && sizeof(Word) >= 4) {
    constexpr bool kPairs = sizeof(Word) == 8;
    const Words tag;
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(tag)) / (kPairs ? 2 : 1);
    for (; i + lanes <= count && last - to >= lanes; i += lanes) {
      const auto mask = kPairs ? flags_of_pairs(flags + i) : flags_of(flags + i);
      const auto words = hn::LoadU(tag, reinterpret_cast<const std::uint32_t*>(x + i));
      hn::StoreU(hn::Compress(words, mask), tag, reinterpret_cast<std::uint32_t*>(to));
      to += hn::CountTrue(tag, mask) / (kPairs ? 2 : 1);
    }
  }
  compress_rest(flags, i, count, to, last, [x](std::int64_t k) { return x[k]; });
}
#define KILN_COMPRESS(T, name)                                                                            \
  void compress_##name(const std::uint8_t* flags, const T* x, std::int64_t count, T* to, const T* last) { \
    compress_words<T>(flags, x, count, to, last);                                                         \
  }
KILN_EACH_UNSIGNED(KILN_COMPRESS)
#undef KILN_COMPRESS

}  // namespace kiln::cpu::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kiln::cpu::simd {
namespace {

HWY_EXPORT(count_flags);
HWY_EXPORT(compress_places);

/// Writes the elements of x whose flags are set.
template <class Word>
void compress(const std::uint8_t* flags, const Word* x, std::int64_t count, Word* to, const Word* last);
#define KILN_COMPRESS(T, name)                                                                     \
  HWY_EXPORT(compress_##name);                                                                     \
  template <>                                                                                      \
  void compress(const std::uint8_t* flags, const T* x, std::int64_t count, T* to, const T* last) { \
    HWY_DYNAMIC_DISPATCH(compress_##name)(flags, x, count, to, last);                              \
  }
KILN_EACH_UNSIGNED(KILN_COMPRESS)
#undef KILN_COMPRESS

/// Calls f(first index, count, begin, end) for the pieces of a mask, on several threads, where [begin, end) is the
/// range of results that a piece writes. Throws ArgumentError if not exactly `wanted` flags are true.
template <class F>
void each_piece(std::string_view op, const Array& mask, std::int64_t wanted, F&& f) {
  const std::int64_t piece = limited_grain(65536), total = mask.numel();
  const auto* flags = mask.as<const std::uint8_t>();
  std::vector<std::int64_t> starts(static_cast<std::size_t>((total + piece - 1) / piece) + 1, 0);
  parallel_chunks(total, piece, [&](std::int64_t begin, std::int64_t end) {
    starts[static_cast<std::size_t>(begin / piece) + 1] = HWY_DYNAMIC_DISPATCH(count_flags)(flags + begin, end - begin);
  });
  for (std::size_t i = 1; i < starts.size(); ++i) starts[i] += starts[i - 1];
  require<ArgumentError>(starts.back() == wanted, op, ": ", starts.back(), " elements are true, not ", wanted);
  parallel_chunks(total, piece, [&](std::int64_t begin, std::int64_t end) {
    const auto at = static_cast<std::size_t>(begin / piece);
    f(begin, end - begin, starts[at], starts[at + 1]);
  });
}

}  // namespace

bool run(const op::Nonzero& op, Call call) {
  Value held;
  const Array x = read_contiguous(call.in[0], held), z = allocate(call.out[0]);
  each_piece(op::Nonzero::kName, x, op.count,
             [&](std::int64_t first, std::int64_t count, std::int64_t from, std::int64_t to) {
               auto* found = z.as<std::int64_t>();
               HWY_DYNAMIC_DISPATCH(compress_places)
               (x.as<const std::uint8_t>() + first, first, count, found + from, found + to);
             });
  return true;
}

bool run(const op::MaskSelect& op, Call call) {
  using op::MaskSelect;
  Value held_x, held_mask;
  const Array x = read_contiguous(call.in[MaskSelect::x], held_x);
  const Array mask = read_contiguous(call.in[MaskSelect::mask], held_mask), z = allocate(call.out[0]);
  visit_word(size_of(x.dtype), [&]<class Word>(TypeTag<Word>) {
    each_piece(MaskSelect::kName, mask, op.count,
               [&](std::int64_t first, std::int64_t count, std::int64_t from, std::int64_t to) {
                 compress(mask.as<const std::uint8_t>() + first, x.as<const Word>() + first, count, z.as<Word>() + from,
                          z.as<Word>() + to);
               });
  });
  return true;
}

}  // namespace kiln::cpu::simd
#endif
