// The matrices of which derivatives are taken.
#pragma once
#include <initializer_list>
#include <string>
#include <vector>

#include "tests/autodiff/matrices/jet.hpp"

namespace kiln::test {

using Numbers = std::vector<double>;

struct Matrix {
  std::string name;
  std::int64_t rows, columns;
  Numbers elements;
  double condition = 1;  // by which rounding grows
};

/// Distinct numbers without a pattern.
double drawn(std::int64_t i);
Matrix of(std::string name, std::int64_t rows, std::int64_t columns, Numbers elements, double condition = 1);
Matrix diagonal_of(std::string name, const Numbers& values, double condition = 1);
/// u diag(values) vᵀ of orthonormal u and v, for v = u where it is to be symmetric.
Matrix with_values(std::string name, const std::vector<double>& values, bool symmetric, double condition);
std::vector<Matrix> many(std::initializer_list<std::vector<Matrix>> lists);

Matrix tall();
std::vector<Matrix> regular();
std::vector<Matrix> definite();
std::vector<Matrix> ill_conditioned();
/// Whose determinants rounding makes different from 0, or which are a little larger than that.
std::vector<Matrix> nearly_singular();
std::vector<Matrix> exactly_singular();
/// Symmetric ones, by how their eigenvalues lie.
std::vector<Matrix> distinct();
std::vector<Matrix> repeated();
std::vector<Matrix> nearly_repeated();

}  // namespace kiln::test
