// Products of vectors, matrices and tensors.
#include "kiln/ops/product/products.hpp"

#include "tests/ops/matrices.hpp"

namespace kiln::test {
namespace {

using Arrays = std::vector<Array>;

/// A row for a function of two tensors, the last ranks[i] dimensions of which are what `meaning` sees.
OpCase of_two(std::string name, const Shape& a, const Shape& b,
              std::function<Value(const Value&, const Value&)> function, std::vector<int> ranks,
              std::function<Array(const Array&, const Array&)> meaning) {
  return {.name = std::move(name),
          .operands = {{a, -1, 1}, {b, -1, 1}},
          .function = [=](const Values& in) { return Values{function(in[0], in[1])}; },
          .meaning =
              [=](const Arrays& in) {
                return each_in_batch(in, ranks, [&](const Arrays& one) { return Arrays{meaning(one[0], one[1])}; });
              },
          .tolerance = 4};
}

Array sum_of_products(const Array& x, const Array& y) {
  double total = 0;
  for (std::size_t i = 0; i < x.v.size(); ++i) total += x.v[i] * y.v[i];
  return scalar(total);
}

Array all_products(const Array& x, const Array& y) {
  Array result({x.shape[0], y.shape[0]});
  each_index(result.shape, [&](const Dims& at) { result(at) = x({at[0]}) * y({at[1]}); });
  return result;
}

Array vector_product(const Array& x, const Array& y) {
  Array result({3});
  result({0}) = x({1}) * y({2}) - x({2}) * y({1});
  result({1}) = x({2}) * y({0}) - x({0}) * y({2});
  result({2}) = x({0}) * y({1}) - x({1}) * y({0});
  return result;
}

Array column(Array x) {
  x.shape = {x.shape[0], 1};
  return x;
}
Array flat(Array x) {
  x.shape = {numel(x.shape)};
  return x;
}
Array times_vector(const Array& a, const Array& x) { return flat(product(a, column(x))); }

/// beta * c + alpha * p
OpCase with_addend(std::string name, const Shape& c, const Shape& a, const Shape& b, std::vector<int> ranks,
                   std::function<Value(const Value&, const Value&, const Value&, const AddmmOptions&)> function,
                   std::function<Array(const Array&, const Array&)> meaning, double beta, double alpha) {
  return {.name = std::move(name),
          .operands = {{c, -1, 1}, {a, -1, 1}, {b, -1, 1}},
          .function = [=](const Values& in) { return Values{function(in[0], in[1], in[2], {beta, alpha})}; },
          .meaning =
              [=](const Arrays& in) {
                Arrays results = each_in_batch({in[1], in[2]}, ranks,
                                               [&](const Arrays& one) { return Arrays{meaning(one[0], one[1])}; });
                each_index(results[0].shape, [&](const Dims& at) {
                  results[0](at) = alpha * results[0](at) + beta * broadcast_at(in[0], at);
                });
                return results;
              },
          .tolerance = 4};
}

Array kronecker(const Array& a, const Array& b) {
  Shape shape;
  for (int i = 0; i < a.shape.size(); ++i) shape.push_back(a.shape[i] * b.shape[i]);
  Array result(shape);
  each_index(shape, [&](const Dims& at) {
    Dims outer, inner;
    for (int i = 0; i < at.size(); ++i) outer.push_back(at[i] / b.shape[i]), inner.push_back(at[i] % b.shape[i]);
    result(at) = a(outer) * b(inner);
  });
  return result;
}

/// [2, 3, 4] and [4, 5, 2], summed over a's 0 with b's 2 and a's 2 with b's 0.
Array contracted(const Array& a, const Array& b) {
  Array result({3, 5});
  each_index(result.shape, [&](const Dims& at) {
    for (std::int64_t i = 0; i < 2; ++i)
      for (std::int64_t k = 0; k < 4; ++k) result(at) += a({i, at[0], k}) * b({k, at[1], i});
  });
  return result;
}

OpCase chain(std::string name, const std::vector<Shape>& shapes) {
  OpCase row;
  row.name = std::move(name);
  row.tolerance = 8;
  for (const Shape& shape : shapes) row.operands.push_back({shape, -1, 1});
  row.function = [](const Values& in) { return Values{multi_dot(in)}; };
  row.meaning = [](const Arrays& in) {
    Arrays matrices = in;
    Shape shape;
    if (in.front().shape.size() == 1) matrices.front() = transposed(column(in.front()));
    else shape.push_back(in.front().shape[0]);
    if (in.back().shape.size() == 1) matrices.back() = column(in.back());
    else shape.push_back(in.back().shape[1]);
    Array result = matrices[0];
    for (std::size_t i = 1; i < matrices.size(); ++i) result = product(result, matrices[i]);
    result.shape = shape;
    return Arrays{result};
  };
  return row;
}

std::vector<OpCase> product_rows() {
  std::vector<OpCase> rows = {
      of_two("dot", {5}, {5}, dot, {1, 1}, sum_of_products),
      of_two("dot_of_nothing", {0}, {0}, dot, {1, 1}, sum_of_products),
      of_two("vdot", {2, 3}, {2, 3}, vdot, {2, 2}, sum_of_products),
      of_two("vdot_of_scalars", {}, {}, vdot, {0, 0}, sum_of_products),
      of_two(
          "vecdot", {2, 1, 4}, {3, 4}, [](auto& x, auto& y) { return vecdot(x, y); }, {1, 1}, sum_of_products),
      of_two("outer", {3}, {4}, outer, {1, 1}, all_products),
      of_two("outer_batch", {2, 1, 3}, {4, 2}, outer, {1, 1}, all_products),
      of_two(
          "cross", {3}, {3}, [](auto& x, auto& y) { return cross(x, y); }, {1, 1}, vector_product),
      of_two(
          "cross_batch", {2, 1, 3}, {4, 3}, [](auto& x, auto& y) { return cross(x, y); }, {1, 1}, vector_product),
      of_two("matvec", {3, 4}, {4}, matvec, {2, 1}, times_vector),
      of_two("matvec_batch", {2, 1, 3, 4}, {3, 4}, matvec, {2, 1}, times_vector),
      of_two("mm", {3, 4}, {4, 2}, mm, {2, 2}, product),
      of_two("bmm", {2, 3, 4}, {2, 4, 2}, bmm, {2, 2}, product),
      of_two("kron", {2, 3}, {3, 2}, kron, {2, 2}, kronecker),
      of_two("kron_of_vectors", {3}, {4}, kron, {1, 1}, kronecker),
      of_two("kron_of_four_dimensions", {2, 1, 2, 1}, {1, 2, 2, 3}, kron, {4, 4}, kronecker),
      of_two(
          "tensordot", {2, 3, 4}, {4, 5, 2}, [](auto& a, auto& b) { return tensordot(a, b, {0, -1}, {2, 0}); }, {3, 3},
          contracted),
      of_two(
          "tensordot_count", {2, 3, 4}, {3, 4, 2}, [](auto& a, auto& b) { return tensordot(a, b); }, {3, 3},
          [](const Array& a, const Array& b) {
            Array left = a, right = b;
            left.shape = {2, 12};
            right.shape = {12, 2};
            return product(left, right);
          }),
      of_two(
          "tensordot_of_no_dimension", {2}, {3}, [](auto& a, auto& b) { return tensordot(a, b, 0); }, {1, 1},
          all_products),
      chain("multi_dot", {{3, 5}, {5, 2}, {2, 4}, {4, 3}}),
      chain("multi_dot_of_two", {{2, 3}, {3, 2}}),
      chain("multi_dot_of_vectors", {{3}, {3, 4}, {4}}),
      chain("multi_dot_row", {{3}, {3, 4}, {4, 2}})};
  rows.push_back({.name = "cross_along_the_first",
                  .operands = {{{3, 2}, -1, 1}, {{3, 2}, -1, 1}},
                  .function = [](const Values& in) { return Values{cross(in[0], in[1], 0)}; },
                  .meaning =
                      [](const Arrays& in) {
                        return Arrays{transposed(each_in_batch(
                            {transposed(in[0]), transposed(in[1])}, {1, 1},
                            [](const Arrays& one) { return Arrays{vector_product(one[0], one[1])}; })[0])};
                      }});
  for (const auto& [suffix, beta, alpha] : {std::tuple{"", 1.0, 1.0}, {"_scaled", -0.5, 2.0}, {"_without", 0.0, 3.0}}) {
    rows.push_back(with_addend(text("addmm", suffix), {2}, {3, 4}, {4, 2}, {2, 2}, addmm, product, beta, alpha));
    rows.push_back(
        with_addend(text("baddbmm", suffix), {2, 3, 2}, {2, 3, 4}, {2, 4, 2}, {2, 2}, baddbmm, product, beta, alpha));
    rows.push_back(with_addend(text("addmv", suffix), {3}, {3, 4}, {4}, {2, 1}, addmv, times_vector, beta, alpha));
    rows.push_back(with_addend(text("addr", suffix), {3, 2}, {3}, {2}, {1, 1}, addr, all_products, beta, alpha));
  }
  rows.push_back(
      {.name = "matrix_power_of_integers",
       .operands = {{{2, 2}, -3, 4, OperandSpec::Index}, {{2, 2}, -3, 4, OperandSpec::Index}},
       .function = [](const Values& in) { return Values{mm(in[0], in[1]), vdot(in[0], in[1])}; },
       .meaning = [](const Arrays& in) { return Arrays{product(in[0], in[1]), sum_of_products(in[0], in[1])}; },
       .gradient = false});
  rows.back().name = "products_of_integers";
  return rows;
}

const Family kProducts(&product_rows);

}  // namespace
}  // namespace kiln::test
