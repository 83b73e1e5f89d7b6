#include "kiln/backend/cpu/simd/elementwise/chain.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "kiln/backend/cpu/simd/blocks.hpp"
#include "kiln/backend/cpu/simd/elementwise/stream.hpp"
#include "kiln/backend/cpu/simd/reduce/fold_lanes.hpp"
#include "kiln/core/half.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kiln/backend/cpu/simd/elementwise/chain.cpp"
#include "kiln/backend/cpu/simd/targets.hpp"
#include <hwy/foreach_target.h>

#include <hwy/cache_control.h>

#include "kiln/backend/cpu/simd/reduce/fold_line.hpp"
#include "kiln/backend/cpu/simd/vector_rows.hpp"

HWY_BEFORE_NAMESPACE();
namespace kiln::cpu::simd::HWY_NAMESPACE {

using Lanes = Vector<float>;

HWY_INLINE Lanes as_number(Lanes x) { return x; }
HWY_INLINE Lanes as_number(Mask<float> truth) { return select(truth, Lanes(1), Lanes(0)); }

/// What a half type keeps of numbers, in registers: the bits of core/half.hpp.
template <DType> struct Halves;

template <>
struct Halves<DType::BF16> {
  using Words = hn::ScalableTag<std::uint32_t>;
  static HWY_INLINE hn::Vec<Words> upper_half(Lanes x) {
    const Words words;
    const auto bits = hn::BitCast(words, x.lanes);
    const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(words, 1));
    const auto nearest = hn::Add(bits, hn::Add(hn::Set(words, 0x7fff), odd));
    return hn::IfThenElse(hn::RebindMask(words, is_nan(x).bits), hn::Or(bits, hn::Set(words, 0x400000)), nearest);
  }
  static HWY_INLINE Lanes round(Lanes x) {
    return hn::BitCast(hn::ScalableTag<float>(), hn::And(upper_half(x), hn::Set(Words(), 0xffff0000)));
  }
  static HWY_INLINE void store(Lanes x, std::byte* to) {
    const hn::Rebind<std::uint16_t, Words> halves;
    const auto words = hn::BitCast(hn::ScalableTag<std::int32_t>(), hn::ShiftRight<16>(upper_half(x)));
    hn::StoreU(hn::DemoteTo(halves, words), halves, reinterpret_cast<std::uint16_t*>(to));
  }
};

template <>
struct Halves<DType::F16> {
// Where the machine converts half precision itself; Highway's replacement for others does not round to nearest.
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_NEON
  using Tag = hn::Rebind<hwy::float16_t, hn::ScalableTag<float>>;
  static HWY_INLINE Lanes round(Lanes x) {
    return hn::PromoteTo(hn::ScalableTag<float>(), hn::DemoteTo(Tag(), x.lanes));
  }
  static HWY_INLINE void store(Lanes x, std::byte* to) {
    hn::StoreU(hn::DemoteTo(Tag(), x.lanes), Tag(), reinterpret_cast<hwy::float16_t*>(to));
  }
#else
  static HWY_INLINE Lanes round(Lanes x) {
    alignas(64) float numbers[kLanes<float>];
    simd::HWY_NAMESPACE::store(x, numbers);
    for (float& number : numbers) number = F16(number);
    return Lanes::load(numbers);
  }
  static HWY_INLINE void store(Lanes x, std::byte* to) {
    alignas(64) float numbers[kLanes<float>];
    simd::HWY_NAMESPACE::store(x, numbers);
    for (std::size_t i = 0; i < kLanes<float>; ++i) reinterpret_cast<F16*>(to)[i] = F16(numbers[i]);
  }
#endif
};

template <std::size_t> using Part = Lanes;

/// The functions of links, on as many vectors as calling conventions pass in registers. The last thing that each does
/// is to call the next, which compilers make a jump of.
template <class> struct LinksOf;
template <std::size_t... k>
struct LinksOf<std::index_sequence<k...>> {
  static constexpr std::size_t kWidth = sizeof...(k) * kLanes<float>;
  /// `at` is where the block begins in its run, in bytes of float32.
  using Function = void (*)(const Link*, const Place*, std::size_t at, Part<k>...);

  static Link link(Function function, void (*block)() = nullptr) {
    return {.function = reinterpret_cast<void (*)()>(function), .block = block};
  }
  static HWY_INLINE void go_on(const Link* link, const Place* places, std::size_t at, Part<k>... x) {
    reinterpret_cast<Function>(link[1].function)(link + 1, places, at, x...);
  }

