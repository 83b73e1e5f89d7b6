// Random kernels: what is folded while they are built, what is computed step by step, and what a thread of C++ makes of the
// same program are one.
#include <random>

#include "tests/backend/gpu/kernels.hpp"

namespace kiln::gpu {
namespace {

constexpr int kVariables = 4, kConstants = 6, kThreads = 64;

/// One of the thread's variables, of the constants, the counter of the innermost loop, or the thread's input.
struct Operand {
  enum { Variable, Constant, Counter, Input } from;
  int index;
};

struct Line {
  enum { Set, Branch, Repeat } kind;
  int variable;   // that is set
  Arithmetic op;  // of x and y, or the question of a branch
  Operand x, y;
  int rounds;  // of a loop: so many and up to three more, by variable
  std::vector<Line> body, otherwise;
};
using Lines = std::vector<Line>;

class Author {
 public:
  Author(std::uint64_t seed, bool floats) : random_(seed), floats_(floats) {}
  Lines lines(int depth) {
    Lines all(static_cast<std::size_t>(3 + pick(4)));
    for (Line& line : all) line = this->line(depth);
    return all;
  }

 private:
  int pick(int count) { return static_cast<int>(random_() % static_cast<unsigned>(count)); }
  Operand operand() {
    const int kind = pick(8);
    if (kind < 3) return {Operand::Variable, pick(kVariables)};
    if (kind < 6) return {Operand::Constant, pick(kConstants)};
    return {kind == 6 ? Operand::Counter : Operand::Input, 0};
  }
  Line line(int depth) {
    static constexpr Arithmetic kAny[] = {Arithmetic::Add, Arithmetic::Subtract, Arithmetic::Multiply,
                                          Arithmetic::Minimum, Arithmetic::Maximum};
    static constexpr Arithmetic kOfIntegers[] = {Arithmetic::And, Arithmetic::Or, Arithmetic::Xor};
    static constexpr Arithmetic kQuestions[] = {Arithmetic::Less, Arithmetic::LessEqual, Arithmetic::Equal,
                                                Arithmetic::NotEqual};
    const int kind = depth < 3 ? pick(6) : 5;
    Line line{.kind = kind == 0   ? Line::Branch
                      : kind == 1 ? Line::Repeat
                                  : Line::Set,
              .variable = pick(kVariables),
              .op = pick(3) || floats_ ? kAny[pick(5)] : kOfIntegers[pick(3)],
              .x = operand(),
              .y = operand(),
              .rounds = pick(3),
              .body = {},
              .otherwise = {}};
    if (line.kind == Line::Set) return line;
    line.op = kQuestions[pick(4)];
    line.body = lines(depth + 1);
    if (line.kind == Line::Branch && pick(2)) line.otherwise = lines(depth + 1);
    return line;
  }

  std::mt19937_64 random_;
  const bool floats_;
};

constexpr int kNumbers[kConstants] = {0, 1, -1, 2, 5, 100};

// ---- what it means -------------------------------------------------------------------------------------------------

template <class T>
struct Thread {
  std::array<T, kVariables> variables;
  T input;

  T value(Operand from, int counter) const {
    switch (from.from) {
      case Operand::Variable: return variables[static_cast<std::size_t>(from.index)];
      case Operand::Constant: return static_cast<T>(kNumbers[from.index]);
      case Operand::Counter: return static_cast<T>(counter);
      default: return input;
    }
  }
  static T combined(Arithmetic op, T x, T y) {
    if (op == Arithmetic::Minimum) return y < x || x != x ? y : x;
    if (op == Arithmetic::Maximum) return y > x || x != x ? y : x;
    if constexpr (std::is_integral_v<T>) {
      using U = std::make_unsigned_t<T>;
      const U a = static_cast<U>(x), b = static_cast<U>(y);
      switch (op) {
        case Arithmetic::Add: return static_cast<T>(a + b);
        case Arithmetic::Subtract: return static_cast<T>(a - b);
        case Arithmetic::Multiply: return static_cast<T>(a * b);
        case Arithmetic::And: return static_cast<T>(a & b);
        case Arithmetic::Or: return static_cast<T>(a | b);
        default: return static_cast<T>(a ^ b);
      }
    } else {
      return op == Arithmetic::Add ? x + y : op == Arithmetic::Subtract ? x - y : x * y;
    }
  }
  static bool holds(Arithmetic op, T x, T y) {
    return op == Arithmetic::Less        ? x < y
           : op == Arithmetic::LessEqual ? x <= y
           : op == Arithmetic::Equal     ? x == y
                                         : x != y;
  }
  void run(const Lines& lines, int counter) {
    for (const Line& line : lines) {
      const T x = value(line.x, counter), y = value(line.y, counter);
      if (line.kind == Line::Set) variables[static_cast<std::size_t>(line.variable)] = combined(line.op, x, y);
      else if (line.kind == Line::Branch) run(holds(line.op, x, y) ? line.body : line.otherwise, counter);
      else
        for (int i = 0, rounds = line.rounds + (holds(line.op, x, y) ? 2 : 0); i < rounds; ++i) run(line.body, i);
    }
  }
};

// ---- as a kernel ---------------------------------------------------------------------------------------------------

class Writer {
 public:
  /// Constants are literals, which are folded, or parameters, of which nothing is known.
  Writer(const Lines& lines, DType type, bool folds) : k_("random", kThreads) {
    const Buffer in = k_.input(type), out = k_.output(type);
    const Expr i = k_.block() * kThreads + k_.thread();
    for (const int number : kNumbers) constants_.push_back(folds ? k_.literal(type, number) : k_.number(type));
    input_ = in[i];
    for (int v = 0; v < kVariables; ++v) variables_.push_back(k_.variable((i + v).as(type)));
    write(lines, k_.literal(DType::I32, 0));
    for (int v = 0; v < kVariables; ++v) out.store(i * kVariables + v, variables_[static_cast<std::size_t>(v)]);
  }
  Kernel finish() { return k_.finish(); }

