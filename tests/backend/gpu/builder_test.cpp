// What a builder knows before a kernel runs: it leaves no step that need not be there.
#include "tests/backend/gpu/kernels.hpp"

namespace kiln::gpu {
namespace {

int count(const Statements& statements, Instruction::Kind kind) {
  int found = 0;
  for (const Statement& statement : statements) {
    found += statement.kind == Statement::Kind::Let && statement.instruction.kind == kind;
    found += count(statement.head, kind) + count(statement.body, kind) + count(statement.otherwise, kind);
  }
  return found;
}
int count(const Statements& statements, Statement::Kind kind) {
  int found = 0;
  for (const Statement& statement : statements) {
    found += statement.kind == kind;
    found += count(statement.head, kind) + count(statement.body, kind) + count(statement.otherwise, kind);
  }
  return found;
}

/// The steps of a kernel that stores what `f` makes of the thread's number.
template <class F>
Kernel stores(F f) {
  Builder k("stores", 32);
  const Buffer to = k.output(DType::I32);
  to.store(k.thread(), f(k, k.thread()));
  return k.finish();
}
template <class F>
int computes(F f) {
  return count(stores(f).body, Instruction::Kind::Compute);
}

TEST(Builders, FoldWhatIsKnown) {
  using B = Builder&;
  using E = const Expr&;
  EXPECT_EQ(computes([](B, E t) { return t + 1; }), 1);
  EXPECT_EQ(computes([](B k, E t) { return t + (k.literal(DType::I32, 3) * 4 - 1); }), 1);
  for (const int zero : {0})
    EXPECT_EQ(computes([&](B, E t) { return ((((t + zero) - zero) | zero) ^ zero) << zero >> zero; }), 0);
  EXPECT_EQ(computes([](B, E t) { return 1 * t * 1 / 1; }), 0);
  EXPECT_EQ(computes([](B, E t) { return t * 0 + t % 1; }), 0);
  EXPECT_EQ(computes([](B k, E t) { return select(k.boolean(true), t, t * 5); }), 0);
  EXPECT_EQ(computes([](B k, E t) { return select(k.literal(DType::I32, 3) < 4, t, t * 5); }), 0);
  EXPECT_EQ(count(stores([](B, E t) { return t.as(DType::I32).bits_as(DType::I32); }).body, Instruction::Kind::Cast),
            0);
}

TEST(Builders, DoNotFoldWhatFloatsDoNot) {
  Builder k("floats", 32);
  const Buffer to = k.both(DType::F32);
  const Expr x = to[k.thread()];
  to.store(k.thread(), x * 0.0 + 0.0);  // of NaN, infinity and -0 something else than 0
  EXPECT_EQ(count(k.finish().body, Instruction::Kind::Compute), 2);
}

TEST(Builders, KnowWhatWasComputedBefore) {
  EXPECT_EQ(computes([](Builder&, const Expr& t) { return (t * 7 + 1) ^ (t * 7 + 1) % 5; }), 4);
  EXPECT_EQ(computes([](Builder& k, const Expr& t) { return k.thread() * 7 + t * 7; }), 2);
  Builder k("scopes", 32);
  const Buffer to = k.output(DType::I32);
  const Expr before = k.thread() * 3;
  k.when(
      before < 9, [&] { to.store(k.thread(), k.thread() * 3 + 100); }, [&] { to.store(k.thread(), k.thread() + 100); });
  k.when(before < 5, [&] { to.store(k.thread(), k.thread() + 100); });
  EXPECT_EQ(count(k.finish().body, Instruction::Kind::Compute), 1 + 2 + 3);
}

TEST(Builders, TakeTheWayThatIsKnown) {
  Builder k("ways", 32);
  const Buffer to = k.output(DType::I32);
  k.when(k.literal(DType::I32, 1) < 2, [&] { to.store(k.thread(), k.thread()); }, [&] { k.barrier(); });
  k.when(k.boolean(false), [&] { k.barrier(); });
  const Kernel kernel = k.finish();
  EXPECT_EQ(count(kernel.body, Statement::Kind::If), 0);
  EXPECT_EQ(count(kernel.body, Statement::Kind::Barrier), 0);
  EXPECT_EQ(count(kernel.body, Statement::Kind::Store), 1);
}

TEST(Builders, LeaveOutWhatNobodyReads) {
  Builder k("unread", 32);
  const Buffer from = k.input(DType::F32), to = k.both(DType::I32);
  const Expr x = from[k.thread()];
  const Local sum = k.variable(x);
  k.loop(k.literal(DType::I32, 0), k.literal(DType::I32, 9), k.literal(DType::I32, 1),
         [&](const Expr& i) { sum.set(x * i.as(DType::F32)); });
  to.update(Update::Add, k.thread(), k.thread());  // is not read, but does something
  const Kernel kernel = k.finish();
  EXPECT_EQ(count(kernel.body, Instruction::Kind::Load), 0);
  EXPECT_EQ(count(kernel.body, Statement::Kind::Loop), 0);
  EXPECT_EQ(count(kernel.body, Statement::Kind::StoreLocal), 0);
  EXPECT_EQ(count(kernel.body, Instruction::Kind::Update), 1);
}

TEST(Builders, KeepLoadsApartFromStores) {
  // An element is not the same after somebody wrote it.
  std::vector<std::int32_t> x(32, 5);
  Builder k("again", 32);
  const Buffer memory = k.both(DType::I32);
  memory.store(k.thread(), memory[k.thread()] + 1);
  memory.store(k.thread(), memory[k.thread()] * 2);
  run(k.finish(), 1, {x});
  EXPECT_EQ(x, std::vector<std::int32_t>(32, 12));
}

}  // namespace
}  // namespace kiln::gpu
