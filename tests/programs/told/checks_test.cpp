// Operations that look at their data say the same on every device: to who reads the result, or waits for the device, once.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "kiln/autodiff/backward.hpp"
#include "kiln/ops/create/random.hpp"
#include "kiln/ops/elementwise/numbers.hpp"
#include "kiln/ops/index/embedding.hpp"
#include "kiln/ops/index/index.hpp"
#include "kiln/ops/linalg/linalg.hpp"
#include "kiln/ops/loss/ctc_transducer.hpp"
#include "kiln/ops/loss/loss.hpp"
#include "kiln/ops/spatial/pool.hpp"
#include "tests/programs/told/tellings.hpp"
#include "tests/support/backends/devices.hpp"

namespace kiln::test {
namespace {

/// What an operation gives of `x`, floats [4, 3], and data that are wrong; `sentence` begins what it says.
struct Check {
  const char* name;
  const char* sentence;
  std::function<Value(const Value& x)> function;
  bool has_gradient = true;
};

Value numbers(const Value& like, const Shape& shape, std::vector<std::int64_t> list) {
  return from_data(TensorData::of<std::int64_t>(shape, list), like.device());
}
Value floats(const Value& like, const Shape& shape, double number) {
  return full(shape, number, like.device(), DType::F32);
}

const std::vector<Check> kChecks = {
    {"gather", "IndexError: gather: index 3 is out of range for dimension 1 of size 3",
     [](const Value& x) { return gather(x, 1, numbers(x, {4, 1}, {0, 1, 3, 2})); }},
    {"scatter", "IndexError: scatter: index -1 is out of range for dimension 0 of size 4",
     [](const Value& x) { return scatter(x, 0, numbers(x, {1, 3}, {0, -1, 2}), floats(x, {1, 3}, 1)); }},
    {"scatter_add", "IndexError: scatter_add: index 4 is out of range for dimension 0 of size 4",
     [](const Value& x) { return scatter_add(x, 0, numbers(x, {1, 3}, {0, 4, 2}), floats(x, {1, 3}, 1)); }},
    {"scatter_reduce", "IndexError: ",
     [](const Value& x) {
       return scatter_reduce(x, 0, numbers(x, {1, 3}, {0, 4, 2}), floats(x, {1, 3}, 1), Combine::Mean);
     }},
    {"select", "IndexError: select: index 7 is out of range for dimension 0 of size 4",
     [](const Value& x) { return select(x, 0, numbers(x, {2}, {1, 7})); }},
    {"select_add", "IndexError: select_add: index 7 is out of range for dimension 0 of size 4",
     [](const Value& x) { return select_add(x, 0, numbers(x, {2}, {1, 7}), floats(x, {2, 3}, 1)); }},
    {"select_assign", "IndexError: select_assign: index 7 is out of range for dimension 0 of size 4",
     [](const Value& x) { return select_assign(x, 0, numbers(x, {2}, {1, 7}), floats(x, {2, 3}, 1)); }},
    {"index_select", "IndexError: index_select: index -5 ",
     [](const Value& x) { return index_select(x, 0, numbers(x, {2}, {1, -5})); }},
    {"index_fill", "IndexError: index_fill: index 9 ",
     [](const Value& x) { return index_fill(x, 0, numbers(x, {2}, {1, 9}), 2); }},
    {"index_reduce", "IndexError: ",
     [](const Value& x) { return index_reduce(x, 0, numbers(x, {2}, {1, 9}), floats(x, {2, 3}, 1), Combine::Max); }},
    {"take", "IndexError: take: index 12 ", [](const Value& x) { return take(x, numbers(x, {2}, {1, 12})); }},
    {"take_along_dim",
     "IndexError: ", [](const Value& x) { return take_along_dim(x, numbers(x, {1, 3}, {0, 1, -5}), 0); }},
    {"gather_nd",
     "IndexError: gather_nd: ", [](const Value& x) { return gather_nd(x, numbers(x, {2, 2}, {1, 2, 1, 3})); }},
    {"scatter_nd", "IndexError: scatter_nd: ",
     [](const Value& x) { return scatter_nd(x, numbers(x, {1, 2}, {4, 0}), floats(x, {1}, 1)); }},
    {"index_get", "IndexError: ", [](const Value& x) { return index_get(x, Values{numbers(x, {2}, {1, 8})}); }},
    {"index_put", "IndexError: ", [](const Value& x) { return index_put(x, Values{numbers(x, {2}, {1, 8})}, 1); }},
    {"embedding", "IndexError: embedding: index 4 ",
     [](const Value& x) { return embedding(x, numbers(x, {2}, {1, 4})); }},
    {"embedding_bag", "IndexError: embedding_bag: index 6 ",
     [](const Value& x) { return embedding_bag(x, numbers(x, {2, 2}, {1, 2, 6, 0})); }},
    {"cross_entropy", "IndexError: ", [](const Value& x) { return cross_entropy(x, numbers(x, {4}, {0, 1, 2, 3})); }},
    {"nll_loss", "IndexError: ", [](const Value& x) { return nll_loss(x, numbers(x, {4}, {0, 1, 2, 5})); }},
    {"multi_margin_loss",
     "IndexError: ", [](const Value& x) { return multi_margin_loss(x, numbers(x, {4}, {0, 1, 2, 5})); }},
    {"within", "ArgumentError: within: ", [](const Value& x) { return within(x, 0, 1); }},
    {"categorical", "ArgumentError: categorical: ", [](const Value& x) { return categorical(neg(x), Key{1}); }, false},
    {"multinomial", "ArgumentError: categorical: ", [](const Value& x) { return multinomial(neg(x), 2, true, Key{1}); },
     false},
    {"max_unpool", "IndexError: ",
     [](const Value& x) {
       return max_unpool(reshape(x, {1, 4, 3}), numbers(x, {1, 4, 3}, {0, 1, 2, 0, 1, 2, 0, 1, 9, 0, 1, 2}), {6});
     }},
    {"ctc_loss", "",
     [](const Value& x) {
       return ctc_loss(reshape(x, {4, 1, 3}), numbers(x, {1, 2}, {1, 7}), numbers(x, {1}, {4}), numbers(x, {1}, {2}));
     }},
    {"inverse", "ArgumentError: inverse: ", [](const Value& x) { return inverse(matmul(transpose(x) * 0, x)); }},
    {"cholesky", "ArgumentError: cholesky: ", [](const Value& x) { return cholesky(neg(matmul(transpose(x), x))); }},
};

class Checks : public testing::TestWithParam<std::string> {
 protected:
  const Device device = device_named(GetParam());
  /// Made of two that look at the same index: a device that finds errors late may tell of one before it knows the other.
  bool knows_all(const Check& check) const {
    return GetParam() != "fused queued" || std::string_view(check.name).find("_reduce") == std::string_view::npos;
  }
  Value operand() const { return reshape(arange(1.0, 13.0, 1.0, device.autodiff(), DType::F32), {4, 3}); }
};
INSTANTIATE_TEST_SUITE_P(Devices, Checks,
                         testing::ValuesIn(with_cuda({"cpu", "reference", "fused few", "fused queued", "simulated",
                                                      "plain simulated", "verified plain simulated"})),
                         label);

TEST_P(Checks, AreToldOnceToWhoReadsAndToWhoWaits) {
  for (const Check& check : kChecks)
    for (const bool waits : {false, true})
      for (const bool gone : {false, true}) {
        if ((gone && !waits) || !knows_all(check)) continue;
        SCOPED_TRACE(text(check.name, waits ? ", waited for" : ", read", gone ? ", and gone" : ""));
        const Value x = operand();
        device.sync();
        Value wrong;
        std::vector<std::string> said = tellings([&] { wrong = check.function(x); });
        if (gone) wrong = {};
        for (std::string& each : tellings([&] { waits ? device.sync() : wrong ? (void)wrong.data() : (void)0; }))
          said.push_back(std::move(each));
        ASSERT_EQ(said.size(), 1u);
        EXPECT_TRUE(said[0].starts_with(check.sentence)) << said[0];
        EXPECT_EQ(left_untold(device), std::vector<std::string>());
      }
}

// A gradient is told the error of the loss, and not one of its own.
TEST_P(Checks, OfALossAreThoseOfItsGradient) {
  for (const Check& check : kChecks) {
    if (!check.has_gradient || !knows_all(check)) continue;
    for (const bool first : {false, true}) {
      SCOPED_TRACE(text(check.name, first ? ", the loss first" : ""));
      const Value x = operand().require_grad();
      device.sync();
      std::optional<Value> loss, gradient;
      std::vector<std::string> said = tellings([&] {
        loss = sum(check.function(x) * 2);
        gradient = backward(*loss).of(x);
      });
      if (said.empty() && first) said = tellings([&] { (void)loss->data(); });
      if (said.empty()) said = tellings([&] { (void)gradient->data(); });
      // A device that runs by itself may not know what a gradient fails with that is made of nothing wrong.
      if (said.empty()) said = tellings([&] { device.sync(); });
      ASSERT_EQ(said.size(), 1u);
      EXPECT_TRUE(said[0].starts_with(check.sentence)) << said[0];
      if (loss) (void)tellings([&] { (void)loss->data(); });  // a gradient may be made of one of two that are wrong
      EXPECT_EQ(left_untold(device), std::vector<std::string>());
    }
  }
}

}  // namespace
}  // namespace kiln::test
