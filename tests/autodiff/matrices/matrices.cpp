// Derivatives of functions of matrices up to the third, of matrices that are regular, singular in every way, with equal
// and nearly equal eigenvalues or singular values, alone and in batches beside others, on the processor and on its plain
// kernels alone. What is right comes of a textbook's formula over numbers that carry their derivatives (jet.hpp), which for
// functions of spectra is one without spectra wherever values are equal: the sum of eigenvalues' squares is that of the
// elements. Where there is no derivative, NaN is right and nothing else is.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "kiln/autodiff/backward.hpp"
#include "kiln/ops/functions.hpp"
#include "tests/autodiff/matrices/cases.hpp"
#include "tests/support/sentence.hpp"

namespace kiln::test {

Value of_each(const Value& x) {
  const std::int64_t count = x.dim(-1) * x.dim(-2);
  const std::vector<double> by = weights(count);
  const TensorData data = TensorData::of<double>({x.dim(-2), x.dim(-1)}, by).to(x.dtype());
  return sum(x * from_data(data, x.device()), {-2, -1});
}

Jet lines(const Jets& a, bool columns, bool most) {
  Jet found;
  for (std::int64_t i = 0; i < (columns ? a.columns : a.rows); ++i) {
    Jet total;
    for (std::int64_t j = 0; j < (columns ? a.rows : a.columns); ++j)
      total = total + size_of(columns ? a(j, i) : a(i, j));
    if (i == 0 || (total.number() > found.number()) == most) found = total;
  }
  return found;
}

namespace {

std::vector<Case> all_cases() {
  std::vector<Case> cases = cases_of_equations();
  for (const Case& c : cases_of_spectra()) cases.push_back(c);
  return cases;
}

Numbers direction(const Matrix& m, std::int64_t seed) {
  Numbers numbers;
  for (std::size_t i = 0; i < m.elements.size(); ++i)
    numbers.push_back(drawn(static_cast<std::int64_t>(i) + 1000 * seed));
  return numbers;
}

Value batch_of(const std::vector<Matrix>& matrices, const Device& device, DType dtype,
               const std::function<Numbers(const Matrix&)>& numbers_of) {
  Numbers numbers;
  for (const Matrix& m : matrices) {
    const Numbers some = numbers_of(m);
    numbers.insert(numbers.end(), some.begin(), some.end());
  }
  const Shape shape = matrices.size() == 1
                          ? Shape{matrices[0].rows, matrices[0].columns}
                          : Shape{static_cast<std::int64_t>(matrices.size()), matrices[0].rows, matrices[0].columns};
  return from_data(TensorData::of<double>(shape, numbers).to(dtype), device);
}

/// The first, second and third derivatives: of f, along one direction, along two, by each element.
std::vector<Numbers> found(const Case& c, const std::vector<Matrix>& matrices, const Device& device, DType dtype) {
  const Value x = batch_of(matrices, device, dtype, [](const Matrix& m) { return m.elements; }).require_grad();
  std::vector<Numbers> derivatives;
  Value loss = sum(c.function(x));
  for (int order = 1; order <= c.orders; ++order) {
    if (!loss.tracked()) {
      derivatives.push_back(Numbers(static_cast<std::size_t>(x.numel())));
      continue;
    }
    const Value slope = grad(loss, {&x, 1}, {.create_graph = order < c.orders})[0];
    derivatives.push_back(slope.data().to_vector<double>());
    loss = sum(slope * batch_of(matrices, device, dtype, [&](const Matrix& m) { return direction(m, order); }));
  }
  return derivatives;
}

/// What these are by the meaning.
std::vector<Numbers> expected(const Case& c, const Matrix& m) {
  const Numbers first = direction(m, 1), second = direction(m, 2);
  std::vector<Numbers> derivatives(3);
  for (std::size_t at = 0; at < m.elements.size(); ++at) {
    Jets a(m.rows, m.columns);
    for (std::size_t i = 0; i < m.elements.size(); ++i) {
      a.elements[i].part[0] = m.elements[i];
      a.elements[i].part[1] = first[i];
      a.elements[i].part[2] = second[i];
      a.elements[i].part[4] = i == at;
    }
    const Jet value = c.meaning(a);
    derivatives[0].push_back(static_cast<double>(value.part[4]));
    derivatives[1].push_back(static_cast<double>(value.part[5]));
    derivatives[2].push_back(static_cast<double>(value.part[7]));
  }
  return derivatives;
}

/// As numbers of that type are.
Matrix rounded_to(DType dtype, Matrix m) {
  if (dtype == DType::F32)
    for (double& element : m.elements) element = static_cast<float>(element);
  return m;
}

/// A matrix as an operand of a function, and what is right for it.
struct Member {
  const Case* function;
  Matrix matrix;
  DType dtype;
  std::vector<Numbers> right;