 private:
  Expr value(Operand from, const Expr& counter) const {
    switch (from.from) {
      case Operand::Variable: return variables_[static_cast<std::size_t>(from.index)];
      case Operand::Constant: return constants_[static_cast<std::size_t>(from.index)];
      case Operand::Counter: return counter.as(input_.type());
      default: return input_;
    }
  }
  void write(const Lines& lines, const Expr& counter) {
    for (const Line& line : lines) {
      const Expr made = compute(line.op, value(line.x, counter), value(line.y, counter));
      if (line.kind == Line::Set) variables_[static_cast<std::size_t>(line.variable)].set(made);
      else if (line.kind == Line::Branch)
        k_.when(made, [&] { write(line.body, counter); }, [&] { write(line.otherwise, counter); });
      else
        k_.loop(k_.literal(DType::I32, 0), made.as(DType::I32) * 2 + line.rounds, k_.literal(DType::I32, 1),
                [&](const Expr& i) { write(line.body, i); });
    }
  }

  Builder k_;
  std::vector<Expr> constants_;
  std::vector<Local> variables_;
  Expr input_;
};

std::size_t size(const Statements& statements) {
  std::size_t all = statements.size();
  for (const Statement& each : statements) all += size(each.body) + size(each.otherwise) + size(each.head);
  return all;
}

template <class T>
void check(std::uint64_t seed, std::size_t& folded_away) {
  const Lines lines = Author(seed, std::is_floating_point_v<T>).lines(0);
  std::vector<T> in(2 * kThreads), folded(in.size() * kVariables), plain(in.size() * kVariables);
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<T>(static_cast<int>(i * 37 % 64) - 20);
  const Kernel with = Writer(lines, dtype_of<T>, true).finish(), without = Writer(lines, dtype_of<T>, false).finish();
  run(with, 2, {in, folded});
  std::vector<Given> given{in, plain};
  for (const int number : kNumbers) given.emplace_back(static_cast<T>(number));
  run(without, 2, given);
  folded_away += size(without.body) - size(with.body);
  for (std::size_t t = 0; t < in.size(); ++t) {
    Thread<T> thread{{}, in[t]};
    for (std::size_t v = 0; v < kVariables; ++v) thread.variables[v] = static_cast<T>(t + v);
    thread.run(lines, 0);
    for (std::size_t v = 0; v < kVariables; ++v) {
      const T expected = thread.variables[v], a = folded[t * kVariables + v], b = plain[t * kVariables + v];
      ASSERT_TRUE(b == expected || (b != b && expected != expected))
          << "seed " << seed << ", thread " << t << ", variable " << v << ": " << b << " in place of " << expected;
      ASSERT_TRUE(a == expected || (a != a && expected != expected))
          << "folded: seed " << seed << ", thread " << t << ", variable " << v << ": " << a << " in place of "
          << expected;
    }
  }
}

TEST(RandomKernels, ComputeWhatTheyMean) {
  std::size_t folded_away = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    check<std::int32_t>(seed, folded_away);
    check<std::uint32_t>(seed, folded_away);
    check<std::int64_t>(seed, folded_away);
    check<float>(seed, folded_away);
    check<double>(seed, folded_away);
    if (testing::Test::HasFatalFailure()) return;
  }
  EXPECT_GT(folded_away, 500u);
}

}  // namespace
}  // namespace kiln::gpu
