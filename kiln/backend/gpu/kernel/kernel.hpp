// Kernel: a program for a GPU, as data. A Builder (builder.hpp) makes one; print/ writes it in a device's language,
// and interpret.hpp runs it on the host, so that its meaning can be tested without a GPU.
#pragma once
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "kiln/core/dtype.hpp"
#include "kiln/ops/expression/tree.hpp"

namespace kiln::gpu {

/// A value of a kernel, by number. Its type is one in which elements are computed (expr::computed_in): float64,
/// float32, integers of 64 and 32 bits; or Bool.
using Id = std::uint32_t;

enum class Arithmetic : std::uint8_t {
  Negate,
  Not,  // logical for a Bool, otherwise bitwise
  Add,
  Subtract,
  Multiply,
  Divide,     // integers: truncated; by 0, devices give what they like, and interpreter and pairs of words give 0
  Remainder,  // integers only, with the sign of the dividend
  Minimum,    // on integers, or on floats, where a NaN may get lost
  Maximum,
  And,  // bitwise, or logical for Bools
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

/// Atomic updates of an element of memory.
enum class Update : std::uint8_t { Add, Maximum, Minimum, And, Or, Exchange, CompareAndSwap };

/// What a value is.
struct Instruction {
  enum class Kind : std::uint8_t {
    Literal,      // `bits`
    Number,       // parameter `place`
    Thread,       // index in the block
    Block,        // index in the grid
    Blocks,       // size of the grid
    Compute,      // `arithmetic`
    Select,       // operand 0 ? operand 1 : operand 2
    MultiplyAdd,  // operand 0 * operand 1 + operand 2 of floats, rounded once or twice, as is quicker for the device
    Tree,         // `tree` with numbers of type `element`; its variables are the operands
    Call,         // `function` with numbers of type `element`; may have several results
    Cast,         // from one numeric type to another, as C++ does
    Bits,         // reinterprets the bits as another type of the same size
    Convert,      // an element of `element` to one of `to`, by the rules of kiln/core/convert.hpp
    Narrow,       // rounds or truncates to what an element of `element` can hold
    Entry,        // number operand 0 of the table that is parameter `place`
    Load,         // `width` elements of buffer `place` from operand 0 on, which is a multiple of `width`
    Shared,       // `width` elements of shared array `place`, in the same way
    Local,        // an element of local array `place`
    SharedPair,  // elements operand 0 and the next of shared array `place`, of 16 bits each, as one word; operand 0 is even
    SharedSame,  // element operand 0 of shared array `place`, the same one for all threads, between two barriers
    Fragments,   // product of matrices distributed over a warp, of halves `element`: Builder::multiply_fragments
    Shuffle,     // operand 0 of the lane `operand 1` of this thread's warp
    Update,  // updates an element of buffer `place`; gives its old value. Operands: index, value (swap: new, expected)
    UpdateShared,
  };
  Kind kind = Kind::Literal;
  DType type = DType::I32;  // type of the result
  Arithmetic arithmetic{};
  Update update{};
  DType element{}, to{};
  std::uint16_t place = 0, width = 1;
  const expr::Tree* tree = nullptr;
  const expr::Function* function = nullptr;
  std::uint64_t bits = 0;
  std::vector<Id> operands{};

