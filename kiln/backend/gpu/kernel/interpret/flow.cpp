// Conditions and loops, which change the set of active threads.
#include "kiln/backend/gpu/kernel/arithmetic.hpp"
#include "kiln/backend/gpu/kernel/interpret/block.hpp"

namespace kiln::gpu::interpreted {
namespace {

/// Sets `mask` to the threads of `of` for which `holds`.
template <class F>
void narrow(Mask& mask, const Mask& of, int threads, F holds) {
  const std::uint8_t* const before = of.on.data();
  std::uint8_t* const on = mask.on.data();
  int count = 0;
  for_all(threads, [&](int t) {
    on[t] = static_cast<std::uint8_t>(before[t] & static_cast<std::uint8_t>(holds(t)));
    count += on[t];
  });
  mask.count = count;
}

void branch(Block& block, const Step& step) {
  const Mask& outer = *block.mask;
  Mask& inner = block.masks[step.depth];
  const bool* const condition = block.cells<bool>(step.operands[0]);
  narrow(inner, outer, block.threads, [&](int t) { return condition[t]; });
  block.mask = &inner;
  const int rest = outer.count - inner.count;
  if (inner.count) block.take(step.body);
  if (rest && !step.otherwise.empty()) {
    narrow(inner, outer, block.threads, [&](int t) { return !condition[t]; });
    block.take(step.otherwise);
  }
  block.mask = &outer;
}

template <class T>
void loop(Block& block, const Step& step) {
  const Mask& outer = *block.mask;
  Mask& inner = block.masks[step.depth];
  const T* const begin = block.cells<T>(step.operands[0]);
  const T* const end = block.cells<T>(step.operands[1]);
  const T* const by = block.cells<T>(step.operands[2]);
  T* const i = block.cells<T>(step.result);
  block.each([&](int t) {
    if (by[t] <= 0) [[unlikely]]
      block.wrong("thread ", t, " counts in steps of ", by[t]);
  });
  if (are_in_line(begin, block.threads, T{0}) && are_in_line(end, block.threads, T{0}) &&
      are_in_line(by, block.threads, T{0})) {  // all threads do the same iterations
    for (T at = begin[0], next = at; at < end[0]; at = next) {
      std::fill(i, i + block.threads, at);
      block.take(step.body);
      next = arithmetic<T>(Arithmetic::Add, at, by[0]);
      if (next < at) break;  // overflow
    }
    return;
  }
  std::copy(begin, begin + block.threads, i);
  narrow(inner, outer, block.threads, [&](int t) { return i[t] < end[t]; });
  block.mask = &inner;
  while (inner.count) {
    block.take(step.body);
    narrow(inner, inner, block.threads, [&](int t) {
      const T next = arithmetic<T>(Arithmetic::Add, i[t], by[t]);
      const bool goes_on = next > i[t] && next < end[t];  // an overflow ends the loop, too
      i[t] = next;
      return goes_on;
    });
  }
  block.mask = &outer;
}

void loop_while(Block& block, const Step& step) {
  constexpr std::int64_t kMostRounds = std::int64_t{1} << 31;
  const Mask& outer = *block.mask;
  Mask& inner = block.masks[step.depth];
  const bool* const condition = block.cells<bool>(step.operands[0]);
  inner = outer;
  block.mask = &inner;
  for (std::int64_t round = 0;; ++round) {
    block.take(step.head);
    narrow(inner, inner, block.threads, [&](int t) { return condition[t]; });
    if (inner.count == 0) break;
    if (round == kMostRounds) [[unlikely]]
      block.wrong("a loop does not end");
    block.take(step.body);
  }
  block.mask = &outer;
}

}  // namespace

Run run_if() { return &branch; }
Run run_loop(DType type) {
  return visit_type(type, [](auto like) -> Run {
    if constexpr (std::is_integral_v<decltype(like)> && !std::is_same_v<decltype(like), bool>)
      return &loop<decltype(like)>;
    else fail<ArgumentError>("kernel: loops count in integers");
  });
}
Run run_while() { return &loop_while; }
Run run_nothing() {
  return [](Block&, const Step&) {};
}

}  // namespace kiln::gpu::interpreted
