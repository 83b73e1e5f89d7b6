// What kernels keep of operands in another order: from the second time on, as long as the operand's memory, and from
// any thread.
#include <algorithm>
#include <atomic>
#include <thread>

#include "kiln/backend/cpu/memory/packing.hpp"
#include "tests/backend/arrays.hpp"

namespace kiln::cpu {
namespace {

constexpr std::int64_t kCount = 1000;

PackedForms& forms_of(const Value& value) { return static_cast<const Memory&>(*value.node()->storage).packed_forms(); }

std::atomic<int> made = 0;  // forms, since a test began to count

/// The numbers of an operand times `factor`.
struct Scale {
  std::int64_t factor;

  std::size_t bytes() const { return kCount * sizeof(float); }
  void pack(const std::byte* from, std::byte* to) const {
    ++made;
    const auto* const numbers = reinterpret_cast<const float*>(from);
    std::transform(numbers, numbers + kCount, reinterpret_cast<float*>(to),
                   [&](float x) { return x * static_cast<float>(factor); });
  }
};
/// The same fields, and something else.
struct Raise {
  std::int64_t by;

  std::size_t bytes() const { return kCount * sizeof(float); }
  void pack(const std::byte* from, std::byte* to) const {
    const auto* const numbers = reinterpret_cast<const float*>(from);
    std::transform(numbers, numbers + kCount, reinterpret_cast<float*>(to),
                   [&](float x) { return x + static_cast<float>(by); });
  }
};
/// Leaves its block as it is.
struct Blank {
  std::int64_t size;

  std::size_t bytes() const { return static_cast<std::size_t>(size); }
  void pack(const std::byte*, std::byte*) const {}
};

Ref<Memory> scaled(const Value& operand, std::int64_t factor) { return packed(operand, Scale{factor}); }

float last(const Ref<Memory>& block) { return reinterpret_cast<const float*>(block->bytes())[kCount - 1]; }

Value filled(float number) {
  Value value = tensor({kCount});
  std::fill_n(allocate(value).as<float>(), kCount, number);
  return value;
}

TEST(Packed, AreKeptFromTheSecondTimeOn) {
  made = 0;
  const Value x = filled(3);
  EXPECT_EQ(last(scaled(x, 2)), 6);
  EXPECT_EQ(forms_of(x).count(), 0);
  EXPECT_EQ(last(scaled(x, 2)), 6);
  EXPECT_EQ(forms_of(x).count(), 1);
  EXPECT_EQ(made, 2);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(last(scaled(x, 2)), 6);
  EXPECT_EQ(made, 2);
}

TEST(Packed, AreOfOneFormAndOneMemory) {
  made = 0;
  const Value x = filled(3), y = filled(4);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(last(scaled(x, 2)), 6);
    EXPECT_EQ(last(scaled(x, 5)), 15);
    EXPECT_EQ(last(scaled(y, 2)), 8);
  }
  EXPECT_EQ(made, 6);
  EXPECT_EQ(forms_of(x).count(), 2);
  EXPECT_EQ(forms_of(y).count(), 1);
}

TEST(Packed, AreNamedByWhoPacksThem) {
  const Value x = filled(3);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(last(packed(x, Scale{2})), 6);
    EXPECT_EQ(last(packed(x, Raise{2})), 5);
  }
  EXPECT_EQ(forms_of(x).count(), 2);
}

TEST(Packed, AreOfTheMemoryWhereTheOperandBegins) {
  const Value x = tensor({2 * kCount});
  Value all = x;
  std::fill_n(allocate(all).as<float>(), kCount, 3.0f);
  std::fill_n(read(x).as<float>() + kCount, kCount, 4.0f);
  const Value second = view_of(x, {kCount}, {1}, kCount);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(last(scaled(x, 2)), 6);
    EXPECT_EQ(last(scaled(second, 2)), 8);
  }
}

// What a packer could read without its key is no packer.
struct Pointing {
  const float* factor;
  std::size_t bytes() const { return 0; }
  void pack(const std::byte*, std::byte*) const {}
};
struct Referring {
  const float& factor;
  std::size_t bytes() const { return 0; }
  void pack(const std::byte*, std::byte*) const {}
};
class Hiding {
 public:
  explicit Hiding(float factor) : factor_(factor) {}
  std::size_t bytes() const { return 0; }
  void pack(const std::byte*, std::byte*) const {}

 private:
  [[maybe_unused]] float factor_;
};
struct Holding {
  Scale inner;
  Pointing pointing;
  std::size_t bytes() const { return 0; }
  void pack(const std::byte*, std::byte*) const {}
};
static_assert(Packer<Scale> && !Packer<Pointing> && !Packer<Referring> && !Packer<Hiding> && !Packer<Holding>);

TEST(Packed, HaveBooksOfTheirOwnAndGoWithTheOperand) {
  made = 0;
  const std::int64_t before = memory_statistics().packed;
  {
    const Value x = filled(3);
    scaled(x, 2);
    EXPECT_EQ(memory_statistics().packed, before);
    scaled(x, 2);
    EXPECT_GE(memory_statistics().packed, before + 4 * kCount);
  }
  EXPECT_EQ(memory_statistics().packed, before);
}

TEST(Packed, AreMadeAgainOfMemoryThatIsWrittenAgain) {
  made = 0;
  const Value x = filled(3);
  for (int i = 0; i < 3; ++i) scaled(x, 2);
  forms_of(x).forget();
  EXPECT_EQ(forms_of(x).count(), 0);
  std::fill_n(read(x).as<float>(), kCount, 7.0f);
  EXPECT_EQ(last(scaled(x, 2)), 14);
  EXPECT_EQ(forms_of(x).count(), 0);  // the first time again
}

TEST(Packed, GoWhenMemoryIsWanted) {
  made = 0;
  const Value x = filled(3), y = filled(4);
  for (const Value& value : {x, y})
    for (int i = 0; i < 2; ++i) scaled(value, 2);
  const Ref<Memory> held = scaled(x, 2);
  EXPECT_GT(memory_statistics().packed, 0);
  forget_packed();
  EXPECT_EQ(forms_of(x).count() + forms_of(y).count(), 0);
  EXPECT_EQ(last(held), 6);  // for who uses it now
  EXPECT_EQ(last(scaled(y, 2)), 8);

  // A request that finds no room takes theirs.
  Value large = tensor({4 << 20});
  allocate(large);
  for (int i = 0; i < 2; ++i) packed(large, Blank{16 << 20});
  release_memory();
  const auto limit = static_cast<std::size_t>(memory_statistics().limit);
  set_memory_limit(static_cast<std::size_t>(memory_statistics().reserved + (2 << 20)));
  EXPECT_EQ(forms_of(large).count(), 1);
  EXPECT_NO_THROW(make_ref<Memory>(std::size_t{12} << 20));
  EXPECT_EQ(forms_of(large).count(), 0);
  set_memory_limit(limit);
}

TEST(Packed, AreTheSameForAllThreads) {
  made = 0;
  const Value x = filled(3);
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread)
    threads.emplace_back([&, thread] {
      for (int i = 0; i < 500; ++i) {
        const Value own = filled(5);
        for (int twice = 0; twice < 2; ++twice) {
          if (last(scaled(x, 2)) != 6) ++wrong;
          if (last(scaled(own, 2)) != 10) ++wrong;
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
