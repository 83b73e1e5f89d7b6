// The reductions at the end of fused programs: what loops say, and the bits of the reductions alone.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "kiln/ops/elementwise/enumerators.hpp"
#include "tests/backend/simd/program_writer.hpp"

namespace kiln::cpu::simd {
namespace {

using op::BinaryFn;
using op::UnaryFn;

TEST(SimdFused, FoldsRowsOfAnyLength) {
  const std::pair<Shape, int> shapes[] = {{{3, 128}, 1},   {{3, 129}, 1},   {{7, 255}, 1},     {{2, 1000}, 1},
                                          {{5, 5, 33}, 1}, {{4, 70000}, 1}, {{1, 200}, 0},     {{3000, 2}, 1},
                                          {{131, 7}, 1},   {{70, 3, 5}, 1}, {{700, 16}, 1},    {{33, 31}, 1},
                                          {{50, 96}, 1},   {{40, 127}, 1},  {{2, 3, 1, 1}, 2}, {{5}, 0}};
  for_each_target([&] {
    for (const DType dtype : {DType::F32, DType::F64})
      for (const auto& [shape, kept] : shapes) {
        SCOPED_TRACE(text(dtype, " ", shape));
        Writer writer(shape);
        const int x = writer.input(tensor(dtype, shape, random_numbers(numel(shape), -2, 3)));
        const int y = writer.step(op::Binary{BinaryFn::Mul}, {x, x});
        const int z = writer.step(op::Binary{BinaryFn::Sub}, {y, x});
        writer.output(y);
        std::vector<op::ReduceFn> fns{op::ReduceFn::Sum, op::ReduceFn::Mean, op::ReduceFn::Max, op::ReduceFn::Min};
        if (dtype == DType::F32) fns.push_back(op::ReduceFn::Length);  // of doubles they are folded afterwards
        Dims dims;
        for (int i = kept; i < shape.size(); ++i) dims.push_back(i);
        for (const op::ReduceFn fn : fns) writer.fold(z, fn, dims);
        const std::vector<Value> found = writer.run_fused();
        const std::vector<double> products = numbers(found[0]), in = numbers(writer.alone(x));
        std::vector<double> sums, means, most, least;
        const std::size_t rows = static_cast<std::size_t>(numel(found[1].shape())), length = in.size() / rows;
        const auto stored = [&](double number) { return dtype == DType::F64 ? number : static_cast<float>(number); };
        for (std::size_t row = 0; row < rows; ++row) {
          sums.push_back(0), most.push_back(-INFINITY), least.push_back(INFINITY);
          for (std::size_t i = row * length; i < (row + 1) * length; ++i) {
            EXPECT_EQ(products[i], stored(in[i] * in[i]));
            const double number = stored(products[i] - in[i]);
            sums.back() += number;
            most.back() = std::max(most.back(), number), least.back() = std::min(least.back(), number);
          }
          means.push_back(sums.back() / static_cast<double>(length));
        }
        const double relative = dtype == DType::F64 ? 1e-13 : 2e-7, absolute = dtype == DType::F64 ? 1e-14 : 3e-7;
        expect_close(numbers(found[1]), sums, relative, length < 16 ? absolute : 0);
        expect_close(numbers(found[2]), means, relative, length < 16 ? absolute : 0);
        EXPECT_EQ(numbers(found[3]), most);
        EXPECT_EQ(numbers(found[4]), least);

        for (std::size_t i = 0; i < fns.size(); ++i)
          EXPECT_EQ(numbers(found[1 + i]), numbers(run_op(op::Reduce{fns[i], dims}, {writer.alone(z)})));
      }
  });
}

/// The bits of the reduction alone, whose order of adding up floats and doubles show.
TEST(SimdFused, FoldsAnyDimensionsAsTheReductionAloneDoes) {
  const std::pair<Shape, Dims> cases[] = {{{300, 7}, {0}},      {{70, 129}, {0}},        {{9, 4, 33}, {1}},
                                          {{5, 70, 2100}, {1}}, {{20, 6, 150}, {0, 2}},  {{3, 5, 4, 6}, {0, 2}},
                                          {{2, 1, 300}, {1}},   {{40000, 3}, {0}},       {{6, 200}, {1}},
                                          {{2, 70000}, {1}},    {{17, 4, 3, 40}, {1, 3}}};
  for_each_target([&] {
    for (const DType dtype : {DType::F32, DType::F64, DType::F16, DType::BF16})
      for (const auto& [shape, dims] : cases)
        for (const bool turned : {false, true})
          for (const op::ReduceFn fn :
               {op::ReduceFn::Sum, op::ReduceFn::Mean, op::ReduceFn::Max, op::ReduceFn::Prod, op::ReduceFn::Length}) {
            SCOPED_TRACE(text(op::name(fn), " of ", dtype, " ", shape, " over ", dims, turned ? ", turned" : ""));
            std::vector<double> some = random_numbers(numel(shape), fn == op::ReduceFn::Prod ? 0.9 : -2, 1.1);
            if (shape[0] % 2) some[some.size() / 2] = NAN;
            if (fn == op::ReduceFn::Length && dtype != DType::F16)  // squares leave the range of floats
              for (double& number : some) number *= turned ? 0x1p-90 : 0x1p90;
            Dims order;
            for (int i = 0; i < shape.size(); ++i) order.push_back(turned ? (i + 1) % shape.size() : i);
            Writer writer(shape);
            const int x = writer.input(tensor(dtype, shape, rounded(dtype, some), order));
            const int y = writer.step(op::Binary{BinaryFn::Mul}, {x, writer.input(Value(1.0625), dtype)});
            const int z = writer.step(op::Unary{UnaryFn::Neg}, {writer.step(op::Unary{UnaryFn::Neg}, {y})});
            if (shape[0] % 3) writer.output(y);
            writer.fold(z, fn, dims);
            const std::vector<Value> found = writer.run_fused();
            const Value alone = run_op(op::Reduce{fn, dims}, {writer.alone(z)});
            const std::vector<double> expected = numbers(alone), results = numbers(found.back());
            ASSERT_EQ(results.size(), expected.size());
            for (std::size_t i = 0; i < results.size(); ++i)
              ASSERT_TRUE(results[i] == expected[i] || (std::isnan(results[i]) && std::isnan(expected[i])))
                  << results[i] << ", alone " << expected[i];
            EXPECT_EQ(read(found.back()).strides, read(alone).strides);
            if (found.size() > 1) writer.expect_same_bits();
          }
  });
}

TEST(SimdFused, FoldsRowsThatLieAcrossMemory) {
  const Shape shape{2, 40, 300};
  for_each_target([&] {
    Writer writer(shape);
    const int x = writer.input(tensor(DType::F32, shape, random_numbers(numel(shape), -2, 3), {0, 2, 1}));
    const int bias = writer.input(tensor(DType::F32, {40, 1}, random_numbers(40, -1, 1)));
    const int z = writer.step(op::Unary{UnaryFn::Relu}, {writer.step(op::Binary{BinaryFn::Add}, {x, bias})});
    writer.output(z);
    writer.fold(z, op::ReduceFn::Max, {2});
    writer.fold(z, op::ReduceFn::Min, {2});
    writer.fold(writer.step(op::Unary{UnaryFn::Square}, {z}), op::ReduceFn::Sum, {2});
    const std::vector<Value> found = writer.run_fused();
    ASSERT_EQ(found.size(), 4u);
    EXPECT_EQ(numbers(found[0]), numbers(writer.alone(z)));
    EXPECT_EQ(read(found[0]).strides, read(writer.alone(z)).strides);
    const std::vector<double> in = numbers(writer.alone(z));
    std::vector<double> most, least, sums;
    for (std::size_t row = 0; row < 80; ++row) {
      const auto begin = in.begin() + static_cast<std::ptrdiff_t>(row * 300), end = begin + 300;
      most.push_back(*std::max_element(begin, end)), least.push_back(*std::min_element(begin, end));
      sums.push_back(std::inner_product(begin, end, begin, 0.0));
    }
    EXPECT_EQ(numbers(found[1]), most);
    EXPECT_EQ(numbers(found[2]), least);
    expect_close(numbers(found[3]), sums, 1e-6);
  });
}

/// Sums that have a kernel of their own.
TEST(SimdFused, SumsSquaresAndWhatIsNoNanAsItsStepsDo) {
  const std::pair<Shape, Dims> cases[] = {
      {{3, 128}, {1}},    {{9, 5, 61}, {1, 2}}, {{2, 300}, {1}},    {{2, 65536 + 17}, {1}},
      {{1, 200}, {0, 1}}, {{1100, 3}, {1}},     {{601, 16}, {1}},   {{50, 31}, {1}},
      {{17, 32}, {1}},    {{70, 96}, {1}},      {{16, 300}, {0}},   {{90, 70}, {0}},
      {{700, 8}, {0}},    {{400, 5}, {0}},      {{9, 70, 33}, {1}}, {{6, 20, 70}, {0, 2}}};
  for_each_target([&] {
    for (const DType dtype : {DType::F32, DType::F64, DType::F16, DType::BF16})
      for (const auto& [shape, dims] : cases)
        for (const bool turned : {false, true})
          for (const op::ReduceFn fn : {op::ReduceFn::Sum, op::ReduceFn::Mean})
            for (const std::optional<double> replacement : {std::optional<double>(), {0.0}, {2.0}}) {
              SCOPED_TRACE(text(op::name(fn), " of ", dtype, " ", shape, " over ", dims, turned ? ", turned" : ""));
              std::vector<double> some = rounded(dtype, random_numbers(numel(shape), -0.5, 1));
              if (replacement)
                for (std::size_t i = 0; i < some.size(); i += 7) some[i] = NAN;
              Dims order;
              for (int i = 0; i < shape.size(); ++i) order.push_back(turned ? shape.size() - 1 - i : i);
              Writer writer(shape);
              const int x = writer.input(tensor(dtype, shape, some, order));
              const int mapped = [&] {
                if (!replacement) return writer.step(op::Unary{UnaryFn::Square}, {x});
                const int is_nan = writer.step(op::Unary{UnaryFn::IsNan}, {x});
                return writer.step(op::Where{}, {is_nan, writer.input(Value(*replacement), dtype), x});
              }();
              writer.fold(mapped, fn, dims);
              const Value result = writer.run_fused()[0];
              const std::vector<double> found = numbers(result);
              EXPECT_EQ(found, numbers(run_op(op::Reduce{fn, dims}, {writer.alone(mapped)})));

              std::vector<double> terms;
              for (const double number : some)
                terms.push_back(!replacement ? number * number : std::isnan(number) ? *replacement : number);
              expect_close(found, expected_of(fn, rounded(dtype, terms), shape, dims),
                           size_of(dtype) == 2 ? 1e-2 : 1e-6);
            }
  });
}

}  // namespace
}  // namespace kiln::cpu::simd
