// What a plan leaves out, puts together and remembers.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <span>

#include "kiln/core/parallel.hpp"
#include "kiln/ops/reduce/scan.hpp"
#include "kiln/tensor/custom.hpp"
#include "tests/fusion/fused_device.hpp"

namespace kiln::test {
namespace {

std::vector<float> floats(const Value& value) { return value.data().to_vector<float>(); }

TEST(Plan, MakesOneKernelOfAnElementwiseChain) {
  const FusedDevice fused;
  const Value x = fused.of({2, 3});
  (void)x.data();
  EXPECT_EQ(runs(fused, [&] { return tanh(x * 2 + 1) / (abs(x) + 3); }), 1);
}

TEST(Plan, LeavesOutWhatNobodySees) {
  const FusedDevice fused;
  const Value x = fused.of({4});
  (void)x.data();
  EXPECT_EQ(runs(fused,
                 [&] {
                   (void)matmul(reshape(x, {2, 2}), reshape(x, {2, 2}));
                   return x + 1;
                 }),
            1);
}

TEST(Plan, JoinsBranchesThatMeetAgain) {
  const FusedDevice fused;
  const Value x = fused.of({8});
  (void)x.data();
  EXPECT_EQ(runs(fused,
                 [&] {
                   const Value a = exp(x), b = sin(x);
                   return a * b + a;
                 }),
            1);
}

TEST(Plan, ComputesTheSameThingOnce) {
  const FusedDevice fused;
  const Value x = fused.of({3, 3}), y = fused.of({3, 3}, 1.0);
  (void)x.data(), (void)y.data();
  EXPECT_EQ(runs(fused, [&] { return matmul(x * 2, y) + matmul(x * 2, y); }), 3);  // x * 2, the product, the sum
  // Both factors in one call, two products, the sum.
  EXPECT_EQ(runs(fused, [&] { return matmul(x * 2, y) + matmul(x * 3, y); }), 4);
  EXPECT_EQ(runs(fused, [&] { return matmul(x * 0.0, y) + matmul(x * -0.0, y); }), 4);
}

TEST(Plan, DoesNotKeepAResultForARepeatThatIsFar) {
  const FusedDevice fused;
  const Value x = fused.of({64}), y = fused.of({4}, 1.0);
  (void)x.data(), (void)y.data();
  const auto runs_with = [&](int between) {
    return runs(fused, [&] {
      const Value early = sum(cumsum(x, 0));
      Value other = y;
      for (int i = 0; i < between; ++i) other = cumsum(other, 0);
      return early + sum(other) + sum(cumsum(x, 0));
    });
  };
  EXPECT_EQ(runs_with(60) - runs_with(2), 58 + 3);  // the first sum is done again: scan, reduction, view
}

TEST(Plan, GivesEachHolderOfTheSameThingItsOwn) {
  const FusedDevice fused;
  const Value x = fused.of({4}, 1.0);
  const Value a = exp(x), b = exp(x), c = b + 1;
  EXPECT_EQ(b.data().to_vector<float>(), a.data().to_vector<float>());
  EXPECT_EQ(c.data().to_vector<float>(), (a + 1).data().to_vector<float>());
}

TEST(Plan, DrawsTheSameNumbersOnceAndOthersAgain) {
  const FusedDevice fused;
  const auto draw = [&](std::uint64_t key) { return normal({8}, 0, 1, fused.device, DType::F32, Key{key}); };
  EXPECT_EQ(runs(fused, [&] { return sum(draw(7) - draw(7)); }), 3);  // drawing, the difference and its sum, view
  EXPECT_EQ(runs(fused, [&] { return sum(draw(7) - draw(8)); }), 4);
}

TEST(Plan, TakesAFilledTensorForItsNumber) {
  const FusedDevice fused;
  const Value x = fused.of({2, 3}, 1.0);
  (void)x.data();
  EXPECT_EQ(runs(fused, [&] { return x * expand(reshape(full({3}, 2, fused.device), {1, 3}), {2, 3}); }), 1);
  EXPECT_EQ(runs(fused, [&] { return x + full({1}, -0.0, fused.device); }), 1);
  // It may be what gives the result its shape.
  EXPECT_EQ((full({2, 2}, 1, fused.device) + full({1}, 2, fused.device)).data().to_vector<float>(),
            (std::vector<float>{3, 3, 3, 3}));
  EXPECT_EQ((slice(x, std::array{Range{0, 1}, Range{1, 2}}) + full({2, 1}, 1, fused.device)).data().to_vector<float>(),
            (std::vector<float>{2, 2}));
}

TEST(Plan, ComputesWithNumbersAsWithTensors) {
  const FusedDevice fused;
  const Device plain = Device::cpu();
  for (const DType dtype : {DType::F32, DType::F64, DType::F16, DType::BF16}) {
    const Value x = cast(fused.of({3}, 0.7), dtype);
    (void)x.data();
    const auto program = [&](const Device& device, const Value& x) {
      const Value third = full({3}, 1, device, dtype) / full({3}, 3, device, dtype);
      const Value number = neg(square(third * 0.1) - full({1}, 7, device, dtype)) + third;
      return x * number;
    };
    EXPECT_EQ(runs(fused, [&] { return program(fused.device, x); }), 1) << text(dtype);
    const Value there = program(plain, Value(plain.backend().upload(x.data(), plain)));
    EXPECT_EQ(program(fused.device, x).data().to_vector<double>(), there.data().to_vector<double>()) << text(dtype);
  }
  // The caller may keep the tensor, and its numbers may be others at the next run.
  for (const double number : {2.0, 5.0})
    EXPECT_EQ((full({2}, number, fused.device) * 3).data().to_vector<float>(),
              std::vector<float>(2, static_cast<float>(3 * number)));
}

TEST(Plan, StoresWhatAReductionReads) {
  const FusedDevice fused;
  const Value x = fused.of({2, 4});
  (void)x.data();
  // exp + 1 and its sum, the division
  EXPECT_EQ(runs(fused,
                 [&] {
                   const Value e = exp(x) + 1;
                   return e / sum(e, {1}, true);
                 }),
            2);
}

TEST(Plan, FoldsAtTheEndOfAKernel) {
  const FusedDevice fused;
  const Value x = fused.of({4, 256}, 0.01), y = fused.of({4, 256, 2}, 0.01);
  (void)x.data(), (void)y.data();
  EXPECT_EQ(runs(fused, [&] { return sum(square(x) + 1, {1}, true); }), 1);
  EXPECT_EQ(runs(fused, [&] { return mean(square(x - 1), {0, 1}, true); }), 1);
  EXPECT_EQ(runs(fused, [&] { return max(abs(x), {1}, true) - min(abs(x), {1}, true); }), 2);
  EXPECT_EQ(runs(fused, [&] { return exp(x) / sum(exp(x), {1}, true); }), 2);
  EXPECT_EQ(runs(fused, [&] { return sum(square(x), {0}, true); }), 1);  // down the columns
  EXPECT_EQ(runs(fused, [&] { return max(square(y), {0, 2}, true); }), 1);
  EXPECT_EQ(runs(fused, [&] { return sum(cast(square(x), DType::BF16), {1}, true); }), 1);
  EXPECT_EQ(runs(fused, [&] { return prod(square(x), {0}, true); }), 2);
  // What is stored anyway, and a second reduction: only rows of floats are folded in any company.
  EXPECT_EQ(runs(fused, [&] { return square(x) / sum(square(x), {0}, true); }), 3);
  EXPECT_EQ(runs(fused, [&] { return sum(square(x), {0}, true) + max(abs(x), {0}, true); }), 2);  // side by side
  EXPECT_EQ(runs(fused, [&] { return sum(square(x), {0}, true) + max(square(x), {0}, true); }), 4);
  // Two reductions that keep different dimensions.
  EXPECT_EQ(runs(fused, [&] { return sum(square(y), {1, 2}, true) + sum(square(y), {0, 1, 2}, true); }), 3);
}

// A loss is a view of a fold: it keeps what comes behind it out of no kernel, and is right whoever reads it.
TEST(Plan, GoesOnBehindAViewOfAFold) {
  const FusedDevice fused;
  const Value x = fused.of({4, 256}, 0.5);
  const std::vector<float> in = floats(x);
  Value slope, loss, twice;
  EXPECT_EQ(runs(fused,
                 [&] {
                   const Value apart = x - 3;
                   loss = reshape(reshape(mean(square(apart), {0, 1}, true), {1}), {});
                   return slope = apart * 2;
                 }),
            3);  // and two views
  double total = 0;
  for (const float number : in) total += (number - 3.0) * (number - 3.0) / 1024;
  EXPECT_NEAR(floats(loss)[0], total, 1e-6 * total);
  EXPECT_EQ(floats(slope)[9], (in[9] - 3) * 2);
  EXPECT_EQ(runs(fused,
                 [&] {
                   const Value apart = x - 3;
                   loss = reshape(mean(square(apart), {0, 1}, true), {});
                   twice = loss * 2;  // needs it, and ends the kernel
                   return slope = apart * loss;
                 }),
            3);  // and those two side by side
  EXPECT_NEAR(floats(twice)[0], 2 * total, 2e-6 * total);
  EXPECT_NEAR(floats(slope)[9], (in[9] - 3) * total, 1e-5 * total);
}

TEST(Plan, FoldsWhatTheLoopsSay) {
  const FusedDevice fused;
  for (const Shape& shape : {Shape{3, 200}, Shape{2, 5, 128}, Shape{1, 200'000}, Shape{70'000, 130}}) {
    const int last = shape.size() - 1;
    const std::int64_t length = shape[last], rows = numel(shape) / length;
    const Value x = uniform(shape, -1, 1, fused.device, DType::F32, Key{3}), scale = fused.of({length}, 1e-5);
    const std::vector<float> in = x.data().to_vector<float>();
    const Value y = x * x + scale;
    const Values results{sum(y, {last}, true), mean(y, {last}, true), max(y - x, {last}, true), min(y, {last}, true)};
    const std::vector<float> whole = floats(y), sums = floats(results[0]), means = floats(results[1]),
                             most = floats(results[2]), least = floats(results[3]);
    for (std::int64_t row = 0; row < rows; ++row) {
      double total = 0, largest = -1e30, smallest = 1e30;
      for (std::int64_t i = 0; i < length; ++i) {
        const double number = in[static_cast<std::size_t>(row * length + i)];
        const double z = number * number + 1e-5 * static_cast<double>(i);
        ASSERT_NEAR(whole[static_cast<std::size_t>(row * length + i)], z, 1e-6 * (1 + z));
        total += z, largest = std::max(largest, z - number), smallest = std::min(smallest, z);
      }
      const auto at = static_cast<std::size_t>(row);
      ASSERT_NEAR(sums[at], total, 1e-6 * total);
      ASSERT_NEAR(means[at], total / static_cast<double>(length), 1e-6 * total / static_cast<double>(length));
      ASSERT_NEAR(most[at], largest, 1e-6 * largest);
      ASSERT_NEAR(least[at], smallest, 1e-6);
    }
  }
}

TEST(Plan, ReadsAFoldAfterTheKernelThatMakesIt) {
  const FusedDevice fused;
  const Value x = uniform({5, 300}, -2, 2, fused.device, DType::F32, Key{4});
  const Value e = exp(x - max(x, {1}, true));
  const std::vector<float> in = floats(x), found = floats(e / sum(e, {1}, true));
  for (std::size_t row = 0; row < 5; ++row) {
    double total = 0;
    for (std::size_t i = 0; i < 300; ++i) total += std::exp(double{in[row * 300 + i]});
    for (std::size_t i = 0; i < 300; ++i)
      ASSERT_NEAR(found[row * 300 + i], std::exp(double{in[row * 300 + i]}) / total, 1e-8);
  }
}

TEST(Plan, FoldsNaNAndPermutedMemory) {
  const FusedDevice fused;
  std::vector<float> numbers(3 * 150, 1.0f);
  numbers[200] = NAN;
  const Value x = from_data(TensorData::of<float>({3, 150}, numbers), fused.device);
  const std::vector<float> most = floats(max(x * 2, {1}, true)), totals = floats(sum(x * 2, {1}, true));
  EXPECT_EQ(most[0], 2);
  EXPECT_TRUE(std::isnan(most[1]) && std::isnan(totals[1]));
  EXPECT_EQ(totals[2], 300);
  const Value turned = transpose(fused.of({150, 3}, 1.0));
  EXPECT_EQ(floats(sum(turned + 1, {1}, true)), (std::vector<float>{33675, 33825, 33975}));
}

TEST(Plan, FoldsToTheSameBitsOnAnyNumberOfThreads) {
  const FusedDevice fused;
  const Value x = uniform({3, 300'001}, -1, 1, fused.device, DType::F32, Key{5});
  const int before = num_threads();
  std::vector<std::vector<float>> found;
  for (const int threads : {1, 2, 3}) {
    set_num_threads(threads);
    found.push_back(floats(sum(x * 3, {1}, true)));
  }
  set_num_threads(before);
  EXPECT_EQ(found[0], found[1]);
  EXPECT_EQ(found[0], found[2]);
}

TEST(Plan, KeepsWhatSomebodyStillHolds) {
  const FusedDevice fused;
  const Value x = fused.of({4}, 1.0);
  const Value inner = x + 1;
  const Value outer = inner * 2;
  (void)outer.data();
  const int before = fused.counter->runs;
  EXPECT_EQ(inner.data().to_vector<float>(), (std::vector<float>{1, 2, 3, 4}));
  EXPECT_EQ(fused.counter->runs, before);
}

TEST(Plan, IsMadeOnceForALoopWhoseNumbersChange) {
  const FusedDevice fused;
  Value x = fused.of({16});
  (void)x.data();
  const auto planned = fused.fusion->statistics().planned;
  for (int step = 0; step < 20; ++step) {
    x = x * (1 - 0.01 * step) + step;
    (void)x.data();
  }
  EXPECT_EQ(fused.fusion->statistics().planned, planned + 1);
}

TEST(Plan, IsMadeOnceWhateverNumbersComeAgain) {
  const FusedDevice fused;
  Values all{fused.of({4}), fused.of({5}), fused.of({6})};
  fused.device.sync();
  const auto planned = fused.fusion->statistics().planned;
  for (int step = 1; step <= 60; ++step) {
    for (Value& x : all) {
      x = x * (1 - 0.003 * step) + 0.7 / step;
      x = x * std::exp(-0.1 * step) - std::sqrt(1.0 * step);
      x = x / (1 + std::pow(0.9, step)) * 0.25;
    }
    fused.device.sync();
  }
  EXPECT_EQ(fused.fusion->statistics().planned, planned + 1);
}

TEST(Plan, IsAnotherForAnotherShapeTypeOrSetOfSurvivors) {
  const FusedDevice fused;
  const auto planned = [&] { return fused.fusion->statistics().planned; };
  const auto run = [&](const Shape& shape, DType dtype, bool holds) {
    const Value x = full(shape, 1, fused.device, dtype);
    Value y = x + 1, z = y * 2;
    if (!holds) y = Value();
    (void)z.data();
  };
  run({4}, DType::F32, false);
  const auto first = planned();
  run({4}, DType::F32, false);
  EXPECT_EQ(planned(), first);
  run({5}, DType::F32, false);
  run({4}, DType::F64, false);
  run({4}, DType::F32, true);
  EXPECT_EQ(planned(), first + 3);
}

struct Scaled {
  double by = 1;
  Desc infer(Inputs in) const { return like(in[0]); }
  Value expand(Inputs in) const { return in[0] * by; }
};
struct Shifted {
  std::vector<double> table;
  Desc infer(Inputs in) const { return like(in[0]); }
  Value expand(Inputs in) const { return in[0] + table[0]; }
};
struct Mapped {  // what a function does cannot be seen
  std::function<Value(const Value&)> map;
  Desc infer(Inputs in) const { return like(in[0]); }
  Value expand(Inputs in) const { return map(in[0]); }
};

TEST(Plan, TakesOperationsOfAUserForTheSameByTheirFields) {
  const FusedDevice fused;
  const Value x = fused.of({4}, 1.0);
  (void)x.data();
  const auto plans = [&](auto op, std::vector<float> expected) {
    const auto before = fused.fusion->statistics().planned;
    EXPECT_EQ(floats(custom_all(std::move(op), x)[0]), expected);
    return fused.fusion->statistics().planned - before;
  };
  EXPECT_EQ(plans(Scaled{2}, {0, 2, 4, 6}), 1);
  EXPECT_EQ(plans(Scaled{2}, {0, 2, 4, 6}), 0);
  EXPECT_EQ(plans(Scaled{3}, {0, 3, 6, 9}), 1);
  EXPECT_EQ(plans(Mapped{[](const Value& v) { return v + 1; }}, {1, 2, 3, 4}), 1);
  EXPECT_EQ(plans(Mapped{[](const Value& v) { return v + 2; }}, {2, 3, 4, 5}), 1);
  const std::vector<double> small{5, 1}, large(1000, 5);
  EXPECT_EQ(plans(Shifted{small}, {5, 6, 7, 8}), 1);
  EXPECT_EQ(plans(Shifted{small}, {5, 6, 7, 8}), 0);
  EXPECT_EQ(plans(Shifted{large}, {5, 6, 7, 8}), 1);  // too much to compare
  EXPECT_EQ(plans(Shifted{large}, {5, 6, 7, 8}), 1);
}

/// Adds the first number of a table that somebody else holds.
struct Borrowing {
  std::span<const double> table;
  Desc infer(Inputs in) const { return like(in[0]); }
  Value expand(Inputs in) const { return in[0] + table[0]; }
};
struct Referring {
  const std::vector<double>& table;
  Desc infer(Inputs in) const { return like(in[0]); }
  Value expand(Inputs in) const { return in[0] + table[0]; }
};

// An operation with an equal table may not run in another's place: that of the other may be gone.
TEST(Plan, OfAUserOpReadsNoTableOfAnother) {
  const FusedDevice fused;
  const Value x = fused.of({2}, 1.0);
  (void)x.data();
  const auto with = [&](const std::vector<double>& table) {
    return std::pair{floats(custom_all(Borrowing{table}, x)[0]), floats(custom_all(Referring{table}, x)[0])};
  };
  std::vector<double> one{5};
  const std::vector<double> other{5};
  const std::vector<float> expected{5, 6};
  EXPECT_EQ(with(one), std::pair(expected, expected));
  one[0] = 7;
  EXPECT_EQ(with(other), std::pair(expected, expected));
}

TEST(Plan, CacheIsBounded) {
  const FusedDevice fused;
  for (std::int64_t size = 1; size <= 600; ++size)
    EXPECT_EQ(sum(fused.of({size}, 1.0)).item(), size * (size - 1) / 2.0);
}

TEST(Plan, HoldsNoMoreThanTwoOfAChainsValues) {
  const FusedDevice fused;
  constexpr std::int64_t kCount = 1 << 20, kBytes = kCount * 4;
  const Value x = fused.of({kCount});
  (void)slice(x, {}).data();
  const std::int64_t before = fused.device.backend().memory().in_use;
  {
    Value y = x;
    for (int i = 0; i < 20; ++i) y = sqrt(y * y + 1);
    fused.device.flush();
    EXPECT_LE(fused.device.backend().memory().in_use - before, kBytes + 4096);
    EXPECT_NEAR(slice(y, std::array{Range{0, 1}}).item(), std::sqrt(20.0), 1e-5);
  }
  EXPECT_EQ(fused.device.backend().memory().in_use, before);
}

TEST(Plan, ReadsOperandsOfAnyStrides) {
  const FusedDevice fused;
  const Value x = fused.of({3, 4}, 1.0), row = fused.of({4}, 10.0), column = fused.of({3, 1}, 100.0);
  const Value y = transpose(x) * 2 + transpose(column) + unsqueeze(row, 1) + flip(transpose(x), {0});
  const std::vector<float> found = y.data().to_vector<float>();
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 3; ++j)
      EXPECT_EQ(found[static_cast<std::size_t>(i * 3 + j)],
                static_cast<float>(2 * (j * 4 + i) + 100 * j + 10 * i + j * 4 + (3 - i)));
}

TEST(Plan, TakesManyOperandsAndNumbers) {
  const FusedDevice fused;
  Value total = full({100}, 0.0, fused.device);
  Values parts;
  double expected = 0;
  for (int i = 0; i < 60; ++i) {
    parts.push_back(full({100}, i, fused.device) * 1.0);
    (void)parts.back().data();
  }
  for (int i = 0; i < 60; ++i) {
    total = total + parts[static_cast<std::size_t>(i)] * i;
    expected += i * i;
  }
  EXPECT_EQ(total.data().to_vector<float>()[99], static_cast<float>(expected));
}

TEST(Plan, RoundsHalvesWhereTheyAreStoredOrCast) {
  const FusedDevice fused;
  const Value x = full({4}, 1.001, fused.device);
  const Value back = cast(cast(x, DType::BF16), DType::F32) * 1.0;
  EXPECT_EQ(back.data().to_vector<float>()[0], 1.0f);
  EXPECT_EQ((cast(x, DType::BF16) + 1.0).data().to_vector<float>()[0], 2.0f);
}

TEST(Plan, CastsBetweenAllElementTypesWithinAKernel) {
  const FusedDevice fused;
  constexpr DType kTypes[] = {DType::F64, DType::F32, DType::F16, DType::BF16, DType::I64, DType::I32, DType::I16,
                              DType::I8,  DType::U64, DType::U32, DType::U16,  DType::U8,  DType::Bool};
  for (const DType from : kTypes)
    for (const DType to : kTypes) {
      const Value x = cast(remainder(fused.of({3, 700}, 1.0), 97.0), from);
      (void)x.data();
      const Value y = cast(cast(x, DType::F32) + 1, to);  // whole numbers below 100: exact in every type
      const std::vector<float> found = floats(cast(y, DType::F32) * 1.0);
      for (std::size_t i = 0; i < found.size(); ++i) {
        const double before = static_cast<double>(i % 97), taken = from == DType::Bool ? before != 0 : before;
        ASSERT_EQ(found[i], to == DType::Bool ? 1 : taken + 1) << text(from, " to ", to, " at ", i);
      }
    }
}

TEST(Plan, TakesEmptyTensorsAndScalars) {
  const FusedDevice fused;
  EXPECT_EQ((exp(full({0, 3}, 1.0, fused.device)) + 1).data().to_vector<float>().size(), 0u);
  EXPECT_EQ((full({}, 2.0, fused.device) * 3 + 1).item(), 7);
}

/// A key that forgot which of the first values are still seen would find a plan that does not store them.
TEST(Plan, IsChosenByAllValuesThatAreSeen) {
  const FusedDevice fused;
  const Value x = fused.of({3});
  (void)x.data();
  for (const int kept : {1, 3, 62, 64}) {
    Value value = x, early;
    for (int i = 0; i < 130; ++i) {
      value = value + 1;
      if (i == kept) early = value;
    }
    EXPECT_EQ(floats(value), (std::vector<float>{130, 130.25f, 130.5f}));
    const auto expected = static_cast<float>(kept + 1);
    EXPECT_EQ(floats(early), (std::vector<float>{expected, expected + 0.25f, expected + 0.5f})) << kept;
  }
}

}  // namespace
}  // namespace kiln::test
