// Accesses of several elements as several accesses.
#include "kiln/backend/gpu/kernel/lower/rewrite.hpp"
#include "kiln/backend/gpu/kernel/lower/rules.hpp"

namespace kiln::gpu::lower {
namespace {

using Kind = Instruction::Kind;

class Widths final : public Rewrite {
 public:
  Widths(const Kernel& from, int widest) : Rewrite(from), widest_(static_cast<std::size_t>(widest)) {}

 private:
  std::size_t at_once(DType dtype) const { return std::max<std::size_t>(widest_ / size_of(dtype), 1); }

  template <class Memory>
  std::vector<Exprs> loaded(const Memory& memory, const Instruction& in) {
    std::vector<Exprs> made;
    const std::size_t step = at_once(memory.dtype());
    for (std::size_t i = 0; i < in.width; i += step)
      for (const Expr& each : memory.load(at(in.operands[0]) + static_cast<int>(i), static_cast<int>(step)))
        made.push_back({each});
    return made;
  }
  template <class Memory>
  void store(const Memory& memory, const std::vector<Id>& operands) {
    Exprs all;
    for (std::size_t i = 1; i < operands.size(); ++i) all.push_back(at(operands[i]));
    const std::size_t step = at_once(memory.dtype());
    for (std::size_t i = 0; i < all.size(); i += step)
      memory.store(at(operands[0]) + static_cast<int>(i), std::span(all).subspan(i, step));
  }

  std::vector<Exprs> values(const Instruction& in) override {
    if (in.kind == Kind::Load && in.width > at_once(from_.parameter(in.place).dtype))
      return loaded(buffer(in.place), in);
    if (in.kind == Kind::Shared && in.width > at_once(from_.shared[in.place].dtype))
      return loaded(shared(in.place), in);
    return copied(in);
  }

  void statement(const Statement& statement) override {
    using enum Statement::Kind;
    const std::size_t width = statement.operands.size() - 1;
    if (statement.kind == Store && width > at_once(from_.parameter(statement.place).dtype))
      return store(buffer(statement.place), statement.operands);
    if (statement.kind == StoreShared && width > at_once(from_.shared[statement.place].dtype))
      return store(shared(statement.place), statement.operands);
    copy(statement);
  }

  const std::size_t widest_;
};

}  // namespace

Kernel with_narrow_accesses(const Kernel& kernel, int widest) { return Widths(kernel, widest).run(); }

}  // namespace kiln::gpu::lower
