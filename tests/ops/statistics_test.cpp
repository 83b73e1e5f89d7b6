// Statistics of NaN, infinities, nothing, ties and integers.
#include <cmath>

#include <gtest/gtest.h>

#include "kiln/autodiff/backward.hpp"
#include "kiln/ops/reduce/calculus.hpp"
#include "kiln/ops/reduce/histogram.hpp"
#include "kiln/ops/reduce/quantile.hpp"
#include "kiln/ops/reduce/statistics.hpp"
#include "kiln/ops/reduce/unique.hpp"

namespace kiln::test {
namespace {

using Line = std::vector<double>;

Value list(std::initializer_list<double> values, DType dtype = DType::F32) {
  const TensorData data = TensorData::of<double>({static_cast<std::int64_t>(values.size())}, values);
  return from_data(data.to(dtype), Device::cpu());
}
Line numbers(const Value& x) { return x.data().to_vector<double>(); }

TEST(NanStatistics, LeaveNanOut) {
  const Value x = from_data(TensorData::of<double>({3, 4}, {1, NAN, 3, 5, NAN, NAN, NAN, NAN, 2, 2, NAN, -INFINITY}),
                            Device::cpu());
  EXPECT_EQ(numbers(nansum(x, {1})), (Line{9, 0, -INFINITY}));
  EXPECT_EQ(numbers(narrow(nanmean(x, {1}), 0, 0, 1)), (Line{3}));
  EXPECT_EQ(numbers(narrow(nanvar(x, {1}), 0, 0, 1)), (Line{4}));
  EXPECT_EQ(numbers(narrow(nanstd(x, {1}, 0), 0, 0, 1)), (Line{std::sqrt(8.0 / 3)}));
  EXPECT_EQ(numbers(narrow(nanmax(x, {1}), 0, 0, 1)), (Line{5}));
  EXPECT_EQ(numbers(narrow(nanmin(x, {1}), 0, 2, 1)), (Line{-INFINITY}));
  EXPECT_EQ(numbers(narrow(nanmedian(x, 1).values, 0, 0, 1)), (Line{3}));
  EXPECT_EQ(numbers(narrow(nanmedian(x, 1).indices, 0, 0, 1)), (Line{2}));
  EXPECT_EQ(numbers(narrow(nanquantile(x, 0.25, 1), 0, 0, 1)), (Line{2}));
  for (const Value& result : {nanmean(x, {1}), nanvar(x, {1}), nanmax(x, {1}), nanmin(x, {1}), nanmedian(x, 1).values,
                              nanquantile(x, 0.5, 1)})
    EXPECT_TRUE(std::isnan(numbers(result)[1])) << "of no numbers";
  EXPECT_EQ(nanmean(full({70000}, 1, Device::cpu(), DType::F16), {0}).item(), 1) << "the sum is beyond float16";
  EXPECT_EQ(nansum(list({1, 2}, DType::U8), {0}).item(), 3);
}

TEST(LogSumExp, NeitherOverflowsNorLosesInfinities) {
  const double infinity = INFINITY;
  const auto of = [](std::vector<double> v) {
    return from_data(TensorData::of<double>({static_cast<std::int64_t>(v.size())}, v), Device::cpu().autodiff());
  };
  EXPECT_DOUBLE_EQ(logsumexp(of({1000, 1000}), {0}).item(), 1000 + std::log(2.0));
  EXPECT_EQ(logsumexp(of({-infinity, 3}), {0}).item(), 3);
  EXPECT_EQ(logsumexp(of({infinity, 3}), {0}).item(), infinity);
  EXPECT_EQ(logsumexp(of({}), {0}).item(), -infinity);
  EXPECT_TRUE(std::isnan(logsumexp(of({NAN, 3}), {0}).item()));
  const Value nothing = of({-infinity, -infinity}).require_grad();
  EXPECT_EQ(logsumexp(nothing, {0}).item(), -infinity);
  EXPECT_EQ(numbers(grad(logsumexp(nothing, {0}), Values{nothing})[0]), (Line{0, 0}));
}

TEST(NanStatistics, GiveNanNoGradient) {
  const Value x = from_data(TensorData::of<double>({4}, {1, NAN, 3, 5}), Device::cpu().autodiff()).require_grad();
  EXPECT_EQ(numbers(grad(nansum(x, {0}), Values{x})[0]), (Line{1, 0, 1, 1}));
  EXPECT_EQ(numbers(grad(nanmax(x, {0}), Values{x})[0]), (Line{0, 0, 0, 1}));
  const Line mean = numbers(grad(nanmean(x, {0}), Values{x})[0]);
  EXPECT_DOUBLE_EQ(mean[0], 1.0 / 3);
  EXPECT_EQ(mean[1], 0);
}

TEST(Median, IsNanWhereThereIsOne) {
  const auto [values, indices] = median(list({3, NAN, 1, NAN}), 0);
  EXPECT_TRUE(std::isnan(values.item()));
  EXPECT_EQ(indices.item(), 1);
  EXPECT_TRUE(std::isnan(quantile(list({1, NAN}), 0.0, 0).item()));
  EXPECT_EQ(median(list({4, 1, 3, 2}, DType::I32)).item(), 2);
}

TEST(Quantile, StandsBetweenInfinities) {
  EXPECT_EQ(numbers(quantile(list({INFINITY, INFINITY, -INFINITY, -INFINITY}), std::vector{0.1, 0.9}, 0)),
            (Line{-INFINITY, INFINITY}));
  EXPECT_EQ(quantile(list({1, 2}, DType::I64), 0.5, 0).item(), 1.5);
}

TEST(Variance, OfTooFewElementsIsNotANumber) {
  EXPECT_TRUE(std::isnan(variance(list({3}), {0}).item()));
  EXPECT_EQ(variance(list({3}), {0}, 0).item(), 0);
  EXPECT_EQ(variance(full({70000}, 2, Device::cpu(), DType::F16), {0}).item(), 0) << "the count is beyond float16";
  EXPECT_EQ(variance(list({1, 2, 3, 4}, DType::U8), {0}).item(), static_cast<float>(5.0 / 3));
}

TEST(Histogram, CountsTheLastEdgeAndNothingOutside) {
  const Value x = list({0, 1, 2, 2, 2.5, -0.1, NAN, INFINITY});
  EXPECT_EQ(numbers(histogram(x, list({0, 1, 2})).counts), (Line{1, 3}));
  EXPECT_EQ(numbers(histc(x, 2, 0, 2)), (Line{1, 3}));
  EXPECT_EQ(histc(x, 2, 0, 2).dtype(), DType::F32);
  const auto [counts, edges] = histogram(list({1, 4, 2, 4}), 3);
  EXPECT_EQ(numbers(counts), (Line{1, 1, 2}));
  EXPECT_EQ(numbers(edges), (Line{1, 2, 3, 4}));
  EXPECT_EQ(numbers(histogram(list({3, 3}), 2).edges), (Line{2.5, 3, 3.5}));
  EXPECT_EQ(numbers(histogram(list({}), list({0, 1})).counts), (Line{0}));
  EXPECT_EQ(numbers(histogram(list({0, 1, 1, 2}), list({0, 1, 1})).counts), (Line{1, 2}));
  EXPECT_EQ(numbers(histogram(list({1, INFINITY, NAN}), list({0, INFINITY})).counts), (Line{2}));
  EXPECT_EQ(numbers(histogram(list({1, 2, 2, 3}), list({0, 1, 2}), {.weights = list({1, 2, 4, 8})}).counts),
            (Line{0, 7}));
}

TEST(Bincount, IsAsLongAsTheLargestNeeds) {
  EXPECT_EQ(numbers(bincount(list({1, 3, 1}, DType::U8))), (Line{0, 2, 0, 1}));
  EXPECT_EQ(numbers(bincount(list({}, DType::I64))), Line{});
  EXPECT_EQ(numbers(bincount(list({}, DType::I64), {}, 2)), (Line{0, 0}));
}

TEST(Unique, CountsNanOnceAndLast) {
  const Distinct d = unique(list({NAN, 1, NAN, -0.0, 0.0}));
  EXPECT_EQ(numbers(d.counts), (Line{2, 1, 2}));
  EXPECT_EQ(numbers(d.inverse), (Line{2, 1, 2, 0, 0}));
  EXPECT_EQ(d.values.numel(), 3);
  EXPECT_EQ(unique(zeros({0, 2}, Device::cpu())).inverse.shape(), (Shape{0, 2}));
  EXPECT_EQ(numbers(unique(list({1, 0, 1}, DType::Bool)).counts), (Line{1, 2}));
  const Value x = from_data(TensorData::of<double>({3}, {2, 1, 2}), Device::cpu().autodiff()).require_grad();
  EXPECT_EQ(numbers(grad(sum(unique(x).values * list({10, 100}, DType::F64)), Values{x})[0]), (Line{100, 10, 0}))
      << "to the first of equals";
}

TEST(Interp, IsLevelOutsideUnlessTold) {
  const Value xs = list({0, 1, 3}), ys = list({5, 7, 3}), x = list({-1, 0, 2, 3, 9, INFINITY});
  EXPECT_EQ(numbers(interp(x, xs, ys)), (Line{5, 5, 5, 3, 3, 3}));
  EXPECT_EQ(numbers(interp(x, xs, ys, -1, -2)), (Line{-1, 5, 5, 3, -2, -2}));
  EXPECT_EQ(numbers(interp(x, list({2}), list({4}))), Line(6, 4));
}

TEST(Diff, OfBooleansAsksWhetherTheyDiffer) {
  EXPECT_EQ(numbers(diff(list({1, 1, 0}, DType::Bool))), (Line{0, 1}));
  EXPECT_EQ(diff(list({1, 2}), 5).numel(), 0);
}

}  // namespace
}  // namespace kiln::test
