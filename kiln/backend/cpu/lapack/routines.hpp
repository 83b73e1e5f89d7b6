// The LAPACK routines that the kernels call, for float and double: Routines<T>::syevd is ssyevd_ or dsyevd_. Their
// matrices are stored by columns, so that a row-major one is read as its transpose.
#pragma once
#include <cstddef>

namespace kiln::cpu::lapack {

using Length = std::size_t;  // the length of a letter: Fortran passes lengths of text after the other arguments

template <class T>
struct Routines;

#define KILN_ROUTINES(T, s)                                                                                            \
  extern "C" {                                                                                                         \
  void s##syevd_(const char* job, const char* uplo, const int* n, T* a, const int* lda, T* w, T* work,                 \
                 const int* size, int* integers, const int* integer_size, int* info, Length, Length);                  \
  void s##gesdd_(const char* job, const int* m, const int* n, T* a, const int* lda, T* s, T* u, const int* ldu, T* vt, \
                 const int* ldvt, T* work, const int* size, int* integers, int* info, Length);                         \
  }                                                                                                                    \
  template <>                                                                                                          \
  struct Routines<T> {                                                                                                 \
    static constexpr auto syevd = s##syevd_;                                                                           \
    static constexpr auto gesdd = s##gesdd_;                                                                           \
  };
KILN_ROUTINES(float, s)
KILN_ROUTINES(double, d)
#undef KILN_ROUTINES

}  // namespace kiln::cpu::lapack