  Member(const Case& c, const Matrix& m, DType dtype)
      : function(&c),
        matrix(rounded_to(dtype, m)),
        dtype(dtype),
        right(c.kind == Right ? expected(c, matrix) : std::vector<Numbers>()) {}
  double tolerance() const {
    return dtype == DType::F64 ? 2e-9 + 1e-13 * matrix.condition : 1e-3 + 4e-6 * matrix.condition;
  }
  /// Looks at elements from `at` on.
  void expect(const std::vector<Numbers>& got, std::size_t at, const std::string& where) const {
    const std::size_t count = matrix.elements.size();
    for (std::size_t order = 0; order < got.size(); ++order) {
      const Numbers own(got[order].begin() + static_cast<std::ptrdiff_t>(at),
                        got[order].begin() + static_cast<std::ptrdiff_t>(at + count));
      const std::string what = text(function->name, " of ", matrix.name, where, ", derivative ", order + 1);
      if (function->kind == Nan) {
        EXPECT_TRUE(std::ranges::any_of(own, [](double x) { return std::isnan(x); })) << what;
        continue;
      }
      double size = 1, apart = 0;
      for (std::size_t i = 0; i < count; ++i) {
        size = std::max(size, std::abs(right[order][i]));
        const double difference = std::abs(own[i] - right[order][i]);
        apart = std::isnan(apart + difference) ? NAN : std::max(apart, difference);
      }
      EXPECT_LE(apart, tolerance() * size) << what << ", of size " << size;
    }
  }
};

/// All members of a function, by their shapes.
using Alike = std::map<std::string, std::map<std::pair<std::int64_t, std::int64_t>, std::vector<Member>>>;
Alike members_of(const std::vector<Case>& cases, DType dtype) {
  Alike alike;
  for (const Case& c : cases)
    for (const Matrix& m : c.matrices)
      if (c.kind != Refused && (dtype == DType::F64 || m.condition < 1e4))
        alike[text(c.name, c.orders)][{m.rows, m.columns}].emplace_back(c, m, dtype);
  return alike;
}

/// Alone, and whatever stands beside a matrix.
void expect_derivatives_or_none(const Alike& alike, const char* device_name, DType dtype) {
  const Device device = Device::parse(device_name).autodiff();
  const std::string where = text(" on ", device_name, " in ", dtype);
  for (const auto& [name, shapes] : alike)
    for (const auto& [shape, members] : shapes) {
      std::vector<Matrix> all;
      for (const Member& member : members) {
        all.push_back(member.matrix);
        member.expect(found(*member.function, {member.matrix}, device, dtype), 0, where);
      }
      const std::vector<Numbers> got = found(*members[0].function, all, device, dtype);
      for (std::size_t i = 0; i < members.size(); ++i)
        members[i].expect(got, i * all[i].elements.size(), where + " in a batch");
    }
}

TEST(Matrices, HaveTheirDerivativesOrNone) {
  const std::vector<Case> cases = all_cases();
  const Alike alike = members_of(cases, DType::F64);
  expect_derivatives_or_none(alike, "cpu", DType::F64);
  expect_derivatives_or_none(alike, "reference", DType::F64);
}

TEST(Matrices, HaveThemInFloat32) {
  const std::vector<Case> cases = all_cases();
  expect_derivatives_or_none(members_of(cases, DType::F32), "cpu", DType::F32);
}

TEST(Matrices, AreRefusedWhereAFunctionTakesNoneLikeThem) {
  for (const char* device_name : {"cpu", "reference"})
    for (const Case& c : all_cases())
      for (const Matrix& m : c.matrices)
        if (c.kind == Refused) {
          EXPECT_NE(sentence_of([&] { found(c, {m}, Device::parse(device_name).autodiff(), DType::F64); }), "")
              << c.name << " of " << m.name;
        }
}

}  // namespace
}  // namespace kiln::test
