// Builder: a kernel is written as a C++ function over traced values. The C++ code runs once and leaves a Kernel behind;
// what C++ decides while it runs (types, widths, loops by `for`) is fixed in the kernel, and control flow of the kernel
// itself is written by calls that take lambdas.
//
//   Kernel scale(DType type) {
//     Builder k("scale", 256);
//     const Buffer x = k.input(type), y = k.output(type);
//     const Expr count = k.number(DType::I64), factor = k.number(DType::F32);
//     const Expr i = k.block() .as(DType::I64) * 256 + k.thread();
//     k.when(i < count, [&] { y.store(i, x[i] * factor); });
//     return k.finish();
//   }
#pragma once
#include <concepts>
#include <span>

#include "kiln/backend/gpu/capabilities.hpp"
#include "kiln/backend/gpu/kernel/fold.hpp"
#include "kiln/backend/gpu/kernel/kernel.hpp"
#include "kiln/core/function_ref.hpp"

namespace kiln::gpu {

class Builder;
namespace lower {
class Rewrite;
}

/// A value of the kernel that is being built. Binary operators take two of one type; a plain number is converted to
/// that type.
class Expr {
 public:
  Expr() = default;
  Expr(Builder* builder, Id id, DType type) : builder_(builder), id_(id), type_(type) {}
  DType type() const { return type_; }
  Id id() const { return id_; }
  Builder& builder() const { return *builder_; }
  explicit operator bool() const { return builder_ != nullptr; }
  /// Converts as C++ casts numbers; a Bool becomes 0 or 1.
  Expr as(DType type) const;
  /// Reinterprets the bits as a value of another type of the same size.
  Expr bits_as(DType type) const;

 private:
  Builder* builder_ = nullptr;
  Id id_ = 0;
  DType type_ = DType::I32;
};

template <class T>
concept PlainNumber = std::is_arithmetic_v<T>;

Expr compute(Arithmetic op, const Expr& x);
Expr compute(Arithmetic op, const Expr& x, const Expr& y);
Expr literal_like(const Expr& x, double number);
Expr literal_like(const Expr& x, std::int64_t number);
template <PlainNumber T>
Expr like(const Expr& x, T number) {
  if constexpr (std::is_floating_point_v<T>) return literal_like(x, static_cast<double>(number));
  else return literal_like(x, static_cast<std::int64_t>(number));
}

#define KILN_GPU_OPERATOR(symbol, op)                                                                                  \
  inline Expr operator symbol(const Expr& x, const Expr& y) { return compute(Arithmetic::op, x, y); }                  \
  template <PlainNumber T> Expr operator symbol(const Expr& x, T y) { return compute(Arithmetic::op, x, like(x, y)); } \
  template <PlainNumber T> Expr operator symbol(T x, const Expr& y) { return compute(Arithmetic::op, like(y, x), y); }
KILN_GPU_OPERATOR(+, Add)
KILN_GPU_OPERATOR(-, Subtract)
KILN_GPU_OPERATOR(*, Multiply)
KILN_GPU_OPERATOR(/, Divide)
KILN_GPU_OPERATOR(%, Remainder)
KILN_GPU_OPERATOR(&, And)
KILN_GPU_OPERATOR(|, Or)
KILN_GPU_OPERATOR(^, Xor)
KILN_GPU_OPERATOR(<<, ShiftLeft)
KILN_GPU_OPERATOR(>>, ShiftRight)
KILN_GPU_OPERATOR(<, Less)
KILN_GPU_OPERATOR(<=, LessEqual)
KILN_GPU_OPERATOR(==, Equal)
KILN_GPU_OPERATOR(!=, NotEqual)
#undef KILN_GPU_OPERATOR
inline Expr operator>(const Expr& x, const Expr& y) { return y < x; }
inline Expr operator>=(const Expr& x, const Expr& y) { return y <= x; }
template <PlainNumber T> Expr operator>(const Expr& x, T y) { return like(x, y) < x; }
template <PlainNumber T> Expr operator>=(const Expr& x, T y) { return like(x, y) <= x; }
inline Expr operator-(const Expr& x) { return compute(Arithmetic::Negate, x); }
/// Logical not of a Bool, or bitwise not.
inline Expr operator!(const Expr& x) { return compute(Arithmetic::Not, x); }
inline Expr min(const Expr& x, const Expr& y) { return compute(Arithmetic::Minimum, x, y); }
inline Expr max(const Expr& x, const Expr& y) { return compute(Arithmetic::Maximum, x, y); }
Expr select(const Expr& condition, const Expr& yes, const Expr& no);
/// x * y + z; the product of floats may be rounded or not.
Expr multiply_add(const Expr& x, const Expr& y, const Expr& z);

/// A buffer of device memory that is a parameter of the kernel. Elements are loaded and stored as the type in which
/// they are computed (halves as float32, short integers and booleans as int32), and are rounded or truncated on a
/// store.
class Buffer {
 public:
  Buffer() = default;
  Buffer(Builder* builder, std::uint16_t place, DType dtype) : builder_(builder), place_(place), dtype_(dtype) {}
  DType dtype() const { return dtype_; }
  std::uint16_t place() const { return place_; }
  Expr operator[](const Expr& i) const;
  /// Elements i to i + width, with i a multiple of width and width * size_of(dtype) at most 16.
  std::vector<Expr> load(const Expr& i, int width) const;
  void store(const Expr& i, const Expr& value) const;
  void store(const Expr& i, std::span<const Expr> values) const;
  /// Atomically updates an element of 4 or 8 bytes; returns its old value.
  Expr update(Update update, const Expr& i, const Expr& value) const;
  /// Stores `value` if the element equals `expected`; returns its old value.
  Expr compare_and_swap(const Expr& i, const Expr& expected, const Expr& value) const;

