// What the headers of kiln/ops say of zeros, infinities and NaN, sentence by sentence, on every device.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "kiln/autodiff/backward.hpp"
#include "kiln/ops/elementwise/numbers.hpp"
#include "kiln/ops/elementwise/powers.hpp"
#include "kiln/ops/index/embedding.hpp"
#include "kiln/ops/index/index.hpp"
#include "kiln/ops/linalg/linalg.hpp"
#include "kiln/ops/linalg/vector_norm.hpp"
#include "kiln/ops/loss/ctc_transducer.hpp"
#include "kiln/ops/loss/loss.hpp"
#include "kiln/ops/norm/normalization.hpp"
#include "kiln/ops/reduce/histogram.hpp"
#include "kiln/ops/reduce/masked.hpp"
#include "kiln/ops/reduce/order.hpp"
#include "kiln/ops/reduce/quantile.hpp"
#include "kiln/ops/reduce/scan.hpp"
#include "kiln/ops/reduce/statistics.hpp"
#include "kiln/ops/spatial/pool.hpp"
#include "kiln/ops/spatial/sample.hpp"
#include "kiln/ops/view/diagonal.hpp"
#include "tests/support/backends/devices.hpp"

namespace kiln::test {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
const double kNan = std::nan("");
using List = std::vector<double>;

struct Sentence {
  std::string says;
  std::function<Value(const Device&)> function;
  List right;  // NaN is NaN
};

Value floats(const Shape& shape, const List& numbers, const Device& device) {
  return from_data(TensorData::of<double>(shape, numbers).to(DType::F32), device);
}
Value line(const List& numbers, const Device& device) {
  return floats({static_cast<std::int64_t>(numbers.size())}, numbers, device);
}
Value whole(const Shape& shape, const std::vector<std::int64_t>& numbers, const Device& device) {
  return from_data(TensorData::of<std::int64_t>(shape, numbers), device);
}
Value mask(const List& numbers, const Device& device) { return cast(line(numbers, device), DType::Bool); }
/// The gradient of the sum of f(x).
Value slope(const List& numbers, const Shape& shape, const Device& device,
            const std::function<Value(const Value&)>& f) {
  const Value x = floats(shape, numbers, device.autodiff()).require_grad();
  return grad(sum(f(x)), Values{x})[0];
}

const Sentence kSentences[] = {
    // elementwise
    {"a float becomes an integer by truncation, saturating, NaN gives 0",
     [](const Device& d) { return cast(line({kNan, 1e20, -kInf, -2.7}, d), DType::I32); },
     {0, 2147483647, -2147483648.0, -2}},
    {"fmax: where one operand is NaN, the other",
     [](const Device& d) { return fmax(line({kNan, 1, kNan}, d), line({2, kNan, kNan}, d)); },
     {2, 1, kNan}},
    {"is_close: equal infinities are close, NaN to NaN only if equal_nan",
     [](const Device& d) { return is_close(line({kInf, kInf, kNan, 1}, d), line({kInf, -kInf, kNan, 1}, d)); },
     {1, 0, 0, 1}},
    {"nan_to_num", [](const Device& d) { return nan_to_num(line({kNan, kInf, -kInf, 2}, d), 7, 8, 9); }, {7, 8, 9, 2}},
    {"|x|^p is infinite at 0 where p is negative",
     [](const Device& d) { return power_of_size(line({0, -2, kInf}, d), -1); },
     {kInf, 0.5, 0}},
    // reductions
    {"NaN wins in max and min",
     [](const Device& d) { return stack(Values{max(line({1, kNan, 3}, d)), min(line({1, kNan, 3}, d))}, 0); },
     {kNan, kNan}},
    {"a NaN counts as the most extreme", [](const Device& d) { return argmin(line({3, kNan, -kInf}, d), 0); }, {1}},
    {"the mean of nothing is NaN", [](const Device& d) { return mean(floats({0}, {}, d)); }, {kNan}},
    {"log(sum(exp(x))) without overflow; of -inf alone -inf",
     [](const Device& d) { return logsumexp(floats({3, 2}, {1000, 1000, -kInf, -kInf, kInf, 1}, d), {1}); },
     {1000.6931471805599, -kInf, kInf}},
    {"NaN is not 0", [](const Device& d) { return count_nonzero(line({0, kNan, kInf, -0.0}, d), {0}); }, {2}},
    {"of no number nansum is 0 and nanmean NaN",
     [](const Device& d) {
       return stack(Values{nansum(line({kNan}, d), {0}), nanmean(line({kNan}, d), {0}), nanmax(line({kNan}, d), {0})},
                    0);
     },
     {0, kNan, kNan}},
    {"corrcoef: NaN beside a variable that is constant",
     [](const Device& d) { return corrcoef(floats({2, 3}, {1, 2, 4, 5, 5, 5}, d)); },
     {1, kNan, kNan, kNan}},
    {"masked: of no element the sum is 0, the product 1, the largest -inf and the smallest inf",
     [](const Device& d) {
       const Value x = line({kNan, 2}, d), none = mask({0, 0}, d);
       return stack(Values{masked_sum(x, none, {0}), masked_prod(x, none, {0}), masked_max(x, none, {0}),
                           masked_min(x, none, {0}), masked_mean(x, none, {0}), masked_median(x, none, 0)},
                    0);
     },
     {0, 1, -kInf, kInf, kNan, kNan}},
    {"masked_argmax: 0 of no element",
     [](const Device& d) { return masked_argmax(line({1, 2}, d), mask({0, 0}, d), 0); },
     {0}},
    {"cummax: a NaN wins from its place on",
     [](const Device& d) { return cummax(line({1, kNan, 5}, d), 0).values; },
     {1, kNan, kNan}},
    {"the gradient of cumprod is right beside zeros",
     [](const Device& d) { return slope({2, 0, 3}, {3}, d, [](const Value& x) { return cumprod(x, 0); }); },
     {1, 8, 0}},
    {"a NaN makes the quantile of its line NaN, but for the nan... functions",
     [](const Device& d) {
       const Value x = line({1, kNan, 3}, d);
       return stack(Values{quantile(x, 0.5, 0), nanquantile(x, 0.5, 0)}, 0);
     },
     {kNan, 2}},
    {"sort: NaN counts as larger than any number",
     [](const Device& d) { return sort(line({kNan, -1, kInf}, d), 0).values; },
     {-1, kInf, kNan}},
    {"what lies outside the bins, and NaN, is not counted",
     [](const Device& d) { return histogram(line({0, 1, 2, kNan, kInf, -1}, d), line({0, 1, 2}, d)).counts; },
     {1, 2}},
    // linalg
    {"where a length is zero, its gradient is zero",
     [](const Device& d) {
       return slope({0, 0, 3, 4}, {2, 2}, d, [](const Value& x) { return vector_norm(x, 2, {1}); });
     },
     {0, 0, 0.6, 0.8}},
    {"infinity and minus infinity give the largest and the smallest magnitude",
     [](const Device& d) {
       return stack(Values{vector_norm(line({-3, 1}, d), kInf), vector_norm(line({-3, 1}, d), -kInf)}, 0);
     },
     {3, 1}},
    {"0 counts the elements that are not zero",
     [](const Device& d) { return vector_norm(line({0, 5, -0.0, 2}, d), 0); },
     {2}},
    {"slogdet: 0 and minus infinity for singular matrices",
     [](const Device& d) {
       const SlogdetResult made = slogdet(floats({2, 2}, {1, 2, 2, 4}, d));
       return stack(Values{made.sign, made.log_abs}, 0);
     },
     {0, -kInf}},
    {"cosine_similarity of a vector of zeros is 0",
     [](const Device& d) { return cosine_similarity(line({0, 0}, d), line({1, 2}, d)); },
     {0}},
    // losses
    {"the mean of nothing is NaN",
     [](const Device& d) { return cross_entropy(floats({1, 2}, {1, 2}, d), whole({1}, {-1}, d), {.ignore = -1}); },
     {kNan}},
    {"ctc_loss: the gradient of an infinite loss is 0",
     [](const Device& d) {
       return slope({-1, -2, -1, -2}, {1, 2, 2}, d, [&](const Value& x) {
         return ctc_loss(x, whole({2, 2}, {1, 1, 1, 1}, d), whole({2}, {1, 1}, d), whole({2}, {2, 1}, d), {},
                         Reduction::None);
       });
     },
     {0, 0, 0, -1}},
    {"zero_infinity: a sequence that is too short counts as 0",
     [](const Device& d) {
       return ctc_loss(floats({1, 1, 2}, {-1, -2}, d), whole({1, 2}, {1, 1}, d), whole({1}, {1}, d), whole({1}, {2}, d),
                       {.zero_infinity = true}, Reduction::Sum);
     },
     {0}},
    // tables, images, views
    {"a bag without entries gives zeros",
     [](const Device& d) {
       return embedding_bag(floats({2, 1}, {kInf, kNan}, d), whole({0}, {}, d), whole({2}, {0, 0}, d),
                            {.mode = BagMode::Mean});
     },
     {0, 0}},
    {"lp_pool: the gradient where a window holds zeros alone is 0",
     [](const Device& d) {
       return slope({0, 0, 3, 4}, {1, 1, 4}, d, [](const Value& x) { return lp_pool(x, 2, {.kernel = {2}}); });
     },
     {0, 0, 0.6, 0.8}},
    {"a position that is NaN reads nothing",
     [](const Device& d) { return grid_sample(floats({1, 1, 1, 2}, {5, 6}, d), floats({1, 1, 1, 2}, {kNan, 0}, d)); },
     {0}},
    {"triu: zero below the diagonal, whatever stands there",
     [](const Device& d) { return triu(floats({2, 2}, {1, 2, kNan, 4}, d)); },
     {1, 2, 0, 4}},
    {"its gradient is zero there",
     [](const Device& d) { return slope({1, 2, kInf, 4}, {2, 2}, d, [](const Value& x) { return square(triu(x)); }); },
     {2, 4, 0, 8}},
    {"scattered products are exact beside zeros",
     [](const Device& d) {
       return slope({0, 3}, {2}, d, [&](const Value& x) {
         return scatter(full({1}, 5.0, x.device()), 0, whole({2}, {0, 0}, d), x, Update::Mul);
       });
     },
     {15, 0}},
    // norms
    {"layer_norm without a bias",
     [](const Device& d) { return layer_norm(line({-1, 1}, d), line({2, 3}, d), {}, 0); },
     {-2, 3}},
    {"layer_norm without a weight",
     [](const Device& d) { return layer_norm(line({-1, 1}, d), {}, line({2, 3}, d), 0); },
     {1, 4}},
    {"norms of equal elements are 0, exactly",
     [](const Device& d) { return layer_norm(line({1e30, 1e30}, d), 1); },
     {0, 0}},
};

TEST(Sentences, OfHeadersAreTrue) {
  for (const auto& [name, device] : devices_under_test())
    for (const Sentence& each : kSentences) {
      const List found = each.function(device).data().to_vector<double>();
      ASSERT_EQ(found.size(), each.right.size()) << each.says << ", " << name;
      for (std::size_t i = 0; i < found.size(); ++i) {
        const bool same = std::isnan(each.right[i]) ? std::isnan(found[i])
                                                    : found[i] == each.right[i] || std::abs(found[i] - each.right[i]) <=
                                                                                       1e-6 * std::abs(each.right[i]);
        EXPECT_TRUE(same) << each.says << ", " << name << ": element " << i << " is " << found[i] << ", not "
                          << each.right[i];
      }
    }
}

TEST(Sentences, OfWhatIsRefusedAreTrue) {
  const Device device = Device::cpu();
  EXPECT_THROW(static_cast<void>(triangular_solve(floats({2, 2}, {1, 0, 2, 0}, device), line({1, 1}, device)).data()),
               Error);
  EXPECT_THROW(static_cast<void>(svdvals(floats({2, 2}, {1, kNan, 2, 0}, device)).data()), ArgumentError);
  EXPECT_THROW(static_cast<void>(svdvals(floats({2, 2}, {1, kInf, 2, 0}, device)).data()), ArgumentError);
  EXPECT_THROW(static_cast<void>(layer_norm(line({1, 2}, device), {}, {})), ArgumentError);
}

}  // namespace
}  // namespace kiln::test
