#include "kiln/backend/cpu/simd/fft/fft_plan.hpp"

#include <algorithm>
#include <cmath>
#include <list>
#include <mutex>
#include <numbers>

#include "kiln/backend/cpu/simd/fft/fft_columns.hpp"
#include "kiln/backend/cpu/simd/fft/fft_transform.hpp"

namespace kiln::cpu::simd {
namespace {

constexpr std::int64_t kShortestDivided = 256;  // the shortest line that is divided into a matrix
constexpr std::size_t kMostBytes = 64u << 20u;  // the most bytes of cached plans

struct Root {
  double re, im;
};

/// exp(2 pi i k / n) for 0 <= k <= n, computed from the mirror image of the angle below pi / 4, where it is most
/// accurate.
Root root(std::int64_t k, std::int64_t n) {
  if (2 * k > n) {
    const Root mirrored = root(n - k, n);
    return {mirrored.re, -mirrored.im};
  }
  if (4 * k > n) {
    const Root mirrored = root(n - 2 * k, 2 * n);
    return {-mirrored.re, mirrored.im};
  }
  if (8 * k > n) {
    const Root mirrored = root(n - 4 * k, 4 * n);
    return {mirrored.im, mirrored.re};
  }
  const double angle = 2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(n);
  return {std::cos(angle), std::sin(angle)};
}

/// Computes such roots for many k, each as the product of two roots from short tables.
class Roots {
 public:
  explicit Roots(std::int64_t n) : n_(n), low_(static_cast<std::size_t>(std::min(n, kLow))) {
    for (std::size_t i = 0; i < low_.size(); ++i) low_[i] = root(static_cast<std::int64_t>(i), n);
    for (std::int64_t k = 0; k < n; k += kLow) high_.push_back(root(k, n));
  }
  /// exp(-2 pi i k / n)
  Root conjugate(std::int64_t k) const {
    const Root a = high_[static_cast<std::size_t>(k % n_ / kLow)], b = low_[static_cast<std::size_t>(k % n_ % kLow)];
    return {a.re * b.re - a.im * b.im, -(a.re * b.im + a.im * b.re)};
  }

