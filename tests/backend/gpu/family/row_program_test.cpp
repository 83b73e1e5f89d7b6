// What a program does to rows, folds and all, is one kernel that reads each row once.
#include <functional>

#include "tests/backend/gpu/family/watched.hpp"
#include "tests/ops/expression/validate.hpp"

namespace kiln::test {
namespace {

using Numbers = std::vector<double>;

Numbers numbers(const Value& value) { return value.data().to_vector<double>(); }

/// wanted(row) makes of each row what it is to become.
void expect_rows(const Value& found, const Numbers& x, std::size_t length, double tolerance,
                 const std::function<Numbers(const Numbers& row, std::size_t i)>& wanted, const std::string& what) {
  Numbers all;
  for (std::size_t i = 0; i * length < x.size(); ++i) {
    const auto begin = x.begin() + static_cast<std::ptrdiff_t>(i * length);
    for (const double each : wanted(Numbers(begin, begin + static_cast<std::ptrdiff_t>(length)), i))
      all.push_back(each);
  }
  expect_near(found, all, tolerance, what);
}

Numbers softmax_of(const Numbers& row) {
  double most = row[0], total = 0;
  for (const double each : row) most = std::max(most, each);
  Numbers powers;
  for (const double each : row) total += powers.emplace_back(std::exp(each - most));
  for (double& each : powers) each /= total;
  return powers;
}
double mean_of(const Numbers& row) {
  double sum = 0;
  for (const double each : row) sum += each;
  return sum / static_cast<double>(row.size());
}

const Names kOne{"row_program"};
const std::vector<Shape> kShapes{{7, 33}, {4, 128}, {3, 5, 16}, {2, 2000}, {1, 40}, {130, 10}, {2, 4096}, {5, 1022}};

TEST(GpuRows, AreReadOnceForASoftmaxByHand) {
  for (const DType dtype : {DType::F32, DType::F64, DType::F16, DType::BF16})
    for (const Shape& shape : kShapes) {
      const WatchedDevice on;
      const Value x = on.of(shape, dtype);
      (void)on.launches();
      const int last = shape.size() - 1;
      Value y;
      {
        const Value powers = exp(x - max(x, {last}, true));
        y = powers / sum(powers, {last}, true);
      }
      EXPECT_EQ(on.launches(), kOne) << text(dtype, shape);
      expect_rows(
          y, numbers(x), static_cast<std::size_t>(shape.back()), size_of(dtype) == 2 ? 4e-3 : 1e-6,
          [](const Numbers& row, std::size_t) { return softmax_of(row); }, text(dtype, shape));
    }
}

TEST(GpuRows, AreReadOnceForALayerNormByHand) {
  for (const bool keeps : {true, false})
    for (const Shape& shape : kShapes) {
      const WatchedDevice on;
      const int last = shape.size() - 1;
      const std::int64_t length = shape.back();
      const Value x = on.of(shape), weight = on.of({length}, DType::F32, 2), bias = on.of({length}, DType::F32, 3);
      (void)on.launches();
      Value y, inverse;
      {
        Shape kept = shape;
        kept[last] = 1;
        const auto average = [&](const Value& of) {
          return keeps ? mean(of, {last}, true) : reshape(mean(of, {last}, false), kept);
        };
        const Value apart = x - average(x);
        inverse = rsqrt(average(square(apart)) + 1e-3);
        y = apart * inverse * weight + bias;
      }
      EXPECT_EQ(on.launches(), kOne) << text(shape);
      const Numbers w = numbers(weight), b = numbers(bias);
      const auto inverse_of = [](const Numbers& row) {
        const double mean = mean_of(row);
        Numbers squares = row;
        for (double& each : squares) each = (each - mean) * (each - mean);
        return 1 / std::sqrt(mean_of(squares) + 1e-3);
      };
      expect_rows(
          y, numbers(x), static_cast<std::size_t>(length), 1e-4,
          [&](Numbers row, std::size_t) {
            const double mean = mean_of(row), by = inverse_of(row);
            for (std::size_t i = 0; i < row.size(); ++i) row[i] = (row[i] - mean) * by * w[i] + b[i];
            return row;
          },
          text(shape));
      expect_rows(
          inverse, numbers(x), static_cast<std::size_t>(length), 1e-4,
          [&](const Numbers& row, std::size_t) { return Numbers{inverse_of(row)}; }, text(shape));
    }
}

TEST(GpuRows, TakeWhatGoesBeforeAndAfterAlong) {
  const WatchedDevice on;
  const Value scores = on.of({2, 3, 6, 10}), mask = on.of({1, 1, 6, 10}, DType::Bool, 2),
              shift = on.of({2, 1, 1, 10}, DType::F32, 3), by = on.of({3, 1, 1}, DType::F32, 4);
  (void)on.launches();
  Value y, log;
  {
    const Value masked = where(mask, scores * 0.5 + shift, -1e4);
    y = softmax(masked, 3) * by + 1;
    log = log_softmax(masked, 3);
  }
  EXPECT_EQ(on.launches(), kOne);
  const Numbers m = numbers(expand(mask, scores.shape())), s = numbers(expand(shift, scores.shape())), b = numbers(by);
  const auto shares = [&](const Numbers& row, std::size_t i) {
    Numbers masked;
    for (std::size_t j = 0; j < 10; ++j) masked.push_back(m[i * 10 + j] != 0 ? row[j] * 0.5 + s[i * 10 + j] : -1e4);
    return softmax_of(masked);
  };
  expect_rows(
      y, numbers(scores), 10, 1e-5,
      [&](const Numbers& row, std::size_t i) {
        Numbers all = shares(row, i);
        for (double& each : all) each = each * b[i / 6 % 3] + 1;
        return all;
      },
      "softmax");
  expect_rows(exp(log), numbers(scores), 10, 1e-5, shares, "log_softmax");
}

TEST(GpuRows, LieAnywhere) {
  const WatchedDevice on;
  const Value turned = permute(on.of({48, 6}), {1, 0}), heads = permute(on.of({2, 5, 3, 48}), {0, 2, 1, 3}),
              part = narrow(on.of({6, 50}), 1, 1, 48);
  (void)on.launches();
  for (const Value& x : {turned, heads, part}) {
    const int last = x.rank() - 1;
    Value y;
    {
      const Value powers = exp(x - max(x, {last}, true));
      y = powers / sum(powers, {last}, true);
    }
    const Names launched = on.launches();
    EXPECT_EQ(launched.back(), "row_program");
    expect_rows(
        y, numbers(x), 48, 1e-6, [](const Numbers& row, std::size_t) { return softmax_of(row); }, text(x.shape()));
  }
}

// A number for each row, seen as a row, is another number for each of its elements.
TEST(GpuRows, AreNotTakenForColumns) {
  const WatchedDevice on;
  const Value x = on.of({8, 8});
  (void)on.launches();
  Value y;
  {
    const Value sums = sum(square(x), {1}, false);
    y = x * sums + sum(x, {1}, true);
  }
  const Numbers all = numbers(x);
  Numbers squares(8), sums(8);
  for (std::size_t i = 0; i < 64; ++i) {
    squares[i / 8] += all[i] * all[i];
    sums[i / 8] += all[i];
  }
  Numbers wanted;
  for (std::size_t i = 0; i < 64; ++i) wanted.push_back(all[i] * squares[i % 8] + sums[i / 8]);
  expect_numbers(y.data(), wanted, "");
}

TEST(GpuRows, FoldWithAllFunctionsAndSpreadWhatTheyMake) {
  const WatchedDevice on;
  const Value x = on.of({9, 12});
  (void)on.launches();
  Value a, b;
  {
    const Value low = min(x, {1}, true), high = max(x, {1}, true), all = prod(x * 0.125 + 1, {1}, true);
    a = (x - low) / (high - low + 1) + all;
    b = where(gt(x, expand(mean(x, {1}, true), {9, 12})), x, low);
  }
  EXPECT_EQ(on.launches(), kOne);
  const auto bounds = [](const Numbers& row) { return std::ranges::minmax(row); };
  expect_rows(
      a, numbers(x), 12, 1e-4,
      [&](Numbers row, std::size_t) {
        const auto [low, high] = bounds(row);
        double all = 1;
        for (const double each : row) all *= each * 0.125 + 1;
        for (double& each : row) each = (each - low) / (high - low + 1) + all;
        return row;
      },
      "a");
  expect_rows(
      b, numbers(x), 12, 0,
      [&](Numbers row, std::size_t) {
        const double low = bounds(row).min, mean = mean_of(row);
        for (double& each : row) each = each > mean ? each : low;
        return row;
      },
      "b");
}

TEST(GpuRows, OfOthersStayBetween) {
  const WatchedDevice on;
  const Value x = on.of({6, 16}), w = on.of({16, 16}, DType::F32, 2);
  (void)on.launches();
  Value y, z;
  {
    const Value most = max(x, {1}, true);
    z = matmul(x, w);                           // needs nothing of the rows
    const Value product = matmul(x - most, w);  // does
    y = exp(x - most) * sum(x, {1}, true) + product;
  }
  const Numbers all = numbers(x), factor = numbers(w);
  const auto times = [&](const Numbers& row) {
    Numbers made(16);
    for (std::size_t i = 0; i < 256; ++i) made[i % 16] += row[i / 16] * factor[i];
    return made;
  };
  expect_rows(z, all, 16, 1e-3, [&](const Numbers& row, std::size_t) { return times(row); }, "z");
  expect_rows(
      y, all, 16, 1e-2,
      [&](const Numbers& row, std::size_t) {
        const double most = std::ranges::max(row), total = mean_of(row) * 16;
        Numbers apart = row;
        for (double& each : apart) each -= most;
        Numbers made = times(apart);
        for (std::size_t i = 0; i < 16; ++i) made[i] += std::exp(apart[i]) * total;
        return made;
      },
      "y");
}

TEST(GpuRows, AreWhatTheyAreWhereOneIsTooLong) {
  const WatchedDevice on;
  const Value x = on.of({2, 20000});
  (void)on.launches();
  Value y;
  {
    const Value powers = exp(x - max(x, {1}, true));
    y = powers / sum(powers, {1}, true);
  }
  EXPECT_GT(on.launches().size(), 1u);
  expect_rows(y, numbers(x), 20000, 1e-6, [](const Numbers& row, std::size_t) { return softmax_of(row); }, "");
}

TEST(GpuRows, DropWhatTheProcessorDrops) {
  const Key key{7};
  for (const DType dtype : {DType::F32, DType::BF16, DType::F64})
    for (const Shape& shape : {Shape{6, 64}, Shape{5, 30}, Shape{3, 7, 11}, Shape{4, 4, 10, 6}, Shape{2, 4097}}) {
      const WatchedDevice on;
      const TensorData data = whole_numbers(shape, dtype, 9);
      const Value x = from_data(data, on.device), again = from_data(data, Device::cpu());
      const auto drop = [&](const Value& of) { return relu(dropout(of * 2, 0.3, key)) + 1; };
      (void)on.launches();
      const Value y = drop(x);
      EXPECT_EQ(on.launches() == kOne, shape.back() < 4096) << text(dtype, shape);
      EXPECT_TRUE(same_bytes(y.data(), drop(again).data())) << text(dtype, shape);

      const int last = shape.size() - 1;
      const auto share = [&](const Value& of) { return dropout(softmax(of, last), 0.5, key); };
      const Value z = share(x);
      EXPECT_EQ(on.launches(), kOne) << text(dtype, shape);
      expect_near(z, share(again).data().to_vector<double>(), size_of(dtype) == 2 ? 8e-3 : 1e-6, text(dtype, shape));
    }
}

TEST(GpuRows, LookAsStored) {
  if (!expr::kOrderIsThatOfStoredTexts) GTEST_SKIP() << expr::kOtherOrder;
  const WatchedDevice on;
  const Value x = on.of({6, 256});
  (void)on.launches();
  Value y;
  {
    const Value apart = x - mean(x, {1}, true);
    y = apart * rsqrt(mean(square(apart), {1}, true) + 1e-3);
  }
  (void)on.launches();
  expr::expect_stored("cuda_row_program.txt", on.driver->texts.at("row_program"));
}

}  // namespace
}  // namespace kiln::test