  static HWY_INLINE float* block_of(const Place& place, std::size_t at) {
    return reinterpret_cast<float*>(place.data + (at & place.moves));
  }
  static HWY_INLINE Lanes load(const float* block, std::size_t i) { return Lanes::load(block + i * kLanes<float>); }
  static HWY_INLINE void store_block(float* block, Part<k>... x) { (store(x, block + k * kLanes<float>), ...); }

  // Rows in registers.
  template <class Row>
  static void unary(const Link* link, const Place* places, std::size_t at, Part<k>... x) {
    go_on(link, places, at, as_number(Row::of(x))...);
  }
  template <class Row, AtHand hand>
  static HWY_INLINE Lanes meet(Lanes x, Lanes other) {
    if constexpr (hand == AtHand::First) return as_number(Row::of(x, other));
    else return as_number(Row::of(other, x));
  }
  template <class Row, AtHand hand>
  static void binary(const Link* link, const Place* places, std::size_t at, Part<k>... x) {
    const Place& place = places[link->in[0]];
    const float* other = block_of(place, at);
    if (place.uniform) {
      const Lanes number = *other;
      go_on(link, places, at, meet<Row, hand>(x, number)...);
    } else {
      go_on(link, places, at, meet<Row, hand>(x, load(other, k))...);
    }
  }
  static void divide(const Link* link, const Place* places, std::size_t at, Part<k>... x) {
    const Place& place = places[link->in[0]];
    const float* other = block_of(place, at);
    if (place.inverted) go_on(link, places, at, (x * load(other, k))...);
    else if (HWY_NATIVE_FMA && place.reciprocal.high != 0 && none_is_below(place.reciprocal.least, x...))
      go_on(link, places, at, quotient(x, place.reciprocal)...);
    else go_on(link, places, at, (x / load(other, k))...);
  }
  static HWY_INLINE Lanes quotient(Lanes x, Reciprocal reciprocal) {
    return fma(x, Lanes(reciprocal.high), x * Lanes(reciprocal.low));
  }
  /// Is the size of each 0 or at least so much?
  static HWY_INLINE bool none_is_below(float least, Part<k>... x) {
    const hn::ScalableTag<float> tag;
    const hn::RebindToUnsigned<decltype(tag)> words;
    const auto one = hn::Set(words, 1);
    auto smallest = hn::Set(words, ~0u);  // 0 less 1 is the largest word
    const auto look_at = [&](Lanes number) HWY_ATTR {
      smallest = hn::Min(smallest, hn::Sub(hn::BitCast(words, abs(number).lanes), one));
    };
    (look_at(x), ...);
    return hn::AllFalse(words, hn::Gt(hn::Set(words, std::bit_cast<std::uint32_t>(least) - 1), smallest));
  }
  template <AtHand hand>
  static HWY_INLINE Lanes choose(Lanes x, Lanes a, Lanes b) {
    if constexpr (hand == AtHand::First) return select(x == 0, b, a);
    else if constexpr (hand == AtHand::Second) return select(a == 0, b, x);
    else return select(a == 0, x, b);
  }
  template <AtHand hand>
  static void where(const Link* link, const Place* places, std::size_t at, Part<k>... x) {
    const float *a = block_of(places[link->in[0]], at), *b = block_of(places[link->in[1]], at);
    go_on(link, places, at, choose<hand>(x, load(a, k), load(b, k))...);
  }

  // Rows that compute for so long that it does not matter whether they do it in memory, or so differently in each lane.
  static void call_unary(const Link* link, const Place* places, std::size_t at, Part<k>... x) {
    float* const own = block_of(places[kOwnPlace], 0);
    store_block(own, x...);
    reinterpret_cast<UnaryBlock<float>>(link->block)(own, 1, own + kWidth, kWidth);
    go_on(link, places, at, load(own + kWidth, k)...);
  }
  template <AtHand hand>
  static void call_binary(const Link* link, const Place* places, std::size_t at, Part<k>... x) {
    float* const own = block_of(places[kOwnPlace], 0);
    const float* other = block_of(places[link->in[0]], at);
    store_block(own, x...);
    const auto row = reinterpret_cast<BinaryBlock<float>>(link->block);
    if constexpr (hand == AtHand::First) row(own, 1, other, 1, own + kWidth, kWidth);
    else row(other, 1, own, 1, own + kWidth, kWidth);
    go_on(link, places, at, load(own + kWidth, k)...);
  }

