#include "kiln/ops/product/products.hpp"
#include "tests/ops/harness.hpp"

namespace kiln::test {
namespace {

OpCase product(std::string name, const Shape& a, const Shape& b, bool gradient = true) {
  return {.name = std::move(name),
          .operands = {{a, -1, 1}, {b, -1, 1}},
          .function = [](const Values& in) { return Values{matmul(in[0], in[1])}; },
          .meaning =
              [](const std::vector<Array>& in) {
                const Shape &a = in[0].shape, &b = in[1].shape;
                Shape shape = broadcast("test", Shape(a.begin(), a.end() - 2), Shape(b.begin(), b.end() - 2));
                shape.push_back(a[a.size() - 2]);
                shape.push_back(b.back());
                Array result(shape);
                each_index(shape, [&](const Dims& index) {
                  double total = 0;
                  for (std::int64_t k = 0; k < a.back(); ++k) {
                    Dims left = index, right = index;
                    left.back() = k;
                    right[right.size() - 2] = k;
                    const auto fit = [](const Array& x, const Dims& full) {
                      Dims own;
                      for (int i = 0; i < x.shape.size(); ++i) {
                        const bool batch = i < x.shape.size() - 2;
                        own.push_back(batch && x.shape[i] == 1 ? 0 : full[i + full.size() - x.shape.size()]);
                      }
                      return x(own);
                    };
                    total += fit(in[0], left) * fit(in[1], right);
                  }
                  result(index) = total;
                });
                return std::vector<Array>{result};
              },
          .tolerance = 4,
          .gradient = gradient};
}

/// Rows and columns that lie elsewhere than one behind the other: elements that are one and the same, every other one,
/// the other way round.
OpCase product_in_strides(std::string name, std::int64_t rows, std::int64_t columns) {
  OpCase row = product(std::move(name), {rows, 4}, {4, columns});
  row.operands = {{{rows, 8}, -1, 1}, {{1, columns}, -1, 1}};
  row.function = [=](const Values& in) {
    const std::array<Range, 2> every_other = {Range{}, Range{1, {}, 2}}, backwards = {Range{}, Range{{}, {}, -1}};
    const Value a = slice(in[0], every_other), b = expand(in[1], {4, columns});
    return Values{matmul(a, b), matmul(slice(a, backwards), b), matmul(permute(b, {1, 0}), permute(a, {1, 0}))};
  };
  row.meaning = [=](const std::vector<Array>& in) {
    Array product({rows, columns}), turned({columns, rows});
    each_index(product.shape, [&](const Dims& index) {
      for (std::int64_t k = 0; k < 4; ++k) product(index) += in[0]({index[0], 2 * k + 1}) * in[1]({0, index[1]});
      turned({index[1], index[0]}) = product(index);
    });
    return std::vector<Array>{product, product, turned};
  };
  return row;
}

OperandSpec bytes(const Shape& shape, DType dtype) {
  return dtype == DType::U8 ? OperandSpec{shape, 0, 256, OperandSpec::Index}
                            : OperandSpec{shape, -128, 128, OperandSpec::Index};
}

/// Bytes less their zero points.
OpCase product_of_bytes(std::string name, const Shape& a, const Shape& b, DType left, DType right, const Shape& a_zero,
                        const Shape& b_zero) {
  OpCase row = product(std::move(name), a, b, false);
  row.operands = {bytes(a, left), bytes(b, right), bytes(a_zero, left), bytes(b_zero, right)};
  row.function = [=](const Values& in) {
    const Value x = cast(in[0], left), y = cast(in[1], right);
    return Values{matmul_integer(x, y, cast(in[2], left), cast(in[3], right)), matmul_integer(x, y)};
  };
  row.meaning = [plain = row.meaning](const std::vector<Array>& in) {
    std::vector<Array> steps{in[0], in[1]};
    for (std::size_t i = 0; i < 2; ++i)
      each_index(in[i].shape, [&](const Dims& index) { steps[i](index) -= broadcast_at(in[i + 2], index); });
    return std::vector<Array>{plain(steps)[0], plain({in[0], in[1]})[0]};
  };
  row.halves = false;
  return row;
}

std::vector<OpCase> matmul_rows() {
  return {product_in_strides("matmul_in_strides", 3, 5),
          product_in_strides("matmul_in_strides_of_a_row", 1, 5),
          product_in_strides("matmul_in_strides_of_a_column", 3, 1),
          product_in_strides("matmul_in_strides_of_one", 1, 1),
          product("matmul", {3, 4}, {4, 5}),
          product("matmul_of_vectors", {1, 6}, {6, 1}),
          product("matmul_batched", {2, 3, 4}, {2, 4, 2}),
          product("matmul_shared_right", {2, 3, 4}, {4, 2}),
          product("matmul_shared_left", {3, 4}, {2, 4, 2}),
          product("matmul_broadcast", {2, 1, 2, 3}, {1, 3, 3, 2}),
          product("matmul_size_1", {1, 1}, {1, 1}),
          product("matmul_no_rows", {0, 3}, {3, 2}),
          product("matmul_no_inner", {2, 0}, {0, 3}),
          product("matmul_no_batch", {0, 2, 3}, {3, 2}),
          product("matmul_tall", {97, 31}, {31, 17}, false),
          product("matmul_wide", {5, 130}, {130, 67}, false),
          product("matmul_many", {6, 33, 20}, {6, 20, 35}, false),
          product_of_bytes("matmul_integer", {3, 4}, {4, 5}, DType::U8, DType::I8, {}, {}),
          product_of_bytes("matmul_integer_by_column", {5, 70}, {70, 20}, DType::I8, DType::U8, {1, 1}, {20}),
          product_of_bytes("matmul_integer_by_row", {5, 7}, {7, 4}, DType::U8, DType::U8, {5, 1}, {1, 4}),
          product_of_bytes("matmul_integer_batched", {2, 3, 4}, {2, 4, 2}, DType::I8, DType::I8, {2, 1, 1}, {2, 1, 2}),
          product_of_bytes("matmul_integer_broadcast", {2, 1, 2, 3}, {1, 3, 3, 2}, DType::U8, DType::I8, {}, {2}),
          product_of_bytes("matmul_integer_no_inner", {2, 0}, {0, 3}, DType::U8, DType::I8, {}, {}),
          product_of_bytes("matmul_integer_long", {2, 600}, {600, 3}, DType::U8, DType::U8, {}, {})};
}

const Family kMatmul(&matmul_rows);

}  // namespace
}  // namespace kiln::test
