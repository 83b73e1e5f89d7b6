// Functions of floats take integers and booleans for float32, also where fusion runs them; and functions along a
// dimension take tensors of rank 0 for a line of one element.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <map>

#include "kiln/autodiff/backward.hpp"
#include "kiln/ops/elementwise/activation.hpp"
#include "kiln/ops/elementwise/elementwise_ops.hpp"
#include "kiln/ops/elementwise/numbers.hpp"
#include "kiln/ops/elementwise/rows.hpp"
#include "kiln/ops/index/index.hpp"
#include "kiln/ops/linalg/linalg.hpp"
#include "kiln/ops/reduce/calculus.hpp"
#include "kiln/ops/reduce/masked.hpp"
#include "kiln/ops/reduce/order.hpp"
#include "kiln/ops/reduce/quantile.hpp"
#include "kiln/ops/reduce/scan.hpp"
#include "kiln/ops/reduce/statistics.hpp"
#include "kiln/ops/signal/signal.hpp"
#include "kiln/ops/special/special.hpp"

namespace kiln {
namespace {

using Function = std::function<Value(const Value&)>;  // of a matrix [3, 3]

Value eye(const Value& like) {
  const Value row = arange(0, like.dim(0), 1, like.device());
  return cast(eq(unsqueeze(row, 1), row), DType::I64) * 3;
}

const std::map<std::string, Function>& functions() {
  static const std::map<std::string, Function> list = [] {
    std::map<std::string, Function> all = {
        {"softmax", [](const Value& x) { return softmax(x, 1); }},
        {"log_softmax", [](const Value& x) { return log_softmax(x, 0); }},
        {"softmin", [](const Value& x) { return softmin(x, 1); }},
        {"quiet_softmax", [](const Value& x) { return quiet_softmax(x, 1); }},
        {"softplus", [](const Value& x) { return softplus(x, 2.0); }},
        {"hard_sigmoid of a slope", [](const Value& x) { return hard_sigmoid(x, 0.2, 0.5); }},
        {"prelu", [](const Value& x) { return prelu(x, full({1}, 0.25, x.device())); }},
        {"shrink", [](const Value& x) { return shrink(x, 0.5, 0.25); }},
        {"logit of a bound", [](const Value& x) { return logit(x, 0.125); }},
        {"float_power", [](const Value& x) { return float_power(x, 2); }},
        {"deg2rad", [](const Value& x) { return deg2rad(x); }},
        {"lerp", [](const Value& x) { return lerp(x, x + 1, 0.25); }},
        {"mean", [](const Value& x) { return mean(x, {1}); }},
        {"variance", [](const Value& x) { return variance(x, {1}); }},
        {"deviation", [](const Value& x) { return deviation(x, {0}, 0); }},
        {"average", [](const Value& x) { return average(x, x + 1, {0}); }},
        {"logsumexp", [](const Value& x) { return logsumexp(x, {1}); }},
        {"logcumsumexp", [](const Value& x) { return logcumsumexp(x, 1); }},
        {"nanmean", [](const Value& x) { return nanmean(x, {1}); }},
        {"nanvar", [](const Value& x) { return nanvar(x, {1}); }},
        {"nanstd", [](const Value& x) { return nanstd(x, {1}); }},
        {"cov", [](const Value& x) { return cov(x); }},
        {"cov by weights", [](const Value& x) { return cov(x, {.weights = x.dim(0) ? at(x, 0, 0) + 1 : x}); }},
        {"corrcoef", [](const Value& x) { return corrcoef(x); }},
        {"quantile", [](const Value& x) { return quantile(x, 0.3, 1); }},
        {"nanquantile", [](const Value& x) { return nanquantile(x, 0.3, 1); }},
        {"masked_mean", [](const Value& x) { return masked_mean(x, ge(x, 0), {1}); }},
        {"masked_var", [](const Value& x) { return masked_var(x, ge(x, 0), {1}); }},
        {"masked_norm", [](const Value& x) { return masked_norm(x, ge(x, 0), 2, {1}); }},
        {"masked_softmax", [](const Value& x) { return masked_softmax(x, ge(x, 0), 1); }},
        {"masked_logsumexp", [](const Value& x) { return masked_logsumexp(x, ge(x, 0), {1}); }},
        {"vector_norm", [](const Value& x) { return vector_norm(x, 3, {1}); }},
        {"vector_normalize", [](const Value& x) { return vector_normalize(x); }},
        {"matrix_norm", [](const Value& x) { return matrix_norm(x); }},
        {"cosine_similarity", [](const Value& x) { return cosine_similarity(x, x + 1); }},
        {"pairwise_distance", [](const Value& x) { return pairwise_distance(x, x + 1); }},
        {"cdist", [](const Value& x) { return cdist(x, x + 1); }},
        {"pdist", [](const Value& x) { return pdist(x); }},
        {"renorm", [](const Value& x) { return renorm(x, 2, 0, 1); }},
        {"gradient", [](const Value& x) { return gradient(x, 0.5)[0]; }},
        {"trapezoid", [](const Value& x) { return trapezoid(x, 1.0, 1); }},
        {"inverse", [](const Value& x) { return inverse(x + eye(x)); }},
        {"solve", [](const Value& x) { return solve(x + eye(x), x); }},
        {"det", [](const Value& x) { return det(x + eye(x)); }},
        {"pinv", [](const Value& x) { return pinv(x + eye(x)); }},
        {"svdvals", [](const Value& x) { return svdvals(x); }},
        {"matrix_exp", [](const Value& x) { return matrix_exp(x); }},
        {"ldl_factor", [](const Value& x) { return ldl_factor(x + eye(x)).d; }},
        {"rfft", [](const Value& x) { return rfft(x); }},
        {"ihfft", [](const Value& x) { return ihfft(x); }},
        {"dct", [](const Value& x) { return dct(x); }},
        {"mvlgamma", [](const Value& x) { return mvlgamma(x + 2, 2); }},
        {"entr", [](const Value& x) { return entr(x); }},
        {"xlog1py", [](const Value& x) { return xlog1py(x, x); }},
        {"logaddexp2", [](const Value& x) { return logaddexp2(x, x + 1); }},
        {"nextafter", [](const Value& x) { return nextafter(x, 9); }},
        {"ldexp", [](const Value& x) { return ldexp(x, 2); }},
    };
#define KILN_UNARY(Name, function, domain, ...) \
  if (op::Domain::domain == op::Domain::Float) all[#function] = [](const Value& x) { return kiln::function(x); };
#define KILN_PREDICATE(...)
#define KILN_BINARY(Name, function, domain, ...) \
  if (op::Domain::domain == op::Domain::Float) all[#function] = [](const Value& x) { return kiln::function(x, x + 1); };
#define KILN_COMPARISON(...)
#include "kiln/ops/elementwise/elementwise.def"
#define KILN_SPECIAL_OF_1(Name, function, ...) all[#function] = [](const Value& x) { return kiln::function(x); };
#define KILN_SPECIAL_OF_2(Name, function, ...) all[#function] = [](const Value& x) { return kiln::function(x, x + 1); };
#define KILN_SPECIAL_OF_3(Name, function, ...) \
  all[#function] = [](const Value& x) { return kiln::function(x, x + 1, 24); };
#include "kiln/ops/special/special.def"
    return all;
  }();
  return list;
}

class Promotion : public testing::TestWithParam<const char*> {};

TEST_P(Promotion, TakesWholeNumbersForFloat32) {
  const Device device = Device::parse(GetParam());
  const auto matrix = [&](DType dtype) {
    const std::vector<double> flags = {1, 0, 1, 0, 1, 1, 1, 0, 0}, numbers = {2, 1, 3, 0, 5, 1, 1, 4, 2};
    return from_data(TensorData::of<double>({3, 3}, dtype == DType::Bool ? flags : numbers).to(dtype), device);
  };
  for (const DType dtype : {DType::I64, DType::U8, DType::I16, DType::Bool}) {
    const Value x = matrix(dtype);
    for (const auto& [name, function] : functions()) {
      SCOPED_TRACE(text(name, " of ", dtype));
      // The operand is the result of an operation that has not run yet where there is fusion.
      const Value pending = dtype == DType::Bool ? logical_not(logical_not(x)) : x * 1;
      TensorData found, expected;
      ASSERT_NO_THROW(found = function(pending).data());
      expected = function(cast(x, DType::F32)).data();
      EXPECT_EQ(found.dtype(), expected.dtype());
      EXPECT_EQ(difference(found, expected, {1e-6, 1e-6}), "");
    }
  }
}
INSTANTIATE_TEST_SUITE_P(Devices, Promotion, testing::Values("cpu", "reference"));

// ---- rank 0 ----------------------------------------------------------------------------------------------------------

TEST(RankZero, HasTheDimensionsZeroAndMinusOne) {
  const Device device = Device::cpu().autodiff();
  const Value x = full({}, 3.0, device, DType::F64);
  const auto index = full({}, 0, device, DType::I64);
  const std::map<std::string, std::pair<std::function<Value(int)>, double>> cases = {
      {"sum", {[&](int d) { return sum(x, {d}); }, 3}},
      {"mean kept", {[&](int d) { return mean(x, {d}, true); }, 3}},
      {"prod", {[&](int d) { return prod(x, {d}); }, 3}},
      {"max", {[&](int d) { return max(x, {d}); }, 3}},
      {"any", {[&](int d) { return any(x, {d}); }, 1}},
      {"argmax", {[&](int d) { return argmax(x, d); }, 0}},
      {"argmin kept", {[&](int d) { return argmin(x, d, true); }, 0}},
      {"variance", {[&](int d) { return variance(x, {d}, 0); }, 0}},
      {"logsumexp", {[&](int d) { return logsumexp(x, {d}); }, 3}},
      {"nanmean", {[&](int d) { return nanmean(x, {d}); }, 3}},
      {"count_nonzero", {[&](int d) { return count_nonzero(x, {d}); }, 1}},
      {"softmax", {[&](int d) { return softmax(x, d); }, 1}},
      {"log_softmax", {[&](int d) { return log_softmax(x, d); }, 0}},
      {"softmin", {[&](int d) { return softmin(x, d); }, 1}},
      {"quiet_softmax", {[&](int d) { return quiet_softmax(x, d); }, std::exp(3) / (1 + std::exp(3))}},
      {"cumsum", {[&](int d) { return cumsum(x, d); }, 3}},
      {"cumprod, exclusive", {[&](int d) { return cumprod(x, d, {.exclusive = true}); }, 1}},
      {"cummax", {[&](int d) { return cummax(x, d).values; }, 3}},
      {"logcumsumexp", {[&](int d) { return logcumsumexp(x, d); }, 3}},
      {"sort", {[&](int d) { return sort(x, d).values; }, 3}},
      {"argsort", {[&](int d) { return argsort(x, d); }, 0}},
      {"topk", {[&](int d) { return reshape(topk(x, 1, d).values, {}); }, 3}},
      {"kthvalue", {[&](int d) { return kthvalue(x, 1, d).values; }, 3}},
      {"median", {[&](int d) { return median(x, d).values; }, 3}},
      {"nanmedian", {[&](int d) { return nanmedian(x, d, true).values; }, 3}},
      {"mode", {[&](int d) { return mode(x, d).values; }, 3}},
      {"quantile", {[&](int d) { return quantile(x, 0.3, d); }, 3}},
      {"max_with_index", {[&](int d) { return max_with_index(x, d).values; }, 3}},
      {"min_with_index", {[&](int d) { return min_with_index(x, d, true).indices; }, 0}},
      {"is_sorted", {[&](int d) { return is_sorted(x, d); }, 1}},
      {"vector_norm", {[&](int d) { return vector_norm(x, 2, {d}); }, 3}},
      {"squeeze", {[&](int d) { return squeeze(x, d); }, 3}},
      {"flip", {[&](int d) { return flip(x, {d}); }, 3}},
      {"gather", {[&](int d) { return gather(x, d, index); }, 3}},
      {"scatter_add", {[&](int d) { return scatter_add(x, d, index, x); }, 6}},
      {"select", {[&](int d) { return select(x, d, index); }, 3}},
      {"select_assign", {[&](int d) { return select_assign(x, d, index, 5.0, Update::Assign); }, 5}},
  };
  for (const auto& [name, one] : cases)
    for (const int dim : {0, -1}) {
      SCOPED_TRACE(text(name, " along ", dim));
      Value result;
      ASSERT_NO_THROW(result = one.first(dim));
      EXPECT_EQ(result.shape(), Shape{});
      EXPECT_NEAR(result.item(), one.second, 1e-12);
      EXPECT_THROW(one.first(1), IndexError);
      EXPECT_THROW(one.first(-2), IndexError);
    }
  // Gradients go through.
  const Value leaf = x.require_grad();
  const Value loss = log_softmax(leaf, 0) + cumsum(square(leaf), -1) + sort(leaf, 0).values + sum(leaf, {0});
  EXPECT_EQ(grad(loss, {&leaf, 1})[0].item(), 8);
}

}  // namespace
}  // namespace kiln