  // To and from memory.
  static void load_link(const Link* link, const Place* places, std::size_t at, Part<k>...) {
    const float* block = block_of(places[link->in[0]], at);
    go_on(link, places, at, load(block, k)...);
  }
  static void store_floats(const Link* link, const Place* places, std::size_t at, Part<k>... x) {
    const Place& place = places[link->in[0]];
    float* const block = block_of(place, at);
    if (place.streams && reinterpret_cast<std::uintptr_t>(block) % sizeof(Lanes) == 0)
      (hn::Stream(x.lanes, hn::ScalableTag<float>(), block + k * kLanes<float>), ...);
    else store_block(block, x...);
    go_on(link, places, at, x...);
  }
  template <DType dtype>
  static void store_halves(const Link* link, const Place* places, std::size_t at, Part<k>... x) {
    const Place& place = places[link->in[0]];
    std::byte* const target = place.data + (at & place.moves) / 2;
    auto* const halves = place.streams ? reinterpret_cast<std::byte*>(block_of(places[kOwnPlace], 0)) : target;
    (Halves<dtype>::store(x, halves + 2 * k * kLanes<float>), ...);
    if (place.streams) stream(halves, target, 2 * kWidth);
    go_on(link, places, at, x...);
  }
  static void store_flags(const Link* link, const Place* places, std::size_t at, Part<k>... x) {
    const Place& place = places[link->in[0]];
    auto* const flags = reinterpret_cast<std::uint8_t*>(place.data + (at & place.moves) / 4);
    (store(x != 0, flags + k * kLanes<float>), ...);
    go_on(link, places, at, x...);
  }
  template <DType dtype>
  static void round_to(const Link* link, const Place* places, std::size_t at, Part<k>... x) {
    go_on(link, places, at, Halves<dtype>::round(x)...);
  }
  static void make_flags(const Link* link, const Place* places, std::size_t at, Part<k>... x) {
    go_on(link, places, at, as_number(x != 0)...);
  }

  template <Fold fold>
  static void fold_block(const Link* link, const Place* places, std::size_t at, Part<k>... x) {
    using Line = FoldLine<float, fold>;
    static_assert(kWidth == Line::kBlock && Line::kBlock >= Line::kLeast);
    auto& run = *reinterpret_cast<FoldLanes*>(places[link->in[0]].data);
    const auto begin = static_cast<std::int64_t>(at / sizeof(float));
    if (run.waiting != 0 || run.next != begin || run.end < begin + Line::kBlock)
      return fold_some<fold>(link, places, at, x...);
    float* const own = block_of(places[kOwnPlace], 0);
    store_block(own, x...);  // halves of vectors are cheaper to load than to take out
    Line::take_block(own, run.lanes<fold>().data());
    run.next += Line::kBlock;
    run.left -= Line::kBlock;
    go_on(link, places, at, x...);
  }
  /// Of a block whose first elements are folded already, or that is not full, or after one that was not.
  template <Fold fold>
  static HWY_NOINLINE void fold_some(const Link* link, const Place* places, std::size_t at, Part<k>... x) {
    using Line = FoldLine<float, fold>;
    auto& run = *reinterpret_cast<FoldLanes*>(places[link->in[0]].data);
    const auto begin = static_cast<std::int64_t>(at / sizeof(float));
    const std::int64_t end = std::min(begin + Line::kBlock, run.end), first = run.next - begin, count = end - run.next;
    float *const own = block_of(places[kOwnPlace], 0), *const last = own + kWidth;
    store_block(own, x...);
    if (run.waiting == 0 && end == begin + Line::kBlock && count == run.left) {
      store_block(last, x...);
      Line::take_end(last, count, run.lanes<fold>().data());
    } else {
      run.take(own + first, count);
    }
    run.next = end;
    go_on(link, places, at, load(own, k)...);
  }

  static void fill(float* block, float number) { store_block(block, ((void)k, Lanes(number))...); }

  static void end(const Link*, const Place*, std::size_t, Part<k>...) {}

  /// Links are shared by all operands: processors that learn from an instruction where it reads next learn nothing here.
  static HWY_INLINE void fetch(const Place* places, std::size_t inputs, std::size_t at) {
    constexpr std::size_t kAhead = 4 * kWidth * sizeof(float);
    for (const Place* place = places + 1; place <= places + inputs; ++place)
      if (place->fetches && place->moves) (hwy::Prefetch(place->data + at + kAhead + k * sizeof(Lanes)), ...);
  }

