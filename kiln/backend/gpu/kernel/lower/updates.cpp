// Atomic updates of float32 by exchanges of words.
#include "kiln/backend/gpu/kernel/lower/rewrite.hpp"
#include "kiln/backend/gpu/kernel/lower/rules.hpp"

namespace kiln::gpu::lower {
namespace {

using Kind = Instruction::Kind;

/// The buffers and shared arrays of float32 that are updated atomically, by place.
struct Updated {
  std::vector<bool> buffers, shared;
  explicit Updated(const Kernel& kernel) : buffers(kernel.parameters.size()), shared(kernel.shared.size()) {
    note(kernel, kernel.body);
  }

 private:
  void note(const Kernel& kernel, const Statements& list) {
    for (const Statement& each : list) {
      const Instruction& in = each.instruction;
      const bool is_let = each.kind == Statement::Kind::Let && in.type == DType::F32;
      if (is_let && in.kind == Kind::Update) buffers[buffer(kernel, in.place)] = true;
      if (is_let && in.kind == Kind::UpdateShared) shared[in.place] = true;
      for (const Statements* const part : {&each.head, &each.body, &each.otherwise}) note(kernel, *part);
    }
  }

 public:
  static std::size_t buffer(const Kernel& kernel, std::uint16_t place) {
    return place & Kernel::kChosen ? kernel.chosen[place - Kernel::kChosen] : place;
  }
};

class Updates final : public Rewrite {
 public:
  Updates(const Kernel& from, bool buffers, bool shared) : Rewrite(from), updated_(from) {
    if (!buffers) updated_.buffers.assign(updated_.buffers.size(), false);
    if (!shared) updated_.shared.assign(updated_.shared.size(), false);
  }

 private:
  void declare() override {
    Rewrite::declare();
    for (std::size_t i = 0; i < updated_.buffers.size(); ++i)
      if (updated_.buffers[i]) kernel().parameters[i].dtype = DType::U32;
    for (std::size_t i = 0; i < updated_.shared.size(); ++i)
      if (updated_.shared[i]) kernel().shared[i].dtype = DType::U32;
  }
  bool is_word(std::uint16_t place) const { return updated_.buffers[Updated::buffer(from_, place)]; }

  std::vector<Exprs> values(const Instruction& in) override {
    const bool of_buffer = in.kind == Kind::Load || in.kind == Kind::Update,
               of_shared = in.kind == Kind::Shared || in.kind == Kind::UpdateShared || in.kind == Kind::SharedSame;
    if (!(of_buffer && is_word(in.place)) && !(of_shared && updated_.shared[in.place])) return copied(in);
    const Expr& i = at(in.operands[0]);
    std::vector<Exprs> made;
    switch (in.kind) {
      case Kind::Load:
        for (const Expr& each : buffer(in.place).load(i, in.width)) made.push_back({each.bits_as(DType::F32)});
        return made;
      case Kind::Shared:
        for (const Expr& each : shared(in.place).load(i, in.width)) made.push_back({each.bits_as(DType::F32)});
        return made;
      case Kind::SharedSame: return {{shared(in.place).same(i).bits_as(DType::F32)}};
      case Kind::Update: return {{update(buffer(in.place), in)}};
      default: return {{update(shared(in.place), in)}};
    }
  }

  /// A sum is computed from what is there, and computed again where others have changed that meanwhile.
  template <class Memory>
  Expr update(const Memory& memory, const Instruction& in) {
    const Expr &i = at(in.operands[0]), &value = at(in.operands[1]);
    if (in.update == Update::Exchange)
      return memory.update(Update::Exchange, i, value.bits_as(DType::U32)).bits_as(DType::F32);
    if (in.update == Update::CompareAndSwap)
      return memory.compare_and_swap(i, at(in.operands[2]).bits_as(DType::U32), value.bits_as(DType::U32))
          .bits_as(DType::F32);
    const Local old = k_.variable(memory.update(Update::Or, i, k_.literal(DType::U32, 0))),
                done = k_.variable(k_.boolean(false));
    k_.loop_while([&] { return !done.get(); },
                  [&] {
                    const Expr seen = old.get(), sum = seen.bits_as(DType::F32) + value;
                    const Expr found = memory.compare_and_swap(i, seen, sum.bits_as(DType::U32));
                    done.set(found == seen);
                    old.set(found);
                  });
    return old.get().bits_as(DType::F32);
  }

  void statement(const Statement& statement) override {
    using enum Statement::Kind;
    const bool of_buffer = statement.kind == Store && is_word(statement.place),
               of_shared = statement.kind == StoreShared && updated_.shared[statement.place];
    if (!of_buffer && !of_shared) return copy(statement);
    Exprs all;
    for (std::size_t i = 1; i < statement.operands.size(); ++i)
      all.push_back(at(statement.operands[i]).bits_as(DType::U32));
    const Expr& i = at(statement.operands[0]);
    if (of_buffer) buffer(statement.place).store(i, all);
    else shared(statement.place).store(i, all);
  }

  Updated updated_;
};

}  // namespace

Kernel with_updated_words(const Kernel& kernel, bool buffers, bool shared) {
  return Updates(kernel, buffers, shared).run();
}

}  // namespace kiln::gpu::lower
