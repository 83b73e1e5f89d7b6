// Conditions around barriers, for devices whose compilers must see that they are the same for all threads.
#include "kiln/backend/gpu/kernel/refusal.hpp"
#include "tests/backend/gpu/lower/rules.hpp"

namespace kiln::gpu {
namespace {

Capabilities proving() { return {.proves_barriers = true}; }

std::string refusal(const Kernel& kernel) {
  const std::optional<Refusal> refusal = refusal_of(kernel, proving(), "some");
  return refusal ? refusal->sentence : "";
}

constexpr const char* kUnseen =
    "some: kernel made: a barrier stands under a condition of which the device does not see that it is the same for "
    "all "
    "threads";

int passed(const Kernel& kernel) {
  int count = 0;
  const auto see = [&](const Statement& each) { count += each.instruction.kind == Instruction::Kind::SharedSame; };
  each_statement(kernel.body, see);
  return count;
}

/// A kernel that folds within barriers, where `enters` opens the way to them.
template <class F>
Kernel folding(F enters) {
  Builder k("made", 64);
  const Buffer counts = k.input(DType::I32), x = k.both(DType::I32);
  const Expr number = k.number(DType::I32);
  const Shared shared = k.shared(DType::I32, 64), word = k.shared(DType::I32, 1);
  k.when(k.thread() == 0, [&] { word.store(k.literal(DType::I32, 0), counts[k.block()]); });
  k.barrier();
  const Local round = k.variable(k.literal(DType::I32, 0));
  const auto fold = [&] {
    k.barrier();
    shared.store(k.thread(), x[k.thread()]);
    k.barrier();
    x.store(k.thread(), shared[(k.thread() + 1) % 64] + 1);
    round.set(round + 1);
  };
  enters(k, counts, word, number, round, fold);
  return k.finish();
}

struct Way {
  const char* name;
  Kernel kernel;
  int passed;  // how many conditions the device would not see through; all floats are taken to be such
};

std::vector<Way> ways() {
  using Fold = FunctionRef<void()>;
  const auto zero = [](Builder& k) { return k.literal(DType::I32, 0); };
  const auto one = [](Builder& k) { return k.literal(DType::I32, 1); };
  return {
      {"a number",
       folding([&](Builder& k, auto&, auto&, const Expr& number, auto&, Fold fold) { k.when(number > 2, fold); }), 0},
      {"a buffer", folding([&](Builder& k, const Buffer& counts, auto&, auto&, auto&, Fold fold) {
         k.when(counts[k.block()] > 2, fold);
       }),
       1},
      {"shared memory", folding([&](Builder& k, auto&, const Shared& word, auto&, auto&, Fold fold) {
         k.loop(zero(k), word[zero(k)], one(k), [&](const Expr&) { fold(); });
       }),
       1},
      {"a variable", folding([&](Builder& k, auto&, const Shared& word, auto&, const Local& round, Fold fold) {
         k.loop_while([&] { return round.get() < word[zero(k)]; }, fold);
       }),
       1},
      {"a float", folding([&](Builder& k, auto&, auto&, const Expr& number, auto&, Fold fold) {
         k.when(number.as(DType::F32) > 2.5, fold);
       }),
       1},
      {"one in another", folding([&](Builder& k, const Buffer& counts, const Shared& word, auto&, auto&, Fold fold) {
         k.when(counts[zero(k)] > 0, [&] {
           k.loop(zero(k), word[zero(k)], one(k), [&](const Expr& i) { k.when(i < counts[k.block()], fold); });
         });
       }),
       3},
  };
}

TEST(CommonConditions, ArePassedWhereTheDeviceWouldNotSee) {
  for (const Way& way : ways()) {
    SCOPED_TRACE(way.name);
    const Kernel made = lowered(way.kernel, proving());
    EXPECT_EQ(refusal(way.kernel), way.passed ? kUnseen : "");
    EXPECT_EQ(refusal(made), "");
    EXPECT_EQ(passed(made), way.passed);
    std::vector<std::int32_t> counts{3}, x(64), expected;
    for (std::size_t i = 0; i < 64; ++i) x[i] = static_cast<std::int32_t>(i * i);
    expected = x;
    for (int i = std::string_view(way.name).starts_with("a ") && way.name != std::string_view("a variable") ? 1 : 3; i;
         --i) {
      std::ranges::rotate(expected, expected.begin() + 1);
      for (std::int32_t& each : expected) ++each;
    }
    run(way.kernel, 1, {counts, x, 3});
    EXPECT_EQ(x, expected);
  }
}

TEST(CommonConditions, StayWhereNoBarrierIs) {
  Builder k("plain", 64);
  const Buffer in = k.input(DType::I32), out = k.output(DType::I32);
  k.when(in[k.thread()] > 3, [&] { out.store(k.thread(), in[k.thread()]); });
  k.barrier();
  EXPECT_EQ(passed(lowered(k.finish(), proving())), 0);
}

TEST(CommonConditions, AreTheSameForAllThreads) {
  EXPECT_EQ(said_of([](Builder& k, const Buffer& x) {
              const Shared shared = k.shared(DType::I32, 64);
              shared.store(k.thread(), k.thread());
              x.store(k.thread(), shared.same(k.thread()));
            }),
            "DeviceError: kernel wrong, block 0: its threads take different elements of shared array 0 for one that is "
            "the same");
  EXPECT_EQ(said_of([](Builder& k, const Buffer& x) {
              const Shared shared = k.shared(DType::I32, 1);
              const Expr first = k.literal(DType::I32, 0);
              k.when(k.thread() < 32, [&] { x.store(k.thread(), shared.same(first)); });
            }),
            "DeviceError: kernel wrong, block 0: only 32 of 64 threads get to a barrier");
}

}  // namespace
}  // namespace kiln::gpu
