// Orthogonal polynomials by their three-term recurrences (special/polynomials.cpp).
#include "kiln/ops/expression/library/library.hpp"

namespace kiln::expr {

// Defines a polynomial: its name, the parameters after x and degree, the polynomial of degree 1, that of degree k + 1
// from degrees k (p) and k - 1 (before), and whether the sign alternates when the numbers overflow.
#define KILN_POLYNOMIAL(name, parameters, first, next, alternating) \
  "fn " name "(x: float, degree" parameters                         \
  ") {\n"                                                           \
  "  let n = trunc(degree);\n"                                      \
  "  if (n < 0) { return select(is_nan(x), x, 0); }\n"              \
  "  if (!(n <= 1000000)) { return nan; }\n"                        \
  "  var before = select(is_nan(x), x, 1);\n"                       \
  "  var p = select(n == 0, before, " first                         \
  ");\n"                                                            \
  "  var k = 1;\n"                                                  \
  "  while (k < n) {\n"                                             \
  "    let after = " next                                           \
  ";\n"                                                             \
  "    before = p;\n"                                               \
  "    p = after;\n"                                                \
  "    let left = n - k - 1;\n"                                     \
  "    if (!is_finite(p)) { return select((" alternating            \
  ") & (floor(left * 0.5) * 2 != left), -p, p); }\n"                \
  "    k = k + 1;\n"                                                \
  "  }\n"                                                           \
  "  return p;\n"                                                   \
  "}\n"
#define KILN_CHEBYSHEV(name, first) KILN_POLYNOMIAL(name, "", first, "2 * x * p - before", "x < 0")

const std::string_view kPolynomialText = KILN_CHEBYSHEV("chebyshev_t", "x") KILN_CHEBYSHEV("chebyshev_u", "2 * x")
    KILN_CHEBYSHEV("chebyshev_v", "2 * x - 1") KILN_CHEBYSHEV("chebyshev_w", "2 * x + 1")
        KILN_POLYNOMIAL("hermite_h", "", "2 * x", "2 * (x * p - k * before)", "x < 0")
            KILN_POLYNOMIAL("hermite_he", "", "x", "x * p - k * before", "x < 0")
                KILN_POLYNOMIAL("legendre_p", "", "x", "((2 * k + 1) * x * p - k * before) / (k + 1)", "x < 0")
                    KILN_POLYNOMIAL("gegenbauer_c", ", lambda", "2 * lambda * x",
                                    "(2 * (k + lambda) * x * p - (k + 2 * lambda - 1) * before) / (k + 1)", "x < 0")
                        KILN_POLYNOMIAL(
                            "generalized_laguerre_l", ", alpha", "1 + alpha - x",
                            "((2 * k + 1 + alpha - x) * p - (k + alpha) * before) / (k + 1)",
                            "x > 0") "fn laguerre_l(x: float, degree) = generalized_laguerre_l(x, degree, 0);\n";

}  // namespace kiln::expr
