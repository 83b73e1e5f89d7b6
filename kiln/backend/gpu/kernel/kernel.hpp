// Kernel: what a GPU runs, as data. A Builder (builder.hpp) makes one; print.hpp writes it in a device's language, and
// interpret.hpp runs it on the host, so that its meaning can be tested without a GPU.
#pragma once
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "kiln/core/dtype.hpp"
#include "kiln/ops/expression/tree.hpp"

namespace kiln::gpu {

/// A value of a kernel, by number. Its type is one that elements are computed in (expr::computed_in): float64, float32,
/// integers of 64 and 32 bits; or Bool, a truth.
using Id = std::uint32_t;

enum class Arithmetic : std::uint8_t {
  Negate,
  Not,  // of a truth, or of the bits
  Add,
  Subtract,
  Multiply,
  Divide,     // of integers: truncated; by 0 the kernel is wrong
  Remainder,  // of integers, with the sign of the dividend
  Minimum,    // of integers; of floats a NaN may get lost
  Maximum,
  And,  // of the bits, or of truths
  Or,
  Xor,
  ShiftLeft,
  ShiftRight,
  Less,
  LessEqual,
  Equal,
  NotEqual,
};
constexpr bool compares(Arithmetic op) { return op >= Arithmetic::Less; }

/// What happens to an element of memory in one step, whoever else is at it.
enum class Update : std::uint8_t { Add, Maximum, Minimum, Or, Exchange, CompareAndSwap };

/// What a value is.
struct Instruction {
  enum class Kind : std::uint8_t {
    Literal,  // `bits`
    Number,   // parameter `place`
    Thread,   // of the block
    Block,    // of the grid
    Blocks,   // in the grid
    Compute,  // `arithmetic`
    Select,   // operand 0 ? operand 1 : operand 2
    Tree,     // `tree` in the type `element` of its numbers, whose variables are the operands
    Call,     // `function` likewise; may have several results
    Cast,     // of one type of number to another, as C++ does
    Bits,     // the same bits as another type of the same size
    Convert,  // an element of `element` to one of `to`, by the rules of kiln/core/convert.hpp
    Narrow,   // rounded, or cut, to an element of `element`
    Entry,    // number operand 0 of the table that is parameter `place`
    Load,     // `width` elements of buffer `place` from operand 0 on, which is a multiple of `width`
    Shared,   // `width` elements of shared array `place`, likewise
    Local,    // an element of local array `place`
    SharedPair,  // elements operand 0 and the next of shared array `place`, of 16 bits each, as one word; operand 0 is even
    Fragments,  // of matrices that a warp holds together, of halves `element`: Builder::multiply_fragments
    Shuffle,    // operand 0 as lane `operand 1` of this thread's lanes has it
    Update,  // of an element of buffer `place`: what it was. Operands: where, with what (and, of a swap, if equal to what)
    UpdateShared,
  };
  Kind kind = Kind::Literal;
  DType type = DType::I32;  // of the result
  Arithmetic arithmetic{};
  Update update{};
  DType element{}, to{};
  std::uint16_t place = 0, width = 1;
  const expr::Tree* tree = nullptr;
  const expr::Function* function = nullptr;
  std::uint64_t bits = 0;
  std::vector<Id> operands{};

  /// The same whenever it is asked for: two of these are one.
  bool is_pure() const { return kind <= Kind::Entry; }
  friend bool operator==(const Instruction&, const Instruction&) = default;
};

struct Statement;
using Statements = std::vector<Statement>;

struct Statement {
  enum class Kind : std::uint8_t {
    Let,          // `instruction` makes values `first`, `first` + 1, ...
    Store,        // to buffer `place`: operand 0 is where, a multiple of the number of the others, which are what
    StoreShared,  // likewise
    StoreLocal,
    Choose,   // `place` is number operand 0 of its table from here on; the same one for all threads of the block
    If,       // operand 0
    Loop,     // value `first` goes from operand 0 to before operand 1 in steps of operand 2, which is positive
    While,    // `head` makes operand 0; while it holds, `body`
    Barrier,  // all threads of the block get here before any goes on; it sees what they stored
    Fence,    // what this thread stored to buffers is seen by others before what it stores next
    Arrive,   // a Barrier after which the block counts as one that has come to cell operand 0 of buffer `place`
    Await,    // a Barrier that is passed once operand 1 blocks have come to that cell
  };
  Kind kind = Kind::Let;
  Id first = 0;
  std::uint16_t place = 0;
  bool unrolled = false;  // a Loop whose bounds are literals, written out
  Instruction instruction{};
  std::vector<Id> operands{};
  Statements head{}, body{}, otherwise{};
};

struct Parameter {
  enum class Kind : std::uint8_t { Number, Input, Output, Both } kind;
  DType dtype;              // elements of a buffer, or the type that a number is passed in
  std::uint16_t count = 0;  // of a table: as many of these, which are told apart when the kernel runs
  std::size_t words() const { return std::max<std::size_t>(count, 1); }  // arguments
};

struct Kernel {
  struct Array {
    DType dtype;  // of shared memory: elements as they are stored; of a thread's own: a value's type
    std::int64_t count;
  };
  std::string name;
  int threads = 256;      // to a block
  int least_blocks = 0;   // that a multiprocessor should hold at a time; 0: as it comes
  bool together = false;  // blocks wait for each other: a launch has no more than Capabilities::together
  std::vector<Parameter> parameters{};
  std::vector<std::uint16_t> chosen{};  // the tables of buffers that are chosen, whose places begin with kChosen
  std::vector<Array> shared{}, locals{};
  std::vector<DType> values{};  // types, by Id
  Statements body{};

  static constexpr std::uint16_t kChosen = 0x8000;
  /// What the buffer at `place` is given as.
  const Parameter& parameter(std::uint16_t place) const {
    return parameters[place & kChosen ? chosen[place - kChosen] : place];
  }
  /// Where each parameter's arguments begin, and last how many there are.
  std::vector<std::size_t> words() const {
    std::vector<std::size_t> all{0};
    for (const Parameter& each : parameters) all.push_back(all.back() + each.words());
    return all;
  }
};

/// Threads that run in step, among whom Shuffle passes values: of every device that we know.
inline constexpr int kLanes = 32;

}  // namespace kiln::gpu
