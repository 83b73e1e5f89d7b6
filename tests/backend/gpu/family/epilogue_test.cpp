// What follows a product: libraries are asked to add a bias and apply functions on the way; anything else follows.
#include "tests/backend/gpu/convolve.hpp"
#include "tests/backend/gpu/family/watched.hpp"

namespace kiln::test {
namespace {

using gpu::Product;

/// The simulated GPU with a library of products of float32.
class WithProducts final : public ForwardingDriver {
 public:
  bool multiply(const Product& p) override {
    if (p.dtype != DType::F32) return false;
    asked.push_back(p);
    const auto at = [&](const Product::Matrix& x, std::int64_t batch, std::int64_t row, std::int64_t column) {
      const std::int64_t line = x.transposed ? column : row, along = x.transposed ? row : column;
      return load(p.dtype, x.data, batch * x.batch_stride + line * x.stride + along);
    };
    for (std::int64_t batch = 0; batch < p.batch; ++batch)
      for (std::int64_t row = 0; row < p.m; ++row)
        for (std::int64_t column = 0; column < p.n; ++column) {
          double sum = p.bias ? load(p.c_dtype, p.bias, column) : 0;
          for (std::int64_t d = 0; d < p.k; ++d) sum += at(p.a, batch, row, d) * at(p.b, batch, d, column);
          if (p.function == Product::Function::Relu) sum = std::max(sum, 0.0);
          if (p.function == Product::Function::GeluTanh)
            sum *= 0.5 * (1 + std::tanh(std::sqrt(2 / M_PI) * (sum + 0.044715 * sum * sum * sum)));
          store(p.c_dtype, p.c, batch * p.c_batch_stride + row * p.c_stride + column, sum);
        }
    return true;
  }
  std::vector<Product> asked;
};

struct Library {
  Ref<WithProducts> driver = make_ref<WithProducts>();
  Device device{make_ref<fusion::Fusion>(make_ref<gpu::Gpu>(driver))};

