// Buffers as a binding and an offset in elements.
#include "kiln/backend/gpu/kernel/lower/rewrite.hpp"
#include "kiln/backend/gpu/kernel/lower/rules.hpp"

namespace kiln::gpu::lower {
namespace {

using Kind = Instruction::Kind;

class Bindings final : public Rewrite {
 public:
  explicit Bindings(const Kernel& from)
      : Rewrite(from), offsets_(from.parameters.size()), tables_(from.parameters.size()), chosen_(from.chosen.size()) {}

 private:
  void declare() override {
    Rewrite::declare();
    const std::vector<std::size_t> words = from_.words();
    for (std::size_t i = 0; i < from_.parameters.size(); ++i) {
      const Parameter& parameter = from_.parameters[i];
      if (parameter.kind == Parameter::Kind::Number || parameter.uniform) continue;
      std::vector<Origin> offsets;
      for (std::size_t at = words[i]; at < words[i + 1]; ++at) {
        offsets.push_back({.kind = Origin::Kind::Offset,
                           .of = origins()[at].of,
                           .size = static_cast<std::uint16_t>(size_of(parameter.dtype))});
        kernel().origins[at].kind = Origin::Kind::Base;
      }
      if (!parameter.count) {
        offsets_[i] = number(DType::I32, offsets[0]);
        continue;
      }
      for (const Origin& each : offsets) kernel().origins.push_back(each);
      tables_[i] = add({.kind = Parameter::Kind::Number, .dtype = DType::I64, .count = parameter.count});
    }
  }

  Expr moved(std::uint16_t place, Id index) const {
    const Expr& i = at(index);
    return i + (place & Kernel::kChosen ? chosen_[place - Kernel::kChosen] : offsets_[place]).as(i.type());
  }

  std::vector<Exprs> values(const Instruction& in) override {
    if (in.kind == Kind::Load && !from_.parameter(in.place).uniform) {
      std::vector<Exprs> made;
      for (const Expr& each : buffer(in.place).load(moved(in.place, in.operands[0]), in.width)) made.push_back({each});
      return made;
    }
    if (in.kind != Kind::Update) return copied(in);
    const Expr i = moved(in.place, in.operands[0]), value = at(in.operands[1]);
    if (in.update == Update::CompareAndSwap) return {{buffer(in.place).compare_and_swap(i, at(in.operands[2]), value)}};
    return {{buffer(in.place).update(in.update, i, value)}};
  }

  void statement(const Statement& statement) override {
    using enum Statement::Kind;
    const std::vector<Id>& in = statement.operands;
    switch (statement.kind) {
      case Store: {
        Exprs all;
        for (std::size_t i = 1; i < in.size(); ++i) all.push_back(at(in[i]));
        return buffer(statement.place).store(moved(statement.place, in[0]), all);
      }
      case Arrive: return k_.arrive(buffer(statement.place), moved(statement.place, in[0]));
      case Await: return k_.await(buffer(statement.place), moved(statement.place, in[0]), at(in[1]));
      case Choose: {
        const std::uint16_t chosen = statement.place - Kernel::kChosen, table = from_.chosen[chosen];
        copy(statement);
        chosen_[chosen] = Numbers(&k_, tables_[table])[at(in[0])];
        return;
      }
      default: return copy(statement);
    }
  }

  Exprs offsets_;                      // by place
  std::vector<std::uint16_t> tables_;  // of offsets, by the place of a table of buffers
  Exprs chosen_;                       // the offsets of the buffers that are chosen
};

}  // namespace

Kernel with_offsets(const Kernel& kernel) { return Bindings(kernel).run(); }

}  // namespace kiln::gpu::lower
