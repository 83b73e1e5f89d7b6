#include "kiln/backend/cpu/simd/elementwise/chain.hpp"

#include <algorithm>
#include <bit>
#include <limits>
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

#include "kiln/backend/cpu/simd/elementwise/half_lanes.hpp"
#include "kiln/backend/cpu/simd/reduce/fold_line.hpp"
#include "kiln/backend/cpu/simd/vector_rows.hpp"
#include "kiln/ops/elementwise/enumerators.hpp"

HWY_BEFORE_NAMESPACE();
namespace kiln::cpu::simd::HWY_NAMESPACE {

HWY_INLINE Lanes as_number(Lanes x) { return x; }
HWY_INLINE Lanes as_number(Mask<float> truth) { return select(truth, Lanes(1), Lanes(0)); }

template <std::size_t> using Part = Lanes;

/// The functions of links, on as many vectors as calling conventions pass in registers. The last thing that each does
/// is to call the next, which compilers make a jump of.
template <class> struct LinksOf;
template <std::size_t... k>
struct LinksOf<std::index_sequence<k...>> {
  static constexpr std::size_t kWidth = sizeof...(k) * kLanes<float>;
  /// `at` is where the block begins in its run, in bytes of float32.
  using Function = void (*)(const Link*, const ChainOperand*, std::size_t at, Part<k>...);

  static Link link(Function function, void (*block)() = nullptr) {
    return {.function = reinterpret_cast<void (*)()>(function), .block = block};
  }
  static HWY_INLINE void go_on(const Link* link, const ChainOperand* places, std::size_t at, Part<k>... x) {
    reinterpret_cast<Function>(link[1].function)(link + 1, places, at, x...);
  }

  static HWY_INLINE float* block_of(const ChainOperand& place, std::size_t at) {
    return reinterpret_cast<float*>(place.data + (at & place.moves));
  }
  static HWY_INLINE Lanes load(const float* block, std::size_t i) { return Lanes::load(block + i * kLanes<float>); }
  /// The block of an operand. Links are shared by all operands, so that processors which learn from an instruction
  /// where it reads next learn nothing here: one that lies far away is asked for some blocks ahead, and before that to
  /// come as near as the second-level cache, which waits for more lines at once than the first does.
  static HWY_INLINE const float* read_block(const ChainOperand& place, std::size_t at) {
    const float* const block = block_of(place, at);
    if (place.fetches) {
      (__builtin_prefetch(block + (16 * sizeof...(k) + k) * kLanes<float>, 0, 2), ...);
      (hwy::Prefetch(block + (4 * sizeof...(k) + k) * kLanes<float>), ...);
    }
    return block;
  }
  static HWY_INLINE void store_block(float* block, Part<k>... x) { (store(x, block + k * kLanes<float>), ...); }