 private:
  Builder* builder_ = nullptr;
  std::uint16_t place_ = 0;
  DType dtype_{};
};

/// Buffers of one kind, one of which a block selects: `which` is the same for all threads of the block.
class Table {
 public:
  Table(Builder* builder, std::uint16_t place, DType dtype) : builder_(builder), place_(place), dtype_(dtype) {}
  Buffer operator[](const Expr& which) const;

 private:
  Builder* builder_;
  std::uint16_t place_;
  DType dtype_;
};

/// A table of int64 numbers; each thread may select a different one.
class Numbers {
 public:
  Numbers(Builder* builder, std::uint16_t place) : builder_(builder), place_(place) {}
  Expr operator[](const Expr& which) const;

 private:
  Builder* builder_;
  std::uint16_t place_;
};

/// An array in a block's shared memory. Its contents are undefined until they are stored; a barrier must separate a
/// store from a use by another thread.
class Shared {
 public:
  Shared(Builder* builder, std::uint16_t place, DType dtype) : builder_(builder), place_(place), dtype_(dtype) {}
  DType dtype() const { return dtype_; }
  std::uint16_t place() const { return place_; }
  Expr operator[](const Expr& i) const;
  /// Elements i to i + width, with i a multiple of width, a power of two, of 16 bytes at most.
  std::vector<Expr> load(const Expr& i, int width) const;
  void store(const Expr& i, const Expr& value) const;
  /// Elements i to i + count, with i a multiple of count, which is a power of two; 16 bytes at most.
  void store(const Expr& i, std::span<const Expr> values) const;
  Expr update(Update update, const Expr& i, const Expr& value) const;
  Expr compare_and_swap(const Expr& i, const Expr& expected, const Expr& value) const;
  /// The bits of elements i and i + 1, of 16 bits each, as a uint32; i is even.
  Expr pair(const Expr& i) const;
  /// Element i, which is the same for all threads, after one barrier and before another: where a device must see that
  /// all threads take the same way (Capabilities::proves_barriers), this is a value that it knows to be the same.
  Expr same(const Expr& i) const;