  static void run(std::span<const Link* const> parts, const Place* places, std::size_t inputs, std::size_t count) {
    const bool fetches = std::any_of(places + 1, places + 1 + inputs, [](const Place& place) { return place.fetches; });
    for (std::size_t at = 0; at < count; at += kWidth) {
      const std::size_t begin = std::min(at, count - kWidth);
      if (fetches) fetch(places, inputs, begin * sizeof(float));
      for (const Link* part : parts) start(part, places, begin * sizeof(float));
    }
  }
  static HWY_INLINE void start(const Link* part, const Place* places, std::size_t at) {
    const Lanes nothing[] = {((void)k, Lanes(0))...};
    reinterpret_cast<Function>(part->function)(part, places, at, nothing[k]...);
  }
};
using EightLinks = LinksOf<std::make_index_sequence<8>>;

/// Booleans are numbers here, 0 or 1.
constexpr bool has_link(op::Domain domain) { return computes<float>(domain) || domain == op::Domain::Bool; }

template <class Row>
Link link_of_unary(op::UnaryFn fn) {
  if constexpr (!has_link(Row::kDomain)) return {};
  else if constexpr (Row::kLong)
    return EightLinks::link(&EightLinks::call_unary, reinterpret_cast<void (*)()>(unary_block<float>(fn)));
  else return EightLinks::link(&EightLinks::unary<Row>);
}

template <class Row, AtHand hand>
Link link_of_binary(op::BinaryFn fn) {
  if constexpr (!has_link(Row::kDomain)) return {};
  else if constexpr (Row::kLong)
    return EightLinks::link(&EightLinks::call_binary<hand>, reinterpret_cast<void (*)()>(binary_block<float>(fn)));
  else if constexpr (std::is_same_v<Row, binary_rows::Div> && hand == AtHand::First)
    return EightLinks::link(&EightLinks::divide);
  else return EightLinks::link(&EightLinks::binary<Row, hand>);
}

Link unary_link(op::UnaryFn fn) {
  switch (fn) {
#define KILN_UNARY(Name, ...) \
  case op::UnaryFn::Name: return link_of_unary<unary_rows::Name>(fn);
#define KILN_PREDICATE(Name, ...) KILN_UNARY(Name, )
#define KILN_BINARY(...)
#define KILN_COMPARISON(...)
#include "kiln/ops/elementwise/elementwise.def"
  }
  return {};
}

Link binary_link(op::BinaryFn fn, AtHand hand) {
  switch (fn) {
#define KILN_UNARY(...)
#define KILN_PREDICATE(...)
#define KILN_BINARY(Name, ...)                                                          \
  case op::BinaryFn::Name:                                                              \
    return hand == AtHand::First ? link_of_binary<binary_rows::Name, AtHand::First>(fn) \
                                 : link_of_binary<binary_rows::Name, AtHand::Second>(fn);
#define KILN_COMPARISON(Name, ...) KILN_BINARY(Name, )
#include "kiln/ops/elementwise/elementwise.def"
  }
  return {};
}

Link where_link(AtHand hand) {
  switch (hand) {
    case AtHand::First: return EightLinks::link(&EightLinks::where<AtHand::First>);
    case AtHand::Second: return EightLinks::link(&EightLinks::where<AtHand::Second>);
    case AtHand::Third: return EightLinks::link(&EightLinks::where<AtHand::Third>);
  }
  return {};
}

Link load_link() { return EightLinks::link(&EightLinks::load_link); }

Link store_link(DType dtype) {
  switch (dtype) {
    case DType::F32: return EightLinks::link(&EightLinks::store_floats);
    case DType::F16: return EightLinks::link(&EightLinks::store_halves<DType::F16>);
    case DType::BF16: return EightLinks::link(&EightLinks::store_halves<DType::BF16>);
    case DType::Bool: return EightLinks::link(&EightLinks::store_flags);
    default: return {};
  }
}

Link round_link(DType dtype) {
  switch (dtype) {
    case DType::F16: return EightLinks::link(&EightLinks::round_to<DType::F16>);
    case DType::BF16: return EightLinks::link(&EightLinks::round_to<DType::BF16>);
    case DType::Bool: return EightLinks::link(&EightLinks::make_flags);
    default: return {};
  }
}

