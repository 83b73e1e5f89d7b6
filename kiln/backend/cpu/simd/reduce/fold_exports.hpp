// X-macros that list the names of fold_rows and fold_lines in each target. Users define KILN_FOLD(name, T, fold) as
// KILN_FOLD_BY, which defines the function, or as KILN_EXPORT_FOLD, which dispatches to it, and then expand
// KILN_FOLDS(T, name) or KILN_FLOAT_FOLDS(T, name).
#pragma once

#define KILN_FOLDS(T, name)             \
  KILN_FOLD(sum_##name, T, Fold::Sum)   \
  KILN_FOLD(prod_##name, T, Fold::Prod) \
  KILN_FOLD(max_##name, T, Fold::Max)   \
  KILN_FOLD(min_##name, T, Fold::Min)
#define KILN_FLOAT_FOLDS(T, name)             \
  KILN_FOLDS(T, name)                         \
  KILN_FOLD(squares_##name, T, Fold::Squares) \
  KILN_FOLD(numbers_##name, T, Fold::Numbers)

#define KILN_FOLD_BY(kernel, name, T, fold)                                                                         \
  void name(const T* x, std::int64_t rows, std::int64_t stride, std::int64_t columns, FoldType<T, fold>* results) { \
    kernel<T, fold>(x, rows, stride, columns, results);                                                             \
  }
#define KILN_EXPORT_FOLD(function, name, T, fold)                                         \
  HWY_EXPORT(name);                                                                       \
  template <>                                                                             \
  void function<T, fold>(const T* x, std::int64_t a, std::int64_t stride, std::int64_t b, \
                         FoldType<T, fold>* results) {                                    \
    HWY_DYNAMIC_DISPATCH(name)(x, a, stride, b, results);                                 \
  }
