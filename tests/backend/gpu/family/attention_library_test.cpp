// What a device's library is asked for, where it has one that knows attention: the same comes out as by our own
// kernels.
#include "kiln/autodiff/backward.hpp"
#include "kiln/ops/sequence/attention.hpp"
#include "kiln/ops/sequence/attention_ops.hpp"
#include "tests/backend/gpu/attend.hpp"
#include "tests/backend/gpu/family/library.hpp"

namespace kiln::test {
namespace {

using Kind = gpu::Attention::Kind;

class WithLibrary final : public ForwardingDriver {
 public:
  Worth worth() const override { return {.min_library_attention = 1000}; }
  bool attend(const gpu::Attention& attention) override {
    asked.push_back(attention);
    if (declines) return false;
    attend_by_loops(attention);
    return true;
  }
  inline static std::vector<gpu::Attention> asked;
  inline static bool declines = false;
};

const Device& with_library() {
  static const Device* const device = new Device(make_ref<gpu::Gpu>(make_ref<WithLibrary>()));
  return *device;
}

Value eighths(const Shape& shape, unsigned seed, const Device& device) {
  return from_data(whole_numbers(shape, DType::F32, 8, seed), device) * 0.125;
}

struct Sizes {
  std::int64_t queries = 6, keys = 9, width = 8;
};
/// Output, and the gradients of a sum of it in q, k and v; the heads lie as a product leaves them.
Values made_on(const Device& on, const AttentionOptions& options, const Sizes& sizes = {}, const Value& mask = {},
               bool spoilt = false) {
  const Device device = on.autodiff();
  const auto [queries, keys, width] = sizes;
  const auto operand = [&](const Shape& shape, unsigned seed) {
    Value x = eighths(shape, seed, device);
    // The last key's value is no number.
    if (spoilt && seed == 3)
      x = where(eq(reshape(arange(0, keys, 1, device), {1, keys, 1, 1}), keys - 1), std::nan(""), x);
    return x.detach().require_grad();
  };
  const Values in{operand({2, queries, 4, width}, 1), operand({2, keys, 2, width}, 2), operand({2, keys, 2, 5}, 3)};
  const auto turned = [](const Value& x) { return permute(x, {0, 2, 1, 3}); };
  const Value seen = mask ? Value(on.backend().upload(mask.data(), on)) : mask;
  const Value out = attention(turned(in[0]), turned(in[1]), turned(in[2]), options, seen);
  const Value seed = eighths(out.shape(), 4, on);
  Values all = grad({&out, 1}, {&seed, 1}, in);
  all.insert(all.begin(), out);
  return all;
}

void expect_same(const Values& made, const Values& wanted) {
  ASSERT_EQ(made.size(), wanted.size());
  for (std::size_t i = 0; i < made.size(); ++i) {
    const auto a = made[i].data().to_vector<double>(), b = wanted[i].data().to_vector<double>();
    ASSERT_EQ(a.size(), b.size());
    for (std::size_t j = 0; j < a.size(); ++j) EXPECT_NEAR(a[j], b[j], 1e-5) << i;
  }
}

std::vector<Kind> kinds() {
  std::vector<Kind> all;
  for (const gpu::Attention& each : WithLibrary::asked) all.push_back(each.kind);
  return all;
}

TEST(GpuAttentionLibrary, MakesWhatOurKernelsMake) {
  for (const AttentionOptions& options :
       {AttentionOptions{}, {.causal = true, .scale = 0.5}, {.causal = true, .window = 3}}) {
    WithLibrary::asked.clear();
    expect_same(made_on(with_library(), options), made_on(simulated(), options));
    EXPECT_EQ(kinds(), (std::vector{Kind::Forward, Kind::Gradient}));
  }
}

TEST(GpuAttentionLibrary, MayDecline) {
  WithLibrary::declines = true;
  expect_same(made_on(with_library(), {}), made_on(simulated(), {}));
  WithLibrary::declines = false;
}

TEST(GpuAttentionLibrary, IsToldOfNoWindowThatEverybodyIsIn) {
  WithLibrary::asked.clear();
  (void)made_on(with_library(), {.causal = true, .window = 1000});
  EXPECT_EQ(WithLibrary::asked.at(0).window, 0);
}

TEST(GpuAttentionLibrary, IsNotAskedForWhatItDoesNotKnow) {
  WithLibrary::asked.clear();
  const Value mask = causal_mask({6, 9}, simulated());
  expect_same(made_on(with_library(), {}, {}, mask), made_on(simulated(), {}, {}, mask));
  (void)made_on(with_library(), {.softcap = 2.0});
  (void)made_on(with_library(), {}, {2, 3, 4});  // little of it
  EXPECT_TRUE(WithLibrary::asked.empty());
}

// A library multiplies what is hidden by 0, which is NaN where that is infinite or NaN: it is made again.
TEST(GpuAttentionLibrary, HandsNothingOnThatIsHidden) {
  WithLibrary::asked.clear();
  const Values made = made_on(with_library(), {.causal = true}, {}, {}, true);
  const Values plain = made_on(with_library(), {.causal = true});
  EXPECT_EQ(kinds(), (std::vector{Kind::Forward, Kind::Gradient, Kind::Forward, Kind::Gradient}));
  // Of the output and of the gradient of q [2, queries, 4, ...]: all but the last query; of keys and values each is
  // seen by it.
  const auto rows = [](const Value& x, int dim) { return narrow(x, dim, 0, 5).data().to_vector<double>(); };
  const std::vector<double> out = rows(made[0], 2), right = rows(plain[0], 2);
  for (std::size_t i = 0; i < out.size(); ++i) EXPECT_NEAR(out[i], right[i], 1e-5);
  const std::vector<double> q_grad = rows(made[1], 1), right_grad = rows(plain[1], 1);
  for (std::size_t i = 0; i < q_grad.size(); ++i) EXPECT_NEAR(q_grad[i], right_grad[i], 1e-5);
  for (const double each : narrow(made[0], 2, 5, 1).data().to_vector<double>()) EXPECT_TRUE(std::isnan(each));
}

// The library's gradient is of the output alone.
TEST(GpuAttentionLibrary, IsNotAskedForTheGradientOfSums) {
  const auto quiet = [](const Device& device) { return made_on(device, {.quiet = true}); };
  WithLibrary::asked.clear();
  expect_same(quiet(with_library()), quiet(simulated()));
  EXPECT_EQ(kinds(), (std::vector{Kind::Forward}));
}

}  // namespace
}  // namespace kiln::test
