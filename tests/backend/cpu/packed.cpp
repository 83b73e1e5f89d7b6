// What kernels keep of operands in another order: from the second time on, as long as the operand's memory, and from
// any thread.
#include <algorithm>
#include <atomic>
#include <thread>

#include "kiln/backend/cpu/signature.hpp"
#include "tests/backend/arrays.hpp"

namespace kiln::cpu {
namespace {

constexpr std::int64_t kCount = 1000;

PackedForms& forms_of(const Value& value) { return static_cast<const Memory&>(*value.node()->storage).packed_forms(); }

/// The numbers of an operand times `factor`, in a form that is kept; counts how often it is made.
struct Scaled {
  std::atomic<int> made = 0;

  Ref<Memory> of(const Value& operand, std::int64_t factor) {
    const Array from = read(operand);
    return packed(operand, Signature(factor), kCount * sizeof(float), [&](std::byte* to) {
      ++made;
      std::transform(from.as<float>(), from.as<float>() + kCount, reinterpret_cast<float*>(to),
                     [&](float x) { return x * static_cast<float>(factor); });
    });
  }
};

float last(const Ref<Memory>& block) { return reinterpret_cast<const float*>(block->bytes())[kCount - 1]; }

Value filled(float number) {
  Value value = tensor({kCount});
  std::fill_n(allocate(value).as<float>(), kCount, number);
  return value;
}

TEST(Packed, AreKeptFromTheSecondTimeOn) {
  Scaled scaled;
  const Value x = filled(3);
  EXPECT_EQ(last(scaled.of(x, 2)), 6);
  EXPECT_EQ(forms_of(x).count(), 0);
  EXPECT_EQ(last(scaled.of(x, 2)), 6);
  EXPECT_EQ(forms_of(x).count(), 1);
  EXPECT_EQ(scaled.made, 2);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(last(scaled.of(x, 2)), 6);
  EXPECT_EQ(scaled.made, 2);
}

TEST(Packed, AreOfOneFormAndOneMemory) {
  Scaled scaled;
  const Value x = filled(3), y = filled(4);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(last(scaled.of(x, 2)), 6);
    EXPECT_EQ(last(scaled.of(x, 5)), 15);
    EXPECT_EQ(last(scaled.of(y, 2)), 8);
  }
  EXPECT_EQ(scaled.made, 6);
  EXPECT_EQ(forms_of(x).count(), 2);
  EXPECT_EQ(forms_of(y).count(), 1);
}

TEST(Packed, HaveBooksOfTheirOwnAndGoWithTheOperand) {
  Scaled scaled;
  const std::int64_t before = memory_statistics().packed;
  {
    const Value x = filled(3);
    scaled.of(x, 2);
    EXPECT_EQ(memory_statistics().packed, before);
    scaled.of(x, 2);
    EXPECT_GE(memory_statistics().packed, before + 4 * kCount);
  }
  EXPECT_EQ(memory_statistics().packed, before);
}

TEST(Packed, AreMadeAgainOfMemoryThatIsWrittenAgain) {
  Scaled scaled;
  const Value x = filled(3);
  for (int i = 0; i < 3; ++i) scaled.of(x, 2);
  forms_of(x).forget();
  EXPECT_EQ(forms_of(x).count(), 0);
  std::fill_n(read(x).as<float>(), kCount, 7.0f);
  EXPECT_EQ(last(scaled.of(x, 2)), 14);
  EXPECT_EQ(forms_of(x).count(), 0);  // the first time again
}

TEST(Packed, GoWhenMemoryIsWanted) {
  Scaled scaled;
  const Value x = filled(3), y = filled(4);
  for (const Value& value : {x, y})
    for (int i = 0; i < 2; ++i) scaled.of(value, 2);
  const Ref<Memory> held = scaled.of(x, 2);
  EXPECT_GT(memory_statistics().packed, 0);
  forget_packed();
  EXPECT_EQ(forms_of(x).count() + forms_of(y).count(), 0);
  EXPECT_EQ(last(held), 6);  // for who uses it now
  EXPECT_EQ(last(scaled.of(y, 2)), 8);

  // A request that finds no room takes theirs.
  Value large = tensor({4 << 20});
  allocate(large);
  for (int i = 0; i < 2; ++i) packed(large, Signature(std::int64_t{1}), 16 << 20, [](std::byte*) {});
  release_memory();
  const auto limit = static_cast<std::size_t>(memory_statistics().limit);
  set_memory_limit(static_cast<std::size_t>(memory_statistics().reserved + (2 << 20)));
  EXPECT_EQ(forms_of(large).count(), 1);
  EXPECT_NO_THROW(make_ref<Memory>(std::size_t{12} << 20));
  EXPECT_EQ(forms_of(large).count(), 0);
  set_memory_limit(limit);
}

TEST(Packed, AreTheSameForAllThreads) {
  Scaled scaled;
  const Value x = filled(3);
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread)
    threads.emplace_back([&, thread] {
      for (int i = 0; i < 500; ++i) {
        const Value own = filled(5);
        for (int twice = 0; twice < 2; ++twice) {
          if (last(scaled.of(x, 2)) != 6) ++wrong;
          if (last(scaled.of(own, 2)) != 10) ++wrong;
        }
        if (thread == 0 && i % 10 == 0) forget_packed();
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_LE(forms_of(x).count(), 1);
}

}  // namespace
}  // namespace kiln::cpu
