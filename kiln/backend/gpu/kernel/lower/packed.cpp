// Elements of 1 and 2 bytes as parts of words.
#include <bit>

#include "kiln/backend/gpu/kernel/lower/element.hpp"
#include "kiln/backend/gpu/kernel/lower/rewrite.hpp"
#include "kiln/backend/gpu/kernel/lower/rules.hpp"

namespace kiln::gpu::lower {
namespace {

using Kind = Instruction::Kind;

class Packed final : public Rewrite {
 public:
  Packed(const Kernel& from, Types types) : Rewrite(from), types_(types) {}

 private:
  void declare() override {
    Rewrite::declare();
    for (Parameter& parameter : kernel().parameters)
      if (is_packed(parameter)) parameter.dtype = DType::U32;
  }
  bool is_packed(const Parameter& parameter) const {
    return parameter.kind != Parameter::Kind::Number && size_of(parameter.dtype) < 4 && types_.has(parameter.dtype);
  }
  bool is_packed(std::uint16_t place) const { return is_packed(from_.parameter(place)); }

  /// The place of element i of so many bytes: in which word, and from which bit on.
  struct Spot {
    Expr word, bit;
  };
  Spot spot(const Expr& i, int size) {
    const int each = 4 / size;
    return {i >> std::countr_zero(static_cast<unsigned>(each)), (i & (each - 1)).as(DType::U32) * (8 * size)};
  }

  std::vector<Exprs> values(const Instruction& in) override {
    if (in.kind != Kind::Load || !is_packed(in.place)) return copied(in);
    const DType dtype = from_.parameter(in.place).dtype;
    const int size = static_cast<int>(size_of(dtype)), each = 4 / size, words = std::max(in.width / each, 1);
    const auto [word, bit] = spot(at(in.operands[0]), size);
    const Exprs all = buffer(in.place).load(word, words);
    std::vector<Exprs> made;
    for (int i = 0; i < in.width; ++i) {
      const Expr& bits = all[static_cast<std::size_t>(i / each)];
      const Expr first = in.width < each ? bit + 8 * size * i : k_.literal(DType::U32, i % each * 8 * size);
      made.push_back({value_of_bits(bits >> first, dtype)});
    }
    return made;
  }

  void statement(const Statement& statement) override {
    if (statement.kind != Statement::Kind::Store || !is_packed(statement.place)) return copy(statement);
    const std::vector<Id>& in = statement.operands;
    const DType dtype = from_.parameter(statement.place).dtype;
    const int size = static_cast<int>(size_of(dtype)), each = 4 / size, width = static_cast<int>(in.size()) - 1;
    const auto [word, bit] = spot(at(in[0]), size);
    Exprs words(static_cast<std::size_t>(std::max(width / each, 1)), k_.literal(DType::U32, 0));
    for (int i = 0; i < width; ++i) {
      Expr& into = words[static_cast<std::size_t>(i / each)];
      into = into | (bits_of_value(at(in[static_cast<std::size_t>(i) + 1]), dtype) << (i % each * 8 * size));
    }
    const Buffer to = buffer(statement.place);
    if (width >= each) return to.store(word, words);
    // The neighbours in the word may be stored by other threads meanwhile.
    const Expr mask = k_.literal(DType::U32, (std::int64_t{1} << (8 * size * width)) - 1);
    to.update(Update::And, word, !(mask << bit));
    to.update(Update::Or, word, words[0] << bit);
  }

  const Types types_;
};

}  // namespace

Kernel with_packed_elements(const Kernel& kernel, Types types) { return Packed(kernel, types).run(); }

}  // namespace kiln::gpu::lower