Link fold_link(op::ReduceFn fn) {
  switch (fn) {
    case op::ReduceFn::Mean:
    case op::ReduceFn::Sum: return EightLinks::link(&EightLinks::fold_block<Fold::Sum>);
    case op::ReduceFn::Max: return EightLinks::link(&EightLinks::fold_block<Fold::Max>);
    case op::ReduceFn::Min: return EightLinks::link(&EightLinks::fold_block<Fold::Min>);
    default: return {};
  }
}

Link end_link() { return EightLinks::link(&EightLinks::end); }

const Links& all_links() {
  static constexpr Links kLinks{.width = EightLinks::kWidth,
                                .unary = unary_link,
                                .binary = binary_link,
                                .where = where_link,
                                .load = load_link,
                                .store = store_link,
                                .round = round_link,
                                .fold = fold_link,
                                .end = end_link,
                                .fill = EightLinks::fill,
                                .run = EightLinks::run};
  return kLinks;
}

}  // namespace kiln::cpu::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kiln::cpu::simd {

HWY_EXPORT(all_links);
const Links& links() { return HWY_DYNAMIC_DISPATCH(all_links)(); }

namespace {

/// Does x * high + x * low, rounded once, give x / y for all whole numbers x of 24 bits? high is 1 / y toward zero, low
/// what it lacks, but for `error`. The sum is so near to the quotient that the two round differently only if the middle
/// of two floats lies between them. That is an odd k by 2^24, or by 2^25 where x < y; so 2^s x - k y is a small number
/// then. To each small number belong one or two x (more if y is even, but then few numbers are small), which are tried.
/// N. Brisebarre and J.-M. Muller, "Correctly rounded multiplication by arbitrary precision constants", 2008.
bool gives_quotients(std::int64_t y, float high, float low, double error) {
  constexpr std::int64_t kLeast = 1 << 23, kMost = 1 << 24;
  const int twos = std::countr_zero(static_cast<std::uint64_t>(y));
  const std::int64_t odd = y >> twos;
  auto inverse = static_cast<std::uint32_t>(odd);  // of odd, modulo 2^32; each step doubles the bits that are right
  for (int step = 0; step < 4; ++step) inverse *= 2 - static_cast<std::uint32_t>(odd) * inverse;
  const double y_times_most = static_cast<double>(y) * kMost;
  for (const int s : {24, 25}) {
    const int shift = s - twos;
    const std::int64_t modulus = std::int64_t{1} << shift;
    const auto most = static_cast<std::int64_t>(static_cast<double>(modulus) * y_times_most * error);
    for (std::int64_t rest = 1; rest <= most; rest = rest < 0 ? 2 - rest : -rest) {
      std::int64_t k = (-rest * inverse) & (modulus - 1);
      for (std::int64_t x = (rest + k * odd) >> shift; x < kMost; x += odd, k += modulus) {
        if (x < kLeast || (x < y) != (s == 25)) continue;
        const double number = static_cast<double>(x), middle = static_cast<double>(k) * (s == 24 ? 0x1p-24 : 0x1p-25);
        // The product has 48 bits, and its first are those of the middle: no digit is lost.
        const double above = number * static_cast<double>(high) - middle + static_cast<float>(number) * low;
        if (rest < 0 ? above >= 0 : above <= 0) return false;
      }
    }
  }
  return true;
}

}  // namespace

Reciprocal::Reciprocal(float number) {
  const float size = std::abs(number);
  if (!(size >= 0x1p-20f && size <= 0x1p20f)) return;
  // As for the whole number that has its digits.
  const auto digits = static_cast<float>((std::bit_cast<std::uint32_t>(number) & 0x7fffff) | 0x800000);
  const auto y = static_cast<double>(digits);
  float first = 1 / digits;
  if (static_cast<double>(first) * y > 1) first = std::bit_cast<float>(std::bit_cast<std::uint32_t>(first) - 1);
  const double rest = (1 - static_cast<double>(first) * y) / y;
  const auto second = static_cast<float>(rest);
  const double error = std::abs(rest - static_cast<double>(second)) + static_cast<double>(second) * 0x1p-24;
  if (second == 0 || !gives_quotients(static_cast<std::int64_t>(digits), first, second, error)) return;
  high = first * (digits / number);
  low = second * (digits / number);
  least = 0x1p-126f / std::abs(low);  // x * low keeps all its digits
}

}  // namespace kiln::cpu::simd
#endif