  // Rows in registers.
  template <class Row>
  static void unary(const Link* link, const ChainOperand* places, std::size_t at, Part<k>... x) {
    go_on(link, places, at, as_number(Row::of(x))...);
  }
  template <class Row, InRegisters hand>
  static HWY_INLINE Lanes meet(Lanes x, Lanes other) {
    if constexpr (hand == InRegisters::First) return as_number(Row::of(x, other));
    else return as_number(Row::of(other, x));
  }
  template <class Row, InRegisters hand>
  static void binary(const Link* link, const ChainOperand* places, std::size_t at, Part<k>... x) {
    const ChainOperand& place = places[link->in[0]];
    const float* other = read_block(place, at);
    if (place.uniform) {
      const Lanes number = *other;
      go_on(link, places, at, meet<Row, hand>(x, number)...);
    } else {
      go_on(link, places, at, meet<Row, hand>(x, load(other, k))...);
    }
  }
  static void divide(const Link* link, const ChainOperand* places, std::size_t at, Part<k>... x) {
    const ChainOperand& place = places[link->in[0]];
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
  template <InRegisters hand>
  static HWY_INLINE Lanes choose(Lanes x, Lanes a, Lanes b) {
    if constexpr (hand == InRegisters::First) return select(x == 0, b, a);
    else if constexpr (hand == InRegisters::Second) return select(a == 0, b, x);
    else return select(a == 0, x, b);
  }
  template <InRegisters hand>
  static void where(const Link* link, const ChainOperand* places, std::size_t at, Part<k>... x) {
    const float *a = block_of(places[link->in[0]], at), *b = block_of(places[link->in[1]], at);
    go_on(link, places, at, choose<hand>(x, load(a, k), load(b, k))...);
  }

  // Rows that compute for so long that it does not matter whether they do it in memory, or so differently in each lane.
  static void call_unary(const Link* link, const ChainOperand* places, std::size_t at, Part<k>... x) {
    float* const own = block_of(places[kOwnPlace], 0);
    store_block(own, x...);
    reinterpret_cast<UnaryBlock<float>>(link->block)(own, 1, own + kWidth, kWidth);
    go_on(link, places, at, load(own + kWidth, k)...);
  }
  template <InRegisters hand>
  static void call_binary(const Link* link, const ChainOperand* places, std::size_t at, Part<k>... x) {
    float* const own = block_of(places[kOwnPlace], 0);
    const float* other = block_of(places[link->in[0]], at);
    store_block(own, x...);
    const auto row = reinterpret_cast<BinaryBlock<float>>(link->block);
    if constexpr (hand == InRegisters::First) row(own, 1, other, 1, own + kWidth, kWidth);
    else row(other, 1, own, 1, own + kWidth, kWidth);
    go_on(link, places, at, load(own + kWidth, k)...);
  }

  // These links load and store.
  static void load_link(const Link* link, const ChainOperand* places, std::size_t at, Part<k>...) {
    const float* block = read_block(places[link->in[0]], at);
    go_on(link, places, at, load(block, k)...);
  }
  static void store_floats(const Link* link, const ChainOperand* places, std::size_t at, Part<k>... x) {
    const ChainOperand& place = places[link->in[0]];
    float* const block = block_of(place, at);
    if (place.streams && reinterpret_cast<std::uintptr_t>(block) % sizeof(Lanes) == 0)
      (hn::Stream(x.lanes, hn::ScalableTag<float>(), block + k * kLanes<float>), ...);
    else store_block(block, x...);
    go_on(link, places, at, x...);
  }
  template <DType dtype>
  static void store_halves(const Link* link, const ChainOperand* places, std::size_t at, Part<k>... x) {
    const ChainOperand& place = places[link->in[0]];
    std::byte* const target = place.data + (at & place.moves) / 2;
    auto* const halves = place.streams ? reinterpret_cast<std::byte*>(block_of(places[kOwnPlace], 0)) : target;
    (Halves<dtype>::store(x, halves + 2 * k * kLanes<float>), ...);
    if (place.streams) stream(halves, target, 2 * kWidth);
    go_on(link, places, at, x...);
  }
  static void store_flags(const Link* link, const ChainOperand* places, std::size_t at, Part<k>... x) {
    const ChainOperand& place = places[link->in[0]];
    auto* const flags = reinterpret_cast<std::uint8_t*>(place.data + (at & place.moves) / 4);
    (store(x != 0, flags + k * kLanes<float>), ...);
    go_on(link, places, at, x...);
  }
  /// As op::Cast has it: towards 0, within the type's range, 0 for NaN.
  template <class Byte>
  static void store_bytes(const Link* link, const ChainOperand* places, std::size_t at, Part<k>... x) {
    const ChainOperand& place = places[link->in[0]];
    auto* const bytes = reinterpret_cast<Byte*>(place.data + (at & place.moves) / 4);
    (store_byte(x, bytes + k * kLanes<float>), ...);
    go_on(link, places, at, x...);
  }
  template <class Byte>
  static HWY_INLINE void store_byte(Lanes x, Byte* to) {
    const hn::ScalableTag<float> tag;
    const hn::RebindToSigned<decltype(tag)> words;
    const hn::Rebind<Byte, decltype(tag)> bytes;
    const auto whole = hn::ConvertTo(words, hn::IfThenZeroElse(hn::IsNaN(x.lanes), x.lanes));
    hn::StoreU(hn::DemoteTo(bytes, whole), bytes, to);
  }
  /// The number of the byte that store_byte() writes.
  template <class Byte>
  static HWY_INLINE Lanes as_byte(Lanes x) {
    const hn::ScalableTag<float> tag;
    const auto known = hn::IfThenZeroElse(hn::IsNaN(x.lanes), x.lanes);
    const auto within = hn::Min(hn::Max(hn::Trunc(known), hn::Set(tag, std::numeric_limits<Byte>::min())),
                                hn::Set(tag, std::numeric_limits<Byte>::max()));
    return hn::Add(within, hn::Zero(tag));  // no zero has a sign
  }
  template <class Byte>
  static void round_to_byte(const Link* link, const ChainOperand* places, std::size_t at, Part<k>... x) {
    go_on(link, places, at, as_byte<Byte>(x)...);
  }
  template <DType dtype>
  static void round_to(const Link* link, const ChainOperand* places, std::size_t at, Part<k>... x) {
    go_on(link, places, at, Lanes(Halves<dtype>::round(hn::ScalableTag<float>(), x.lanes))...);
  }
  static void make_flags(const Link* link, const ChainOperand* places, std::size_t at, Part<k>... x) {
    go_on(link, places, at, as_number(x != 0)...);
  }

  template <Fold fold>
  static void fold_block(const Link* link, const ChainOperand* places, std::size_t at, Part<k>... x) {
    using Line = FoldLine<float, fold>;
    static_assert(kWidth == Line::kBlock && Line::kBlock >= Line::kLeast);
    auto& run = *reinterpret_cast<FoldLanes*>(places[link->in[0]].data);
    const auto begin = static_cast<std::int64_t>(at / sizeof(float));
    if (run.waiting != 0 || run.next != begin || run.end < begin + Line::kBlock)
      return fold_some<fold>(link, places, at, x...);
    float* const own = block_of(places[kOwnPlace], 0);
    store_block(own, x...);  // halves of vectors are cheaper to load than to take out
    run.next += Line::kBlock;
    if constexpr (fold == Fold::Length) {
      run.take(own, Line::kBlock);  // in fold.cpp, which rounds products before it adds them
    } else {
      Line::take_block(own, run.lanes<float, fold>().data(), run.near);
      run.left -= Line::kBlock;
    }
    go_on(link, places, at, x...);
  }
  /// Of a block whose first elements are folded already, or that is not full, or after one that was not.
  template <Fold fold>
  static HWY_NOINLINE void fold_some(const Link* link, const ChainOperand* places, std::size_t at, Part<k>... x) {
    using Line = FoldLine<float, fold>;
    auto& run = *reinterpret_cast<FoldLanes*>(places[link->in[0]].data);
    const auto begin = static_cast<std::int64_t>(at / sizeof(float));
    const std::int64_t end = std::min(begin + Line::kBlock, run.end), first = run.next - begin, count = end - run.next;
    float *const own = block_of(places[kOwnPlace], 0), *const last = own + kWidth;
    store_block(own, x...);
    if (fold != Fold::Length && run.waiting == 0 && end == begin + Line::kBlock && count == run.left) {
      store_block(last, x...);
      Line::take_end(last, count, run.lanes<float, fold>().data(), run.near);
    } else {
      run.take(own + first, count);
    }
    run.next = end;
    go_on(link, places, at, load(own, k)...);
  }

  static void fill(float* block, float number) { store_block(block, ((void)k, Lanes(number))...); }

  static void end(const Link*, const ChainOperand*, std::size_t, Part<k>...) {}

  static void run(std::span<const Link* const> parts, const ChainOperand* places, std::size_t count) {
    for (std::size_t at = 0; at < count; at += kWidth) {
      const std::size_t begin = std::min(at, count - kWidth);
      for (const Link* part : parts) start(part, places, begin * sizeof(float));
    }
  }
  static HWY_INLINE void start(const Link* part, const ChainOperand* places, std::size_t at) {
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

template <class Row, InRegisters hand>
Link link_of_binary(op::BinaryFn fn) {
  if constexpr (!has_link(Row::kDomain)) return {};
  else if constexpr (Row::kLong)
    return EightLinks::link(&EightLinks::call_binary<hand>, reinterpret_cast<void (*)()>(binary_block<float>(fn)));
  else if constexpr (std::is_same_v<Row, binary_rows::Div> && hand == InRegisters::First)
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

Link binary_link(op::BinaryFn fn, InRegisters hand) {
  switch (fn) {
#define KILN_UNARY(...)
#define KILN_PREDICATE(...)
#define KILN_BINARY(Name, ...)                                                                    \
  case op::BinaryFn::Name:                                                                        \
    return hand == InRegisters::First ? link_of_binary<binary_rows::Name, InRegisters::First>(fn) \
                                      : link_of_binary<binary_rows::Name, InRegisters::Second>(fn);
#define KILN_COMPARISON(Name, ...) KILN_BINARY(Name, )
#include "kiln/ops/elementwise/elementwise.def"
  }
  return {};
}

Link where_link(InRegisters hand) {
  switch (hand) {
    case InRegisters::First: return EightLinks::link(&EightLinks::where<InRegisters::First>);
    case InRegisters::Second: return EightLinks::link(&EightLinks::where<InRegisters::Second>);
    case InRegisters::Third: return EightLinks::link(&EightLinks::where<InRegisters::Third>);
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
    case DType::I8: return EightLinks::link(&EightLinks::store_bytes<std::int8_t>);
    case DType::U8: return EightLinks::link(&EightLinks::store_bytes<std::uint8_t>);
    default: return {};
  }
}

Link round_link(DType dtype) {
  switch (dtype) {
    case DType::F16: return EightLinks::link(&EightLinks::round_to<DType::F16>);
    case DType::BF16: return EightLinks::link(&EightLinks::round_to<DType::BF16>);
    case DType::Bool: return EightLinks::link(&EightLinks::make_flags);
    case DType::I8: return EightLinks::link(&EightLinks::round_to_byte<std::int8_t>);
    case DType::U8: return EightLinks::link(&EightLinks::round_to_byte<std::uint8_t>);
    default: return {};
  }
}

Link fold_link(op::ReduceFn fn) {
  switch (fn) {
    case op::ReduceFn::Mean:
    case op::ReduceFn::Sum: return EightLinks::link(&EightLinks::fold_block<Fold::Sum>);
    case op::ReduceFn::Max: return EightLinks::link(&EightLinks::fold_block<Fold::Max>);
    case op::ReduceFn::Min: return EightLinks::link(&EightLinks::fold_block<Fold::Min>);
    case op::ReduceFn::Length: return EightLinks::link(&EightLinks::fold_block<Fold::Length>);
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

}  // namespace kiln::cpu::simd
#endif