  /// Is the result the same wherever it is computed? Then two equal instructions are merged.
  bool is_pure() const { return kind <= Kind::Entry; }
  friend bool operator==(const Instruction&, const Instruction&) = default;
};

struct Statement;
using Statements = std::vector<Statement>;

struct Statement {
  enum class Kind : std::uint8_t {
    Let,          // `instruction` defines values `first`, `first` + 1, ...
    Store,        // the other operands to buffer `place` at index operand 0, a multiple of their number
    StoreShared,  // to shared array `place`, in the same way
    StoreLocal,
    Choose,   // buffer `place` is from here on entry operand 0 of its table; the same for all threads of the block
    If,       // if operand 0
    Loop,     // value `first` goes from operand 0 to before operand 1 in steps of operand 2, which is positive
    While,    // `head` computes operand 0; while it holds, `body` runs
    Barrier,  // no thread of the block continues before all get here; each then sees what the others stored
    Fence,    // others see this thread's earlier stores to buffers before its later ones
    Arrive,   // a Barrier, after which the block counts as arrived at cell operand 0 of buffer `place`
    Await,    // a Barrier that continues once operand 1 blocks have arrived at that cell
    // Steps on matrices that warps hold (Kernel::Matrix):
    MatrixClear,     // matrix `place` becomes 0
    MatrixLoad,      // matrix `place` from shared array `from`, at operand 0 and with lines operand 1 apart
    MatrixMultiply,  // matrix `place` += matrix `from` * matrix `by`
    MatrixScale,     // each element of matrix `place`, of sums, times that of matrix `from`
    MatrixStore,     // matrix `from` to shared array `place`, at operand 0 and with rows operand 1 apart
  };
  Kind kind = Kind::Let;
  Id first = 0;
  std::uint16_t place = 0, from = 0, by = 0;
  bool unrolled = false;    // a Loop whose bounds are literals is written out
  bool transposed = false;  // a MatrixLoad whose lines are columns
  Instruction instruction{};
  std::vector<Id> operands{};
  Statements head{}, body{}, otherwise{};
};

struct Parameter {
  enum class Kind : std::uint8_t { Number, Input, Output, Both } kind;
  DType dtype;                // elements of a buffer, or the type that a number is passed in
  std::uint16_t count = 0;    // for a table: its number of entries, one of which is selected at run time
  std::uint16_t uniform = 0;  // for an Input of uint32 that is the same for all threads and passed by value: its words
  std::size_t words() const { return std::max<std::size_t>(count, 1); }  // arguments
};

/// The source of an argument of a lowered kernel (lower/lower.hpp).
struct Origin {
  enum class Kind : std::uint8_t {
    Argument,  // argument `of` of the kernel that was lowered
    Base,      // the aligned address before the one in argument `of`, which the device can bind
    Offset,    // how many elements of `size` bytes the address in argument `of` lies behind its Base; an int32
    Blocks,    // the number of blocks of the launch
    Uniform,   // the words that Kernel::uniform describes
  };
  Kind kind = Kind::Argument;
  std::uint16_t of = 0;
  std::uint16_t size = 1;   // bytes of an element
  std::uint16_t words = 2;  // of 4 bytes, the lower one first, that it takes in a uniform block
  std::uint16_t group = 0;  // of Bases and Offsets: those of one number, but 0, share the first Base among them
  friend bool operator==(const Origin&, const Origin&) = default;
};

struct Kernel {
  struct Array {
    DType dtype;  // shared memory: elements as they are stored; locals: the type of a value
    std::int64_t count;
  };
  std::string name;
  int threads = 256;      // per block
  int least_blocks = 0;   // blocks that should be resident on a multiprocessor; 0: no constraint
  bool together = false;  // blocks wait for each other: a launch has at most Capabilities::together blocks
  std::vector<Parameter> parameters{};
  // The tables from which buffers are selected; such buffers are numbered from kChosen.
  std::vector<std::uint16_t> chosen{};
  std::vector<Array> shared{}, locals{};
  /// A matrix that the threads of each warp hold together, in a way that is the device's own: a factor of halves, or
  /// sums in float32.
  struct Matrix {
    enum class Use : std::uint8_t { Left, Right, Sums } use;
    std::uint16_t rows, columns;
    DType dtype;
  };
  std::vector<Matrix> matrices{};
  std::vector<DType> values{};  // types, by Id
  Statements body{};
  // The sources of a lowered kernel's arguments, if they are others than before; and what its uniform block holds.
  std::vector<Origin> origins{}, uniform{};

  static constexpr std::uint16_t kChosen = 0x8000;
  /// The parameter that declares the buffer at `place`.
  const Parameter& parameter(std::uint16_t place) const {
    return parameters[place & kChosen ? chosen[place - kChosen] : place];
  }
  /// The places at which shared arrays begin in the memory of a block, aligned to 16 bytes, followed by the total.
  std::vector<std::int64_t> shared_offsets() const {
    std::vector<std::int64_t> offsets;
    std::int64_t at = 0;
    for (const Array& array : shared) {
      at = (at + 15) / 16 * 16;
      offsets.push_back(at);
      at += array.count * static_cast<std::int64_t>(size_of(array.dtype));
    }
    offsets.push_back(at);
    return offsets;
  }
  /// The bytes of the numbers that a launch passes by themselves, 8 each.
  std::int64_t number_bytes() const {
    std::int64_t bytes = 0;
    for (const Parameter& each : parameters)
      if (each.kind == Parameter::Kind::Number) bytes += static_cast<std::int64_t>(each.words()) * 8;
    return bytes;
  }
  /// The offset of each parameter's first argument, followed by the total.
  std::vector<std::size_t> words() const {
    std::vector<std::size_t> all{0};
    for (const Parameter& each : parameters) all.push_back(all.back() + each.words());
    return all;
  }
};

/// The size of a warp, the threads among which Shuffle passes values: the same on every supported device.
inline constexpr int kLanes = 32;

}  // namespace kiln::gpu
