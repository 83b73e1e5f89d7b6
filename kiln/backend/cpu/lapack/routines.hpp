// LAPACK's and BLAS's routines that kernels call, for float and double: Routines<T>::potrf is spotrf_ or dpotrf_.
// Their matrices are stored by columns, so that a row-major one is read as its transpose.
#pragma once
#include <cstddef>

namespace kiln::cpu::lapack {

using Length = std::size_t;  // of a letter: Fortran passes lengths of text behind the other arguments

template <class T>
struct Routines;

#define KILN_ROUTINES(T, s)                                                                                            \
  extern "C" {                                                                                                         \
  void s##potrf_(const char* uplo, const int* n, T* a, const int* lda, int* info, Length);                             \
  void s##getrf_(const int* m, const int* n, T* a, const int* lda, int* pivots, int* info);                            \
  void s##getri_(const int* n, T* a, const int* lda, const int* pivots, T* work, const int* size, int* info);          \
  void s##gelqf_(const int* m, const int* n, T* a, const int* lda, T* tau, T* work, const int* size, int* info);       \
  void s##orglq_(const int* m, const int* n, const int* k, T* a, const int* lda, const T* tau, T* work,                \
                 const int* size, int* info);                                                                          \
  void s##syevd_(const char* job, const char* uplo, const int* n, T* a, const int* lda, T* w, T* work,                 \
                 const int* size, int* integers, const int* integer_size, int* info, Length, Length);                  \
  void s##gesdd_(const char* job, const int* m, const int* n, T* a, const int* lda, T* s, T* u, const int* ldu, T* vt, \
                 const int* ldvt, T* work, const int* size, int* integers, int* info, Length);                         \
  void s##trsm_(const char* side, const char* uplo, const char* transposed, const char* diagonal, const int* m,        \
                const int* n, const T* alpha, const T* a, const int* lda, T* b, const int* ldb, Length, Length,        \
                Length, Length);                                                                                       \
  }                                                                                                                    \
  template <>                                                                                                          \
  struct Routines<T> {                                                                                                 \
    static constexpr auto potrf = s##potrf_;                                                                           \
    static constexpr auto getrf = s##getrf_;                                                                           \
    static constexpr auto getri = s##getri_;                                                                           \
    static constexpr auto gelqf = s##gelqf_;                                                                           \
    static constexpr auto orglq = s##orglq_;                                                                           \
    static constexpr auto syevd = s##syevd_;                                                                           \
    static constexpr auto gesdd = s##gesdd_;                                                                           \
    static constexpr auto trsm = s##trsm_;                                                                             \
  };
KILN_ROUTINES(float, s)
KILN_ROUTINES(double, d)
#undef KILN_ROUTINES

}  // namespace kiln::cpu::lapack
