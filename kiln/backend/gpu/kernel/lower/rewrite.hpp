// Rewrite: makes a kernel from another one, statement by statement. A rule derives from it and says what becomes of the
// instructions and statements that it is about; all others are copied. The new instructions go through a Builder, so
// that they are typed, simplified and merged like those of any kernel.
#pragma once
#include "kiln/backend/gpu/kernel/builder.hpp"

namespace kiln::gpu::lower {

using Exprs = std::vector<Expr>;

/// Is it an integer of 64 bits?
inline bool is_wide(DType dtype) { return dtype == DType::I64 || dtype == DType::U64; }

class Rewrite {
 public:
  virtual ~Rewrite() = default;
  /// Called once.
  Kernel run();

 protected:
  explicit Rewrite(const Kernel& from);

  /// Declares parameters and arrays: by default the same. The parameter at place p of the old kernel is at places_[p].
  virtual void declare();
  /// What runs before and after the old statements.
  virtual void body() { statements(from_.body); }
  /// The values, each of one or more parts, that an instruction's results become.
  virtual std::vector<Exprs> values(const Instruction& in) { return copied(in); }
  /// Rewrites a statement other than Let.
  virtual void statement(const Statement& statement) { copy(statement); }

  /// An operand that decides about an If, a Loop or a While: `id`.
  virtual Expr decider(const Statement& /*statement*/, Id id) { return at(id); }

  void statements(const Statements& list);
  std::vector<Exprs> copied(const Instruction& in);
  /// Appends an instruction whose operands are new values.
  Exprs let(Instruction in, int results) { return k_.let_all(std::move(in), results); }
  void copy(const Statement& statement);

  DType type_of(Id id) const { return from_.values[id]; }
  /// The new value of an old one that has a single part.
  const Expr& at(Id id) const;
  const Exprs& parts(Id id) const;
  std::uint16_t place(std::uint16_t old) const { return old & Kernel::kChosen ? old : places_[old]; }
  Buffer buffer(std::uint16_t old);
  Shared shared(std::uint16_t place) { return {&k_, place, kernel().shared[place].dtype}; }
  Local local(std::uint16_t place) { return {&k_, place, kernel().locals[place].dtype}; }
  Kernel& kernel() { return k_.kernel_; }
  std::uint16_t add(const Parameter& parameter);
  /// Declares one more number, whose argument comes from there.
  Expr number(DType type, Origin origin);
  const std::vector<Origin>& origins() const { return origins_; }
  /// Is the result of an instruction read? `first` defines it.
  bool is_read(Id id) const { return read_[id]; }
  template <class... Parts>
  [[noreturn]] void refuse(const Parts&... parts) const;

  const Kernel& from_;
  Builder k_;
  std::vector<std::uint16_t> places_{};
  std::vector<Exprs> known_;  // the new values, by old Id
  Id defining_ = 0;           // the first result of the instruction that is being rewritten

 private:
  void note_reads(const Statements& list);
  std::vector<Origin> origins_;  // by argument of the old kernel
  std::vector<bool> read_;       // by old Id
};

}  // namespace kiln::gpu::lower

#include "kiln/core/error/error.hpp"

namespace kiln::gpu::lower {

template <class... Parts>
[[noreturn]] void Rewrite::refuse(const Parts&... parts) const {
  fail<DeviceError>("kernel ", from_.name, ": ", parts...);
}

}  // namespace kiln::gpu::lower
