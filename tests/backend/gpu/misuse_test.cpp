// Kernels that mean nothing are refused while they are built, with a sentence.
#include "kiln/ops/expression/rows.hpp"
#include "tests/backend/gpu/kernels.hpp"

namespace kiln::gpu {
namespace {

TEST(Misuse, OfTypes) {
  const auto said = [](auto f) {
    return said_of([&](Builder& k, const Buffer& x) { f(k, x, x[k.thread()], k.literal(DType::F32, 1.5)); });
  };
  using B = Builder&;
  using M = const Buffer&;
  using E = const Expr&;
  EXPECT_EQ(said([](B, M, E i, E f) { i + f; }), "ArgumentError: kernel: int32 meets float32");
  EXPECT_EQ(said([](B, M, E, E f) { f % f; }), "ArgumentError: kernel: float32 has no bits; take bits_as");
  EXPECT_EQ(said([](B, M, E, E f) { !f; }), "ArgumentError: kernel: float32 has no bits; take bits_as");
  EXPECT_EQ(said([](B, M, E i, E) { (i < 3) + (i < 4); }), "ArgumentError: kernel: truths are no numbers; take as");
  EXPECT_EQ(said([](B, M, E i, E) { select(i, i, i); }),
            "ArgumentError: kernel: select takes a truth and two values of one type");
  EXPECT_EQ(said([](B, M, E i, E f) { select(i < 3, i, f); }),
            "ArgumentError: kernel: select takes a truth and two values of one type");
  EXPECT_EQ(said([](B k, M, E i, E) { k.when(i, [] {}); }), "ArgumentError: kernel: a condition of int32");
  EXPECT_EQ(said([](B k, M, E i, E) { k.loop_while([&] { return i; }, [] {}); }),
            "ArgumentError: kernel: a condition of int32");
  EXPECT_EQ(said([](B, M x, E i, E f) { x.store(i, f); }), "ArgumentError: kernel: float32 is stored as int32");
  EXPECT_EQ(said([](B, M x, E, E f) { x[f]; }), "ArgumentError: kernel: float32 is no index");
  EXPECT_EQ(said([](B, M x, E i, E) { x.load(i, 3); }),
            "ArgumentError: kernel: 3 elements of int32 are not loaded at once");
  EXPECT_EQ(said([](B, M x, E i, E) { x.load(i, 8); }),
            "ArgumentError: kernel: 8 elements of int32 are not loaded at once");
  EXPECT_EQ(said([](B, M x, E i, E f) { x.update(Update::Add, i, f); }),
            "ArgumentError: kernel: int32 is updated by float32");
  EXPECT_EQ(said([](B k, M, E i, E f) {
              k.local(DType::I64).set(i);
              (void)f;
            }),
            "ArgumentError: kernel: a variable of int64 is set to int32");
  EXPECT_EQ(said([](B, M, E i, E) { (void)i.as(DType::F16); }),
            "ArgumentError: kernel wrong: nothing is computed in float16");
  EXPECT_EQ(said([](B, M, E i, E) { (void)i.bits_as(DType::F64); }),
            "ArgumentError: kernel: int32 has not as many bits as float64");
  EXPECT_EQ(said([](B k, M, E i, E f) { k.loop(i, f, i, [](E) {}); }),
            "ArgumentError: kernel: a loop counts from int32 to float32 by int32");
  EXPECT_EQ(said([](B k, M, E i, E f) { k.shuffle(i, f); }), "ArgumentError: kernel: a lane is int32");
}

TEST(Misuse, OfUpdates) {
  EXPECT_EQ(said_of([](Builder& k, const Buffer& x) { x.update(Update::CompareAndSwap, k.thread(), k.thread()); }),
            "ArgumentError: kernel: a swap needs what is expected");
  EXPECT_EQ(said_of([](Builder& k, const Buffer&) {
              k.shared(DType::F32, 4).update(Update::Maximum, k.thread(), k.literal(DType::F32, 1));
            }),
            "ArgumentError: kernel: of floats there are sums and exchanges alone, not of float32");
  EXPECT_EQ(said_of([](Builder& k, const Buffer&) {
              k.both(DType::F16).update(Update::Add, k.thread(), k.literal(DType::F32, 1));
            }),
            "ArgumentError: kernel: float16 is updated by float32");
}

TEST(Misuse, OfFunctions) {
  EXPECT_EQ(said_of([](Builder& k, const Buffer&) { k.call("abacus", DType::F32, {}); }),
            "ArgumentError: kernel: there is no function abacus of 0 operands");
  EXPECT_EQ(said_of([](Builder& k, const Buffer&) { k.call("exp", DType::F32, {}); }),
            "ArgumentError: kernel: there is no function exp of 0 operands");
  EXPECT_EQ(said_of([](Builder& k, const Buffer&) {
              k.tree(expr::greatest_common_divisor(), DType::I32, std::vector{k.literal(DType::I32, 1)});
            }),
            "ArgumentError: kernel wrong: an expression of 2 variables is given 1");
}

TEST(Misuse, OfBuilders) {
  EXPECT_EQ(sentence_of([] { return Builder("odd", 33), 0; }), "ArgumentError: kernel odd: 33 threads to a block");
  EXPECT_EQ(sentence_of([] { return Builder("many", 2048), 0; }),
            "ArgumentError: kernel many: 2048 threads to a block");
  EXPECT_EQ(sentence_of([] { return Expr() + 1; }), "ArgumentError: kernel: an expression that was never made");
  EXPECT_EQ(sentence_of([] {
              Builder k("one"), other("two");
              return k.thread() + other.thread();
            }),
            "ArgumentError: kernel: expressions of two kernels meet");
  EXPECT_EQ(sentence_of([] {
              Builder k("done");
              const Expr t = k.thread();
              k.finish();
              return t + 1;
            }),
            "ArgumentError: kernel: its builder has finished it");
}

TEST(Misuse, OfWhatIsKnownElsewhere) {
  EXPECT_EQ(said_of([](Builder& k, const Buffer& x) {
              Expr inner;
              k.when(x[k.thread()] < 3, [&] { inner = x[k.thread()] * 7; });
              x.store(k.thread(), inner);
            }).substr(0, 45),
            "ArgumentError: kernel wrong: value 6 is used ");
}

TEST(Misuse, OfParameters) {
  std::vector<std::int32_t> memory(32);
  const auto said = [&](auto f) {
    Builder k("roles", 32);
    const Buffer in = k.input(DType::I32), out = k.output(DType::I32);
    f(k, in, out);
    const Kernel kernel = k.finish();
    return sentence_of([&] { return run(kernel, 1, {memory, memory}), 0; });
  };
  EXPECT_EQ(said([](Builder& k, const Buffer& in, const Buffer&) { in.store(k.thread(), k.thread()); }),
            "ArgumentError: kernel roles: writes to parameter 0, which is not made for that");
  EXPECT_EQ(said([](Builder& k, const Buffer&, const Buffer& out) { out.store(k.thread(), out[k.thread()]); }),
            "ArgumentError: kernel roles: reads parameter 1, which is not made for that");
  Builder k("few", 32);
  k.input(DType::I32);
  const Kernel kernel = k.finish();
  EXPECT_EQ(sentence_of([&] { return run(kernel, 1, {}), 0; }),
            "DeviceError: kernel few: has 1 parameters and is given 0 arguments");
}

}  // namespace
}  // namespace kiln::gpu
