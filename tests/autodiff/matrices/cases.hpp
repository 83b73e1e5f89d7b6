// Functions of matrices, what they mean, and where they have derivatives.
#pragma once
#include <functional>

#include "kiln/ops/value.hpp"
#include "tests/autodiff/matrices/families.hpp"

namespace kiln::test {

enum Kind : std::uint8_t {
  Right,    // each derivative is that of the meaning
  Nan,      // there is none, not even the first
  Refused,  // the function says that it does not take the matrix
};

struct Case {
  std::string name;
  std::function<Value(const Value&)> function;  // [..., m, n] -> [...]
  std::function<Jet(const Jets&)> meaning;
  std::vector<Matrix> matrices;
  Kind kind = Right;
  int orders = 3;
};

/// The sum of each matrix's elements times weights().
Value of_each(const Value& x);
/// The largest, or the smallest, sum of magnitudes of a column, or of a row.
Jet lines(const Jets& a, bool columns, bool most);

std::vector<Case> cases_of_equations();
std::vector<Case> cases_of_spectra();

}  // namespace kiln::test