  Value of(const Shape& shape, unsigned seed, DType dtype = DType::F32) const {
    return from_data(whole_numbers(shape, dtype, 5, seed), device);
  }
  /// What the library is asked to do for a value.
  std::vector<Product> asked_for(const Value& value) const {
    driver->asked.clear();
    (void)value.data();
    return driver->asked;
  }
};

/// x [..., k] w [k, n] + bias, if there is one.
std::vector<double> product(const Value& x, const Value& w, const Value& bias) {
  const std::vector<double> a = x.data().to_vector<double>(), b = w.data().to_vector<double>();
  const std::vector<double> add = bias.node() ? bias.data().to_vector<double>() : std::vector<double>{};
  const auto k = static_cast<std::size_t>(w.dim(0)), n = static_cast<std::size_t>(w.dim(1));
  std::vector<double> sums;
  for (std::size_t row = 0; row < a.size() / k; ++row)
    for (std::size_t column = 0; column < n; ++column) {
      double sum = add.empty() ? 0 : add[column];
      for (std::size_t d = 0; d < k; ++d) sum += a[row * k + d] * b[d * n + column];
      sums.push_back(sum);
    }
  return sums;
}

void expect_one(const std::vector<Product>& asked, bool bias, Product::Function function) {
  ASSERT_EQ(asked.size(), 1u);
  EXPECT_EQ(asked[0].bias != nullptr, bias);
  EXPECT_EQ(asked[0].function, function);
}

TEST(GpuEpilogues, TakeBiasAndFunctionAlong) {
  const Library on;
  for (const Shape& shape : {Shape{6, 5}, Shape{2, 3, 5}, Shape{1, 5}}) {
    const Value x = on.of(shape, 1), w = on.of({5, 7}, 2), bias = on.of({7}, 3);
    std::vector<double> wanted = product(x, w, bias), plain = product(x, w, Value());
    const Value sum = matmul(x, w) + bias;
    expect_one(on.asked_for(sum), true, Product::Function::None);
    expect_numbers(sum.data(), wanted, text(shape));
    const Value first = bias + matmul(x, w);
    expect_one(on.asked_for(first), true, Product::Function::None);
    expect_numbers(first.data(), wanted, text(shape));

    const Value gelu = gelu_tanh(matmul(x, w) + bias);
    expect_one(on.asked_for(gelu), true, Product::Function::GeluTanh);
    std::vector<double> curved = wanted;
    for (double& each : curved)
      each *= 0.5 * (1 + std::tanh(std::sqrt(2 / M_PI) * (each + 0.044715 * each * each * each)));
    expect_near(gelu, curved, 1e-5, text(shape));

    const Value cut = relu(matmul(x, w) + bias);
    expect_one(on.asked_for(cut), true, Product::Function::Relu);
    const Value plainly = relu(matmul(x, w));
    expect_one(on.asked_for(plainly), false, Product::Function::Relu);
    for (double& each : wanted) each = std::max(each, 0.0);
    for (double& each : plain) each = std::max(each, 0.0);
    expect_numbers(cut.data(), wanted, text(shape));
    expect_numbers(plainly.data(), plain, text(shape));
  }
}

TEST(GpuEpilogues, LeaveTheRestToKernels) {
  const Library on;
  const Value x = on.of({6, 5}, 1), w = on.of({5, 7}, 2), bias = on.of({7}, 3), rows = on.of({6, 1}, 4),
              full = on.of({6, 7}, 5);
  const std::vector<double> plain = product(x, w, Value()), by = rows.data().to_vector<double>(),
                            of = bias.data().to_vector<double>(), all = full.data().to_vector<double>();
  const auto expect = [&](const Value& found, auto wanted_of) {
    expect_one(on.asked_for(found), false, Product::Function::None);
    std::vector<double> wanted;
    for (std::size_t i = 0; i < plain.size(); ++i) wanted.push_back(wanted_of(plain[i], i));
    expect_numbers(found.data(), wanted, "");
  };
  expect(matmul(x, w) + rows, [&](double p, std::size_t i) { return p + by[i / 7]; });
  expect(matmul(x, w) - bias, [&](double p, std::size_t i) { return p - of[i % 7]; });
  expect(matmul(x, w) + 3, [&](double p, std::size_t) { return p + 3; });
  expect(matmul(x, w) + full * 2, [&](double p, std::size_t i) { return p + all[i] * 2; });
  expect(relu(matmul(x, w)) + bias, [&](double p, std::size_t i) { return std::max(p, 0.0) + of[i % 7]; });
  expect(square(matmul(x, w) + bias), [&](double p, std::size_t i) { return (p + of[i % 7]) * (p + of[i % 7]); });
}

TEST(GpuEpilogues, AreNotOfOtherTypes) {
  const Library on;
  for (const DType dtype : {DType::F64, DType::F16, DType::BF16}) {
    const Value x = on.of({6, 5}, 1, dtype), w = on.of({5, 7}, 2, dtype), bias = on.of({7}, 3, dtype);
    (void)bias.data();
    const Value sum = relu(matmul(x, w) + bias);
    EXPECT_TRUE(on.asked_for(sum).empty());
    std::vector<double> wanted = product(x, w, bias);
    for (double& each : wanted) each = std::max(each, 0.0);
    expect_numbers(sum.data(), wanted, text(dtype));
  }
}

TEST(GpuEpilogues, KeepWhatOthersRead) {
  const Library on;
  const Value x = on.of({4, 5}, 1), w = on.of({5, 3}, 2), bias = on.of({3}, 3);
  const Value made = matmul(x, w), sum = made + bias, cut = relu(sum);
  const std::vector<double> wanted = product(x, w, bias);
  expect_numbers(made.data(), product(x, w, Value()), "the product");
  expect_numbers(sum.data(), wanted, "with its bias");
  const Value other = matmul(x, w) + bias, curved = relu(other);
  (void)on.asked_for(curved);
  expect_numbers(other.data(), wanted, "before its function");
}

}  // namespace
}  // namespace kiln::test