 private:
  Builder* builder_;
  std::uint16_t place_;
  DType dtype_;
};

/// A variable of a thread, or an array, which stays in registers if every index is known at build time (literals, and
/// counters of unrolled loops).
class Local {
 public:
  Local(Builder* builder, std::uint16_t place, DType type) : builder_(builder), place_(place), type_(type) {}
  DType type() const { return type_; }
  /// Its current value.
  Expr get() const;
  operator Expr() const { return get(); }
  void set(const Expr& value) const;
  Expr operator[](const Expr& i) const;
  Expr operator[](int i) const;
  void set(const Expr& i, const Expr& value) const;
  void set(int i, const Expr& value) const;

 private:
  Builder* builder_;
  std::uint16_t place_;
  DType type_;
};

/// A matrix that the threads of each warp hold together, where the device has such (Capabilities::matrices): which
/// thread holds which element is its own affair. All threads of a warp must get to each call, with the same places.
class Matrix {
 public:
  using Use = Kernel::Matrix::Use;
  Matrix(Builder* builder, std::uint16_t place) : builder_(builder), place_(place) {}
  void clear() const;
  /// Takes its elements from shared memory: element [row, column] from place at + row * stride + column, or, transposed,
  /// at + row + column * stride. An array of uint32 holds two halves in each element; places are counted in elements of
  /// the array, and both are multiples of 16 bytes.
  void load(const Shared& from, const Expr& at, int stride, bool transposed) const;
  /// Adds left * right to a matrix of sums.
  void add_product(const Matrix& left, const Matrix& right) const;
  /// Multiplies each element of a matrix of sums by that of another one at the same row and column.
  void scale(const Matrix& factors) const;
  /// Stores element [row, column] of a matrix of sums at at + row * stride + column of an array of float32.
  void store(const Shared& to, const Expr& at, int stride) const;

 private:
  const Kernel::Matrix& shape() const;
  Builder* builder_;
  std::uint16_t place_;
};

class Builder {
 public:
  using Body = FunctionRef<void()>;
  using LoopBody = FunctionRef<void(const Expr& i)>;

  /// Blocks have `threads` threads, a multiple of kLanes.
  explicit Builder(std::string_view name, int threads = 256);
  Builder(const Builder&) = delete;
  Builder& operator=(const Builder&) = delete;

  // ---- parameters, in the order in which a launch passes them ----
  Buffer input(DType dtype);
  Buffer output(DType dtype);
  Buffer both(DType dtype);  // read and written
  Expr number(DType type);
  /// `count` parameters that the kernel indexes at run time.
  Table inputs(DType dtype, int count);
  Table outputs(DType dtype, int count);
  Numbers numbers(int count);

  // ---- where a thread is: int32 ----
  Expr thread();
  Expr block();
  Expr blocks();
  /// The thread's index in the grid.
  Expr place(DType type) { return block().as(type) * threads() + thread().as(type); }
  int threads() const { return kernel_.threads; }
  /// The thread's lane in its warp, and the index of the warp in the block.
  Expr lane() { return thread() % kLanes; }
  Expr warp() { return thread() / kLanes; }

  // ---- values ----
  Expr literal(DType type, double number);
  Expr literal(DType type, std::int64_t number);
  Expr literal(DType type, int number) { return literal(type, static_cast<std::int64_t>(number)); }
  Expr boolean(bool value);
  /// An expression of kiln/ops/expression with numbers of `dtype` (in the type in which that is computed); `operands`
  /// are its variables in order, words as uint32. The result is not rounded to `dtype`; a store does that.
  Expr tree(const expr::Tree& tree, DType dtype, std::span<const Expr> operands);
  /// A function of the expression library by name, with one result; call_all() for several.
  Expr call(std::string_view function, DType dtype, std::initializer_list<Expr> operands);
  std::vector<Expr> call_all(std::string_view function, DType dtype, std::initializer_list<Expr> operands);
  /// Converts an element of one type to another by the rules of kiln/core/convert.hpp.
  Expr convert(const Expr& x, DType from, DType to);
  /// Rounds to what an element of `dtype` can hold.
  Expr narrow(const Expr& x, DType dtype);

  // ---- memory ----
  Shared shared(DType dtype, std::int64_t count);
  Local local(DType type, std::int64_t count = 1);
  /// A variable that is initialized with `first`.
  Local variable(const Expr& first);