 private:
  static constexpr std::int64_t kLow = 4096;
  std::int64_t n_;
  std::vector<Root> low_, high_;
};

template <class T>
void put(SplitVector<T>& into, std::int64_t at, Root value) {
  into.re[static_cast<std::size_t>(at)] = static_cast<T>(value.re);
  into.im[static_cast<std::size_t>(at)] = static_cast<T>(value.im);
}

/// Returns the radices of n, eights first, as each radix costs a pass over all numbers. Empty if a prime factor is too
/// large.
std::vector<std::int64_t> radices(std::int64_t n) {
  std::vector<std::int64_t> found;
  for (const std::int64_t radix : {8, 4, 2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31})
    for (; n % radix == 0; n /= radix) found.push_back(radix);
  if (n > 1) found.clear();
  return found;
}
bool has_small_factors(std::int64_t n) { return n == 1 || !radices(n).empty(); }

template <class T>
std::vector<FftStage<T>> make_stages(std::int64_t n) {
  std::vector<FftStage<T>> stages;
  for (const std::int64_t radix : radices(n)) {
    FftStage<T> stage{.radix = radix, .parts = n / radix, .twiddles = {}, .cosine = {}, .sine = {}};
    const Roots roots(n);
    stage.twiddles.reserve(static_cast<std::size_t>(2 * (radix - 1) * stage.parts));
    for (std::int64_t p = 0; p < stage.parts; ++p)
      for (std::int64_t k = 1; k < radix; ++k) {
        const Root root = roots.conjugate(p * k);
        stage.twiddles.push_back(static_cast<T>(root.re));
        stage.twiddles.push_back(static_cast<T>(root.im));
      }
    for (std::int64_t i = 0; i < radix; ++i) {
      stage.cosine.push_back(static_cast<T>(root(i, radix).re));
      stage.sine.push_back(static_cast<T>(root(i, radix).im));
    }
    stages.push_back(std::move(stage));
    n /= radix;
  }
  return stages;
}

/// The largest divisor of n up to its square root.
std::int64_t middle_divisor(std::int64_t n) {
  auto divisor = static_cast<std::int64_t>(std::sqrt(static_cast<double>(n)));
  while (n % divisor != 0) --divisor;
  return divisor;
}

/// The least of 1, 3, 5, 9 and 15 times a power of two that is not below n.
std::int64_t convenient_length(std::int64_t n) {
  std::int64_t best = 0;
  for (const std::int64_t odd : {1, 3, 5, 9, 15}) {
    std::int64_t length = odd;
    while (length < n) length *= 2;
    if (best == 0 || length < best) best = length;
  }
  return best;
}

}  // namespace

template <class T>
FftPlan<T>::FftPlan(std::int64_t n, bool for_real) : n(n) {
  if (for_real) {
    half_twiddles = SplitVector<T>(n + 1);
    const Roots roots(2 * n);
    for (std::int64_t k = 0; k <= n; ++k) put(half_twiddles, k, roots.conjugate(k));
  }
  if (!has_small_factors(n)) {
    const std::int64_t length = convenient_length(2 * n - 1);
    convolution = fft_plan<T>(length);
    chirp = SplitVector<T>(n);
    filter = SplitVector<T>(length);
    const Roots roots(2 * n);
    const double share = 1 / static_cast<double>(length);
    for (std::int64_t j = 0; j < n; ++j) {
      const auto square = static_cast<std::int64_t>(static_cast<unsigned __int128>(j) * static_cast<std::uint64_t>(j) %
                                                    static_cast<std::uint64_t>(2 * n));
      const Root root = roots.conjugate(square), back{root.re * share, -root.im * share};
      put(chirp, j, root);
      put(filter, j, back);
      if (j > 0) put(filter, length - j, back);
    }
    transform_line(*convolution, {filter.re.data(), filter.im.data()});
    return;
  }
  stages = make_stages<T>(n);
  if (n < kShortestDivided) return;
  const std::int64_t divisor = middle_divisor(n);
  if (divisor < 8) return;
  rows = divisor;
  columns = n / divisor;
  by_column = fft_plan<T>(rows);
  by_row = fft_plan<T>(columns);
  twiddles = SplitVector<T>((columns + kColumns - 1) / kColumns * kColumns * rows);
  const Roots roots(n);
  for (std::int64_t c = 0; c < columns; ++c)
    for (std::int64_t r = 0; r < rows; ++r)
      put(twiddles, (c / kColumns * rows + r) * kColumns + c % kColumns, roots.conjugate(r * c));
}

template <class T>
std::size_t FftPlan<T>::bytes() const {
  std::size_t count = 2 * (half_twiddles.re.size() + twiddles.re.size() + chirp.re.size() + filter.re.size());
  for (const FftStage<T>& stage : stages) count += stage.twiddles.size() + 2 * stage.cosine.size();
  return count * sizeof(T) + sizeof(*this);
}

namespace {

/// A cache of the plans used last, up to kMostBytes.
template <class T>
class Plans {
 public:
  using Plan = std::shared_ptr<const FftPlan<T>>;

  Plan find(std::int64_t n, bool for_real) {
    {
      const std::lock_guard lock(mutex_);
      for (auto entry = cached_.begin(); entry != cached_.end(); ++entry) {
        if ((*entry)->n != n || (for_real && (*entry)->half_twiddles.re.empty())) continue;
        cached_.splice(cached_.begin(), cached_, entry);
        return cached_.front();
      }
    }
    // Two threads may make the same plan at once; both plans are valid.
    Plan made = std::make_shared<const FftPlan<T>>(n, for_real);
    const std::lock_guard lock(mutex_);
    cached_.push_front(made);
    bytes_ += made->bytes();
    while (bytes_ > kMostBytes && cached_.size() > 1) {
      bytes_ -= cached_.back()->bytes();
      cached_.pop_back();
    }
    return made;
  }

 private:
  std::mutex mutex_;
  std::list<Plan> cached_;  // the most recently used one first
  std::size_t bytes_ = 0;
};

}  // namespace

template <class T>
std::shared_ptr<const FftPlan<T>> fft_plan(std::int64_t n, bool for_real) {
  static Plans<T> plans;
  return plans.find(n, for_real);
}

#define KILN_INSTANTIATE(T)   \
  template struct FftPlan<T>; \
  template std::shared_ptr<const FftPlan<T>> fft_plan(std::int64_t, bool);
KILN_INSTANTIATE(float)
KILN_INSTANTIATE(double)
#undef KILN_INSTANTIATE

}  // namespace kiln::cpu::simd
