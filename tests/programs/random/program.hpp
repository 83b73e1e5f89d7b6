// Random programs. A program is a list of lines; a line is a tensor of fixed numbers or one instruction applied to
// earlier lines. An instruction knows two things that are written independently of each other: how Kiln runs it, and
// what it means, in plain loops over dual numbers. Dual numbers carry a derivative along one direction forwards, so that
// the meaning checks Kiln's reverse-mode gradients too, without finite differences and their trouble near kinks.
#pragma once
#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "kiln/ops/functions.hpp"

namespace kiln::programs {

/// v + d e, where e * e = 0.
struct Dual {
  double v = 0, d = 0;
};
inline Dual operator+(Dual a, Dual b) { return {a.v + b.v, a.d + b.d}; }
inline Dual operator-(Dual a, Dual b) { return {a.v - b.v, a.d - b.d}; }
inline Dual operator*(Dual a, Dual b) { return {a.v * b.v, a.d * b.v + a.v * b.d}; }
inline Dual operator/(Dual a, Dual b) { return {a.v / b.v, (a.d - a.v / b.v * b.d) / b.v}; }

enum class Type { Real, Index, Flag };

/// A tensor of the meaning; numbers of any type are doubles.
struct Grid {
  Type type = Type::Real;
  Shape shape;
  std::vector<Dual> x;

  Grid() = default;
  explicit Grid(const Shape& shape, Dual fill = {}, Type type = Type::Real)
      : type(type), shape(shape), x(static_cast<std::size_t>(kiln::numel(shape)), fill) {}
  std::size_t offset(const Dims& index) const;
  Dual& operator()(const Dims& index) { return x[offset(index)]; }
  const Dual& operator()(const Dims& index) const { return x[offset(index)]; }
  int rank() const { return shape.size(); }
};

/// Calls f(index) for every index of `shape`, in row-major order.
void each(const Shape& shape, const std::function<void(const Dims&)>& f);
Dims without(Dims index, int dim);
Dims with(Dims index, int dim, std::int64_t value);

/// How far the numbers that decided something (a comparison, a kink, an order) were from deciding otherwise.
struct Margin {
  double least = 1;
  void decided_by(double difference) { least = std::min(least, difference < 0 ? -difference : difference); }
};

/// Whatever an instruction needs beside its operands; each uses some of it.
struct Attributes {
  int dim = 0, other = 0;
  Dims dims{}, more{};
  std::int64_t a = 0, b = 0;
  double low = 0, high = 0;
  bool flag = false;
  std::vector<Range> ranges{};
};

using Operands = std::vector<Value>;
using Grids = std::vector<const Grid*>;
class Draft;

struct Instruction {
  std::string name;
  std::function<bool(Draft&)> propose;  // chooses operands and attributes; false: nothing suits it
  std::function<Value(const Operands&, const Attributes&)> run;
  std::string code;  // of `run`, where x, y, z are operands and s the attributes
  std::function<Grid(const Grids&, const Attributes&, Margin&)> meaning;
};

const std::vector<Instruction>& instructions();
// By topic; instructions() is all of them.
std::vector<Instruction> elementwise_instructions();
std::vector<Instruction> view_instructions();
std::vector<Instruction> reduce_instructions();
std::vector<Instruction> contract_instructions();
std::vector<Instruction> index_instructions();
std::vector<Instruction> sequence_instructions();

/// KILN_RUN(sum(x, s.dims, s.flag)): the members `run` and `code` of an instruction.
#define KILN_RUN(...)                                                                                \
  .run = [](const Operands& in, [[maybe_unused]] const Attributes& s) -> Value {                     \
    [[maybe_unused]] const Value &x = in[0], &y = in[in.size() > 1], &z = in[in.size() > 2 ? 2 : 0]; \
    return __VA_ARGS__;                                                                              \
  },                                                                                                 \
  .code = #__VA_ARGS__

struct Line {
  const Instruction* instruction = nullptr;  // null: the numbers of `leaf`
  std::vector<int> in{};
  Attributes attributes{};
  Grid leaf{};  // with the direction of the derivative
};
using Program = std::vector<Line>;

/// What `propose` sees: the lines so far, and a source of choices.
class Draft {
 public:
  Draft(Program& program, std::vector<Grid>& grids, Random& random)
      : program_(program), grids_(grids), random_(random) {}

  std::int64_t below(std::int64_t limit) { return random_.below(limit); }
  bool coin() { return below(2) == 0; }
  const Grid& grid(int operand) const {
    return grids_[static_cast<std::size_t>(in[static_cast<std::size_t>(operand)])];
  }
  /// Makes some line of that type (and rank) the next operand; later lines are likelier. False where there is none.
  bool take(Type type, int least_rank = 0, int most_rank = 5);
  bool take_where(const std::function<bool(const Grid&)>& suits);
  /// Makes a new leaf the next operand.
  void make(const Shape& shape, double low = -2, double high = 2);
  void make_index(const Shape& shape, std::int64_t limit);
  /// Takes or makes an operand that broadcasts with operand 0.
  void take_broadcasting();
  int some_dim() { return static_cast<int>(below(grid(0).rank())); }
  /// Distinct dimensions of operand 0 in any order, at least one.
  Dims some_dims();
  std::int64_t size(int dim) const { return grid(0).shape[dim]; }

  std::vector<int> in;
  Attributes s;

 private:
  Program& program_;
  std::vector<Grid>& grids_;
  Random& random_;
};

/// 5 to 40 instructions; every number is moderate, every decision clear.
Program generate(std::uint64_t seed);
/// The value of each line.
std::vector<Grid> interpret(const Program& program, Margin* margin = nullptr);
/// What is wrong with Kiln's values and gradients on that device; nothing if they agree. `reading` 0: each line is read at
/// once; otherwise it says which are, which at the end, and which never.
std::optional<std::string> check(const Program& program, const Device& device, std::uint64_t reading = 0);
/// The smallest program found by leaving out lines and replacing lines by their numbers that is still wrong.
Program minimise(Program program, const Device& device, std::uint64_t reading = 0);
/// A C++ program that computes the last line and its gradients, and prints what is expected.
std::string snippet(const Program& program);

}  // namespace kiln::programs