  // ---- flow ----
  void when(const Expr& condition, Body then);
  void when(const Expr& condition, Body then, Body otherwise);
  /// for (i = begin; i < end; i += step), in the type of `begin`; step > 0.
  void loop(const Expr& begin, const Expr& end, const Expr& step, LoopBody body);
  /// for (i = 0; i < count; ++i), int32, unrolled: i may index a Local.
  void unrolled(int count, LoopBody body);
  /// Evaluates `head` before each iteration, and stops when it is false.
  void loop_while(FunctionRef<Expr()> head, Body body);
  /// All threads of the block must get here, or none: not under a condition that differs between them.
  void barrier();
  void fence();
  /// A barrier across several blocks in two halves: each block arrives at the same cell, an int32 that is initially 0,
  /// and continues once `count` blocks have arrived in total. After that, all that they stored to buffers before they
  /// arrived is visible; work that a block does between the two halves overlaps with the wait. Such a kernel is
  /// launched with at most Capabilities::together blocks.
  void arrive(const Buffer& cells, const Expr& which);
  void await(const Buffer& cells, const Expr& which, const Expr& count);
  void meet(const Buffer& cells, const Expr& which, const Expr& count) {
    arrive(cells, which);
    await(cells, which, count);
  }
  void least_blocks(int count) { kernel_.least_blocks = count; }

  // ---- among the threads of a warp, all of which must get here ----
  Expr shuffle(const Expr& x, const Expr& lane);
  Expr shuffle_xor(const Expr& x, int mask);
  /// d [16, 8] = a [16, 16] b [16, 8] + c, of halves `dtype` and with sums in float32, by tensor cores, where the
  /// device has them (Capabilities::fragments). The matrices are distributed over a warp; lane l, with g = l / 4 and t
  /// = 2 (l % 4), holds
  ///   a   the pairs at [g, t], [g + 8, t], [g, t + 8], [g + 8, t + 8], which are adjacent in a row
  ///   b   the pairs at [t, g] and [t + 8, g], which are adjacent in a column
  ///   c   [g, t], [g, t + 1], [g + 8, t], [g + 8, t + 1], and d in the same way
  /// (NVIDIA, "Parallel Thread Execution ISA", mma.m16n8k16).
  std::vector<Expr> multiply_fragments(DType dtype, std::span<const Expr> a, std::span<const Expr> b,
                                       std::span<const Expr> c);

  /// A matrix of the size that `fragment` has for that use; what it holds is undefined until it is set.
  Matrix matrix(Matrix::Use use, const Fragment& fragment);

  /// Returns the kernel, without values that nothing reads. The builder cannot be used afterwards.
  Kernel finish();

 private:
  friend class lower::Rewrite;
  friend class Buffer;
  friend class Table;
  friend class Numbers;
  friend class Shared;
  friend class Local;
  friend class Matrix;
  friend class Expr;
  friend Expr compute(Arithmetic, const Expr&);
  friend Expr compute(Arithmetic, const Expr&, const Expr&);
  friend Expr select(const Expr&, const Expr&, const Expr&);
  friend Expr multiply_add(const Expr&, const Expr&, const Expr&);

  std::uint16_t take(Parameter::Kind kind, DType dtype, int count = 0);
  Expr let(Instruction instruction);
  std::vector<Expr> let_all(Instruction instruction, int results);
  void append(Statement statement);
  Statements scoped(Body body);

  Kernel kernel_;
  std::vector<Statements*> open_;                               // the lists that statements go to, innermost last
  std::vector<std::vector<std::pair<Instruction, Id>>> known_;  // pure instructions, by scope
  Literals literals_;
};

using Combine = FunctionRef<Expr(const Expr&, const Expr&)>;
/// Combines x of all lanes of a warp in pairs, in any order; every lane gets the result.
Expr fold_warp(Builder& k, const Expr& x, Combine combine);
/// Combines x of all threads of the block; every thread gets the result.
Expr fold_block(Builder& k, const Expr& x, Combine combine);

}  // namespace kiln::gpu
