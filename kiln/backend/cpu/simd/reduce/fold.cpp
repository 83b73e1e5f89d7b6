#include "kiln/backend/cpu/simd/reduce/fold.hpp"

#include <algorithm>
#include <cstring>

#include "kiln/backend/cpu/simd/reduce/fold_exports.hpp"
#include "kiln/backend/cpu/simd/reduce/fold_lanes.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kiln/backend/cpu/simd/reduce/fold.cpp"
#include "kiln/backend/cpu/simd/targets.hpp"
#include <hwy/foreach_target.h>

#include "kiln/backend/cpu/simd/reduce/fold_line.hpp"
#include "kiln/backend/cpu/transpose.hpp"

HWY_BEFORE_NAMESPACE();
namespace kiln::cpu::simd::HWY_NAMESPACE {

/// Rows that follow one another without gaps, one element after the other.
template <Fold fold, class T, class A>
HWY_INLINE void fold_in_order(const T* x, std::int64_t count, std::int64_t columns, A* results) {
  for (std::int64_t i = 0; i < count; i += columns)
    for (std::int64_t j = 0; j < columns; ++j) results[j] = step<fold>(results[j], static_cast<A>(x[i + j]));
}

/// Products of floats that are so small that processors need a hundred cycles for each become the 0 that floats have
/// for them.
template <class T, Fold fold, class A>
HWY_INLINE Vector<A> without_subnormals(Vector<A> sum) {
  if constexpr (fold != Fold::Prod || std::is_same_v<T, A>) return sum;
  const hn::ScalableTag<A> tag;
  const Mask<A> subnormal = Vector<A>(hn::Abs(sum.lanes)) < Vector<A>(std::numeric_limits<A>::min());
  return select(subnormal, Vector<A>(hn::And(sum.lanes, hn::SignBit(tag))), sum);
}

/// Rows that follow one another without gaps, and of which four vectors hold a whole number.
template <class T, Fold fold, class A>
HWY_INLINE void fold_dense(const T* x, std::int64_t count, std::int64_t columns, A* results) {
  constexpr auto lanes = static_cast<std::int64_t>(kLanes<A>), width = 4 * lanes;
  Vector<A> a = fold_start<T, fold>(), b = a, c = a, d = a;
  while (count >= width) {
    for (int i = 0; i < 8 && count >= width; ++i, count -= width, x += width) {
      a = step<fold>(a, load_as<A>(x));
      b = step<fold>(b, load_as<A>(x + lanes));
      c = step<fold>(c, load_as<A>(x + 2 * lanes));
      d = step<fold>(d, load_as<A>(x + 3 * lanes));
    }
    for (Vector<A>* const sum : {&a, &b, &c, &d}) *sum = without_subnormals<T, fold>(*sum);
  }
  A partial[width];
  store(a, partial);
  store(b, partial + lanes);
  store(c, partial + 2 * lanes);
  store(d, partial + 3 * lanes);
  fold_in_order<fold>(partial, width, columns, results);
  fold_in_order<fold>(x, count, columns, results);
}

/// Rows that follow one another without gaps, of any few columns: as many vectors as there are columns hold a whole
/// number of them.
template <class T, Fold fold, class A>
HWY_INLINE void fold_few(const T* x, std::int64_t count, std::int64_t columns, A* results) {
  constexpr auto lanes = static_cast<std::int64_t>(kLanes<A>);
  const std::int64_t width = columns * lanes;
  A partial[2 * lanes * lanes];
  std::fill_n(partial, width, fold_start<T, fold>());
  for (; count >= width; count -= width)
    for (A* sums = partial; sums < partial + width; sums += lanes, x += lanes)
      store(step<fold>(Vector<A>::load(sums), load_as<A>(x)), sums);
  fold_in_order<fold>(partial, width, columns, results);
  fold_in_order<fold>(x, count, columns, results);
}

/// Some vectors of columns, of which the last has `last` numbers: results stay in registers while the rows go by.
template <class T, Fold fold, std::size_t Vectors, class A>
void fold_vectors(const T* x, std::int64_t rows, std::int64_t stride, std::int64_t last, A* results) {
  constexpr auto lanes = static_cast<std::int64_t>(kLanes<A>), whole = static_cast<std::int64_t>(Vectors) - 1;
  Vector<A> sums[Vectors];
  for (std::int64_t i = 0; i < whole; ++i) sums[i] = Vector<A>::load(results + i * lanes);
  sums[whole] = load_first_as<A>(results + whole * lanes, last);
  for (std::int64_t row = 0; row < rows; ++row, x += stride) {
    for (std::int64_t i = 0; i < whole; ++i) sums[i] = step<fold>(sums[i], load_folded<fold, A>(x + i * lanes));
    sums[whole] = step<fold>(sums[whole], load_first_as<A, fold>(x + whole * lanes, last));
  }
  for (std::int64_t i = 0; i < whole; ++i) store(sums[i], results + i * lanes);
  A numbers[lanes];
  store(sums[whole], numbers);
  std::copy_n(numbers, last, results + whole * lanes);
}

template <class T, Fold fold, class A>
HWY_INLINE void fold_narrow(const T* x, std::int64_t rows, std::int64_t stride, std::int64_t columns, A* results) {
  constexpr auto lanes = static_cast<std::int64_t>(kLanes<A>);
  if (columns == 1) {
    A so_far = *results;
    for (std::int64_t row = 0; row < rows; ++row)
      so_far = step<fold>(so_far, static_cast<A>(mapped<fold>(x[row * stride])));
    *results = so_far;
    return;
  }
  for (std::int64_t column = 0; column < columns;) {
    const auto next = [&]<std::size_t vectors>(std::integral_constant<std::size_t, vectors>) {
      const auto most = static_cast<std::int64_t>(vectors) * lanes, count = std::min(columns - column, most);
      fold_vectors<T, fold, vectors>(x + column, rows, stride, count - most + lanes, results + column);
      column += count;
    };
    switch (std::min<std::int64_t>((columns - column + lanes - 1) / lanes, 4)) {
      case 1: next(std::integral_constant<std::size_t, 1>()); break;
      case 2: next(std::integral_constant<std::size_t, 2>()); break;
      case 3: next(std::integral_constant<std::size_t, 3>()); break;
      default: next(std::integral_constant<std::size_t, 4>());
    }
  }
}

/// Many columns: eight rows at a time, and then four, read from end to end.
template <class T, Fold fold, class A>
HWY_INLINE void fold_wide(const T* x, std::int64_t rows, std::int64_t stride, std::int64_t columns, A* results) {
  using N = NearType<T, fold>;
  constexpr auto lanes = static_cast<std::int64_t>(kLanes<A>), near = static_cast<std::int64_t>(kLanes<N>);
  constexpr bool kSame = std::is_same_v<N, A>, kCertain = kSame && accumulates(fold);
  const bool is_long = rows >= kLongLine || kSame;
  while (rows >= 4) {
    const std::int64_t some = rows >= 8 ? 8 : 4;
    std::int64_t column = 0;
    for (; column + near <= columns; column += near) {
      const T* const from = x + column;
      A* const to = results + column;
      Vector<N> low = 0, high = 0;
      const auto row = [&](std::int64_t k) HWY_ATTR { return load_as<N>(from + (k + some - 8) * stride); };
      if (is_long && fold_eight<fold, kCertain>(some, row, low, high)) {
        const auto joined = [](Vector<A> a, Vector<A> b)
                                HWY_ATTR { return without_subnormals<T, fold>(step<fold>(a, b)); };
        const auto add = [&](std::int64_t i, Vector<A> sum)
                             HWY_ATTR { store(joined(Vector<A>::load(to + i), sum), to + i); };
        if (some > 4) each_wide<A>(low, add);
        each_wide<A>(high, add);
        continue;
      }
      for (std::int64_t i = 0; i < near; i += lanes) {
        Vector<A> sum = Vector<A>::load(to + i);
        for (std::int64_t k = 0; k < some; ++k) sum = step<fold>(sum, load_as<A>(from + k * stride + i));
        store(without_subnormals<T, fold>(sum), to + i);
      }
    }
    fold_narrow<T, fold>(x + column, some, stride, columns - column, results + column);
    rows -= some;
    x += some * stride;
  }
  if (rows) fold_narrow<T, fold>(x, rows, stride, columns, results);
}

template <class T, Fold fold>
void fold_matrix(const T* x, std::int64_t rows, std::int64_t stride, std::int64_t columns, FoldType<T, fold>* results) {
  constexpr auto width = static_cast<std::int64_t>(4 * kLanes<FoldType<T, fold>>);
  if (stride == 1 && columns == 1 && rows >= FoldLine<T, fold>::kLeast)
    *results = FoldLine<T, fold>::whole(x, rows, *results);
  else if (stride == columns && columns > 1 && width % columns == 0 && rows * columns >= 2 * width)
    fold_dense<T, fold>(x, rows * columns, columns, results);
  else if (stride == columns && columns > 1 && columns < width / 2 && rows * columns >= width * columns)
    fold_few<T, fold>(x, rows * columns, columns, results);
  else if (columns < 64) fold_narrow<T, fold>(x, rows, stride, columns, results);
  else fold_wide<T, fold>(x, rows, stride, columns, results);
}

/// Short lines are folded several at a time, so that none waits for its own last sum.
template <class T, Fold fold>
void fold_each_line(const T* x, std::int64_t lines, std::int64_t stride, std::int64_t count,
                    FoldType<T, fold>* results) {
  using Line = FoldLine<T, fold>;
  using A = FoldType<T, fold>;
  if (count >= Line::kLeast) {
    for (std::int64_t i = 0; i < lines; ++i) results[i] = Line::whole(x + i * stride, count, results[i]);
    return;
  }
  constexpr auto kTogether = static_cast<std::int64_t>(2 * kLanes<A>);
  alignas(64) T turned[Line::kLeast * kTogether];
  for (; lines >= kTogether; lines -= kTogether, x += kTogether * stride, results += kTogether) {
    Transposer<T>::run(x, stride, turned, kTogether, kTogether, count);
    fold_vectors<T, fold, 2>(turned, count, kTogether, kTogether / 2, results);
  }
  for (std::int64_t i = 0; i < lines; ++i) fold_narrow<T, fold>(x + i * stride, count, 1, 1, results + i);
}

void fold_squares(const float* x, std::int64_t lines, std::int64_t stride, std::int64_t count, double* results) {
  fold_each_line<float, Fold::Squares>(x, lines, stride, count, results);
}
void fold_numbers(const float* x, std::int64_t lines, std::int64_t stride, std::int64_t count, double* results) {
  fold_each_line<float, Fold::Numbers>(x, lines, stride, count, results);
}

#define KILN_FOLD(name, T, fold)           \
  KILN_FOLD_BY(fold_matrix, name, T, fold) \
  KILN_FOLD_BY(fold_each_line, lines_##name, T, fold)
KILN_FOLDS(float, float)
KILN_FOLDS(double, double)
#undef KILN_FOLD

template <class T, Fold fold>
struct FoldOfRun {
  using Line = FoldLine<T, fold>;
  using A = FoldType<T, fold>;
  static_assert(Line::kBlock * sizeof(T) <= sizeof(FoldLanes::rest) && Line::kWidth <= 16);

  static void take(FoldLanes& run, const void* numbers, std::int64_t count) {
    const auto* x = static_cast<const T*>(numbers);
    run.left -= count;
    auto& lanes = run.lanes<T, fold>();
    if (run.in_order) {
      auto so_far = static_cast<A>(run.so_far);
      fold_narrow<T, fold>(x, count, 1, 1, &so_far);
      run.so_far = so_far;
      return;
    }
    T* const rest = run.waiting_numbers<T>();
    if (run.waiting > 0) {
      const std::int64_t more = std::min(count, Line::kBlock - run.waiting);
      std::copy_n(x, more, rest + run.waiting);
      run.waiting += more, x += more, count -= more;
      if (run.waiting < Line::kBlock) return;
      Line::take_block(rest, lanes.data(), run.near);
    }
    const std::int64_t taken = Line::take(x, count, lanes.data(), run.near);
    run.waiting = count - taken;
    std::copy_n(x + taken, run.waiting, rest);
  }
  static double total(FoldLanes& run) {
    const auto so_far = static_cast<A>(run.so_far);
    if (run.in_order) return so_far;
    return Line::finish(run.waiting_numbers<T>(), run.waiting, run.lanes<T, fold>().data(), run.near, so_far);
  }
  static constexpr FoldLanes::Functions kFunctions{
      .least = Line::kLeast, .long_line = kLongLine, .take = take, .total = total};
};

template <class T>
const FoldLanes::Functions* functions_for(Fold fold) {
  if (fold == Fold::Max) return &FoldOfRun<T, Fold::Max>::kFunctions;
  if (fold == Fold::Min) return &FoldOfRun<T, Fold::Min>::kFunctions;
  return &FoldOfRun<T, Fold::Sum>::kFunctions;
}
const FoldLanes::Functions* functions_of(Fold fold, bool of_doubles) {
  return of_doubles ? functions_for<double>(fold) : functions_for<float>(fold);
}

}  // namespace kiln::cpu::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kiln::cpu::simd {

#define KILN_FOLD(name, T, fold)             \
  KILN_EXPORT_FOLD(fold_rows, name, T, fold) \
  KILN_EXPORT_FOLD(fold_lines, lines_##name, T, fold)
KILN_FOLDS(float, float)
KILN_FOLDS(double, double)
#undef KILN_FOLD

HWY_EXPORT(fold_squares);
HWY_EXPORT(fold_numbers);
template <>
void fold_mapped_lines<Fold::Squares>(const float* x, std::int64_t lines, std::int64_t stride, std::int64_t count,
                                      double* results) {
  HWY_DYNAMIC_DISPATCH(fold_squares)(x, lines, stride, count, results);
}
template <>
void fold_mapped_lines<Fold::Numbers>(const float* x, std::int64_t lines, std::int64_t stride, std::int64_t count,
                                      double* results) {
  HWY_DYNAMIC_DISPATCH(fold_numbers)(x, lines, stride, count, results);
}

HWY_EXPORT(functions_of);
void FoldLanes::start(op::ReduceFn fn, DType dtype, std::int64_t count) {
  visit_fold(fn, [&]<Fold fold>() {
    functions = HWY_DYNAMIC_DISPATCH(functions_of)(fold, dtype == DType::F64);
    so_far = fold_start<float, fold>();
    if (dtype == DType::F64) lanes<double, fold>().fill(fold_start<double, fold>());
    else lanes<float, fold>().fill(fold_start<float, fold>());
  });
  left = count;
  in_order = count < functions->least;
  near = count >= functions->long_line;
  waiting = 0;
}

template <class T>
static void put_together(FoldLanes& run, const void* x, std::int64_t count) {
  const std::size_t bytes = static_cast<std::size_t>(count) * sizeof(T);
  std::memcpy(run.gathered, x, bytes);
  run.gathered += bytes;
}
template <class T>
static constexpr FoldLanes::Functions kGathering{.least = 0, .long_line = 0, .take = put_together<T>, .total = nullptr};

void FoldLanes::gather(DType dtype, std::byte* to) {
  functions = dtype == DType::F64 ? &kGathering<double> : &kGathering<float>;
  gathered = to;
  waiting = kGathers;
}

}  // namespace kiln::cpu::simd
#endif
