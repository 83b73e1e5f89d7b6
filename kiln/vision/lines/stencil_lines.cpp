#include "kiln/vision/lines/stencil_lines.hpp"

#include <algorithm>
#include <utility>

#include "kiln/vision/lines/median.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kiln/vision/lines/stencil_lines.cpp"
#include "kiln/backend/cpu/simd/targets.hpp"
#include <hwy/foreach_target.h>

#include "kiln/backend/cpu/simd/vector.hpp"

HWY_BEFORE_NAMESPACE();
namespace kiln::vision::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using Lanes = cpu::simd::HWY_NAMESPACE::Vector<float>;

constexpr std::size_t kWide = cpu::simd::HWY_NAMESPACE::kLanes<float>, kTogether = 4;
static_assert(kWide * kTogether <= static_cast<std::size_t>(kSlack));

/// Minimum and maximum that need not care for NaN, or of which one is NaN where an operand is.
template <bool careful>
HWY_INLINE Lanes smaller(Lanes a, Lanes b) {
  if constexpr (careful) return min(a, b);
  else return hn::Min(a.lanes, b.lanes);
}
template <bool careful>
HWY_INLINE Lanes larger(Lanes a, Lanes b) {
  if constexpr (careful) return max(a, b);
  else return hn::Max(a.lanes, b.lanes);
}

void add_up(const LineFold& line, float* to, std::size_t count) {
  const bool is_plain = line.scale == 1 && line.delta == 0;
  const Lanes scale(line.scale), delta(line.delta);
  for (std::size_t i = 0; i < count; i += kTogether * kWide) {
    const auto load = [&](std::size_t tap, std::size_t k) { return Lanes::load(line.from[tap] + i + k * kWide); };
    const Lanes first(line.weights[0]);
    Lanes a = first * load(0, 0), b = first * load(0, 1), c = first * load(0, 2), d = first * load(0, 3);
    for (std::size_t tap = 1; tap < line.taps; ++tap) {
      const Lanes weight(line.weights[tap]);
      a = fma(weight, load(tap, 0), a);
      b = fma(weight, load(tap, 1), b);
      c = fma(weight, load(tap, 2), c);
      d = fma(weight, load(tap, 3), d);
    }
    if (!is_plain) a = a * scale + delta, b = b * scale + delta, c = c * scale + delta, d = d * scale + delta;
    store(a, to + i);
    store(b, to + i + kWide);
    store(c, to + i + 2 * kWide);
    store(d, to + i + 3 * kWide);
  }
}

template <bool least, bool careful>
void find_extremes(const LineFold& line, float* to, std::size_t count) {
  const auto meet = [](Lanes a, Lanes b) HWY_ATTR { return least ? smaller<careful>(a, b) : larger<careful>(a, b); };
  for (std::size_t i = 0; i < count; i += kTogether * kWide) {
    const auto load = [&](std::size_t tap, std::size_t k) { return Lanes::load(line.from[tap] + i + k * kWide); };
    Lanes a = load(0, 0), b = load(0, 1), c = load(0, 2), d = load(0, 3);
    for (std::size_t tap = 1; tap < line.taps; ++tap) {
      a = meet(a, load(tap, 0));
      b = meet(b, load(tap, 1));
      c = meet(c, load(tap, 2));
      d = meet(d, load(tap, 3));
    }
    store(a, to + i);
    store(b, to + i + kWide);
    store(c, to + i + 2 * kWide);
    store(d, to + i + 3 * kWide);
  }
}

template <int wires>
constexpr auto network() {
  constexpr std::size_t kExchanges = [] {
    std::size_t exchanges = 0;
    each_exchange(wires, [&](int, int) { ++exchanges; });
    return exchanges;
  }();
  std::array<Exchange, kExchanges> all{};
  std::size_t next = 0;
  each_exchange(wires, [&](int low, int high) { all[next++] = {low, high, false, false}; });
  std::array<bool, static_cast<std::size_t>(wires)> needed{};
  mark_needed(all, needed, static_cast<std::size_t>(wires / 2));
  return all;
}

template <int wires>
inline constexpr auto kNetwork = network<wires>();

template <int wires, std::size_t exchange, bool careful>
HWY_INLINE void exchange_wires(Lanes* wire) {
  constexpr Exchange kExchange = kNetwork<wires>[exchange];
  const Lanes a = wire[kExchange.low], b = wire[kExchange.high];
  if constexpr (kExchange.needs_low) wire[kExchange.low] = smaller<careful>(a, b);
  if constexpr (kExchange.needs_high) wire[kExchange.high] = larger<careful>(a, b);
}

template <int wires, bool careful, std::size_t... exchange>
HWY_INLINE Lanes median(const float* const* from, std::size_t at, std::index_sequence<exchange...>) {
  Lanes wire[wires];
  for (int i = 0; i < wires; ++i) wire[i] = Lanes::load(from[i] + at);
  (exchange_wires<wires, exchange, careful>(wire), ...);
  return wire[wires / 2];
}

template <int wires, bool careful>
void find_medians(const LineFold& line, float* to, std::size_t count) {
  for (std::size_t i = 0; i < count; i += kWide)
    store(median<wires, careful>(line.from, i, std::make_index_sequence<kNetwork<wires>.size()>()), to + i);
}

template <bool careful>
void fold_all(const LineFold& line, float* to, std::size_t count) {
  switch (line.fold) {
    case Fold::Sum: return add_up(line, to, count);
    case Fold::Least: return find_extremes<true, careful>(line, to, count);
    case Fold::Largest: return find_extremes<false, careful>(line, to, count);
    case Fold::Median:
      return line.taps == 9 ? find_medians<9, careful>(line, to, count) : find_medians<25, careful>(line, to, count);
  }
}

void fold_elements(const LineFold& line, float* to, std::size_t count) {
  if (line.careful) fold_all<true>(line, to, count);
  else fold_all<false>(line, to, count);
}

bool copy_elements(const float* from, float* to, std::size_t count) {
  std::size_t i = 0;
  auto found = is_nan(Lanes(0));
  for (; i + kWide <= count; i += kWide) {
    const Lanes x = Lanes::load(from + i);
    found = found | is_nan(x);
    store(x, to + i);
  }
  bool is_found = any(found);
  for (; i < count; ++i) {
    to[i] = from[i];
    is_found = is_found || from[i] != from[i];
  }
  return is_found;
}

}  // namespace kiln::vision::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kiln::vision {

HWY_EXPORT(fold_elements);
HWY_EXPORT(copy_elements);

void fold_line(const LineFold& line, float* to, std::int64_t count) {
  HWY_DYNAMIC_DISPATCH(fold_elements)(line, to, static_cast<std::size_t>(count));
}
bool copy_and_find_nan(const float* from, float* to, std::int64_t count) {
  return HWY_DYNAMIC_DISPATCH(copy_elements)(from, to, static_cast<std::size_t>(count));
}

}  // namespace kiln::vision
#endif
