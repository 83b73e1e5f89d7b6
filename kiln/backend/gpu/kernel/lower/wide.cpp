// 64-bit integers as pairs of words.
#include "kiln/backend/gpu/kernel/lower/pair.hpp"
#include "kiln/backend/gpu/kernel/lower/rewrite.hpp"
#include "kiln/backend/gpu/kernel/lower/rules.hpp"

namespace kiln::gpu::lower {
namespace {

using Kind = Instruction::Kind;

/// The lower word of an element comes first.
void halve(Kernel::Array& array) {
  if (is_wide(array.dtype)) array = {DType::U32, 2 * array.count};
}

class Wide final : public Rewrite {
 public:
  explicit Wide(const Kernel& from) : Rewrite(from) {}

 private:
  void declare() override {
    Rewrite::declare();
    for (Parameter& parameter : kernel().parameters)
      if (is_wide(parameter.dtype) && parameter.kind != Parameter::Kind::Number) parameter.dtype = DType::U32;
    for (Kernel::Array& array : kernel().shared) halve(array);
    for (Kernel::Array& array : kernel().locals) halve(array);
  }

  Pair pair(Id id) const {
    const Exprs& both = parts(id);
    return {both.at(0), both.at(1)};
  }
  static Exprs words(const Pair& pair) { return {pair.low, pair.high}; }
  bool is_signed(Id id) const { return type_of(id) == DType::I64; }
  /// An index as an int32: no buffer has more words than that can count.
  Expr index(Id id) const { return is_wide(type_of(id)) ? pair(id).low.bits_as(DType::I32) : at(id); }

  std::vector<Exprs> values(const Instruction& in) override {
    const bool from_wide = !in.operands.empty() && is_wide(type_of(in.operands[0]));
    if (!is_wide(in.type)) {
      if (in.kind == Kind::Compute && from_wide)
        return {{compare_pairs(in.arithmetic, is_signed(in.operands[0]), pair(in.operands[0]), pair(in.operands[1]))}};
      if (in.kind == Kind::Cast && from_wide)
        return {{cast_from_pair(pair(in.operands[0]), is_signed(in.operands[0]), in.type)}};
      if (in.kind == Kind::Bits && from_wide) refuse("the bits of a float64 are no pair of words");
      if (from_wide) return with_index(in);
      return copied(in);
    }
    switch (in.kind) {
      case Kind::Literal: return {words(pair_of(k_, in.bits))};
      case Kind::Compute: return {words(computed(in))};
      case Kind::Select: return {words(select(at(in.operands[0]), pair(in.operands[1]), pair(in.operands[2])))};
      case Kind::Cast:
        return {from_wide ? parts(in.operands[0]) : words(cast_to_pair(at(in.operands[0]), in.type == DType::I64))};
      case Kind::Bits:
        if (!from_wide) refuse("a pair of words is no bits of a float64");
        return {parts(in.operands[0])};
      case Kind::Load:
      case Kind::Shared:
      case Kind::Local: return loaded(in);
      case Kind::Shuffle: {
        const Expr &lane = at(in.operands[1]), low = pair(in.operands[0]).low, high = pair(in.operands[0]).high;
        return {{k_.shuffle(low, lane), k_.shuffle(high, lane)}};
      }
      case Kind::Update:
      case Kind::UpdateShared: return {updated(in)};
      default: refuse("a 64-bit integer is made in a way that has no pairs of words");
    }
  }

  /// Copies an access to elements that are not wide, at a wide index.
  std::vector<Exprs> with_index(const Instruction& in) {
    switch (in.kind) {
      case Kind::Load: return singles(buffer(in.place).load(index(in.operands[0]), in.width));
      case Kind::Shared: return singles(shared(in.place).load(index(in.operands[0]), in.width));
      case Kind::SharedPair: return {{shared(in.place).pair(index(in.operands[0]))}};
      case Kind::Local: return {{local(in.place)[index(in.operands[0])]}};
      case Kind::Update:
        if (in.update == Update::CompareAndSwap)
          return {{buffer(in.place).compare_and_swap(index(in.operands[0]), at(in.operands[2]), at(in.operands[1]))}};
        return {{buffer(in.place).update(in.update, index(in.operands[0]), at(in.operands[1]))}};
      case Kind::UpdateShared:
        if (in.update == Update::CompareAndSwap)
          return {{shared(in.place).compare_and_swap(index(in.operands[0]), at(in.operands[2]), at(in.operands[1]))}};
        return {{shared(in.place).update(in.update, index(in.operands[0]), at(in.operands[1]))}};
      case Kind::SharedSame: return {{shared(in.place).same(index(in.operands[0]))}};
      default: refuse("a 64-bit integer is used in a way that has no pairs of words");
    }
  }
  static std::vector<Exprs> singles(const Exprs& all) {
    std::vector<Exprs> made;
    for (const Expr& each : all) made.push_back({each});
    return made;
  }

  Pair computed(const Instruction& in) {
    const Pair x = pair(in.operands[0]);
    return compute_pair(in.arithmetic, in.type == DType::I64, x, in.operands.size() > 1 ? pair(in.operands[1]) : x);
  }

  std::vector<Exprs> loaded(const Instruction& in) {
    const Expr first = index(in.operands[0]) * 2;
    if (in.kind == Kind::Local) return {{local(in.place)[first], local(in.place)[first + 1]}};
    const Exprs all =
        in.kind == Kind::Load ? buffer(in.place).load(first, 2 * in.width) : shared(in.place).load(first, 2 * in.width);
    std::vector<Exprs> made;
    for (std::size_t i = 0; i < in.width; ++i) made.push_back({all[2 * i], all[2 * i + 1]});
    return made;
  }

  /// A sum carries into the upper word once for each time that the lower one passes its end, in whatever order.
  Exprs updated(const Instruction& in) {
    const bool separate = in.update == Update::And || in.update == Update::Or;
    if (is_read(defining_) || !(separate || in.update == Update::Add))
      refuse("64-bit integers are updated atomically in a way that pairs of words cannot be");
    const Expr first = index(in.operands[0]) * 2;
    const Pair by = pair(in.operands[1]);
    const auto update = [&](const Expr& i, const Expr& value) {
      return in.kind == Kind::Update ? buffer(in.place).update(in.update, i, value)
                                     : shared(in.place).update(in.update, i, value);
    };
    const Expr low = update(first, by.low);
    const Expr carry = (low + by.low < low).as(DType::U32);
    return {low, update(first + 1, separate ? by.high : by.high + carry)};
  }

  void statement(const Statement& statement) override {
    using enum Statement::Kind;
    const std::vector<Id>& in = statement.operands;
    switch (statement.kind) {
      case Store: return buffer(statement.place).store(place_of(in), stored(in));
      case StoreShared: return shared(statement.place).store(place_of(in), stored(in));
      case StoreLocal: {
        const Exprs words = stored(in);
        for (std::size_t i = 0; i < words.size(); ++i)
          local(statement.place).set(place_of(in) + static_cast<int>(i), words[i]);
        return;
      }
      case Loop:
        if (is_wide(type_of(statement.first))) return count(statement);
        break;
      case Choose:
      case Arrive:
      case Await:
        if (is_wide(type_of(in[0]))) refuse("a table or a cell is indexed by a 64-bit integer");
        break;
      default: break;
    }
    copy(statement);
  }
  /// The index of a store, in words where the elements are wide.
  Expr place_of(const std::vector<Id>& in) const { return is_wide(type_of(in[1])) ? index(in[0]) * 2 : index(in[0]); }
  Exprs stored(const std::vector<Id>& in) const {
    Exprs all;
    for (std::size_t i = 1; i < in.size(); ++i) all.insert(all.end(), parts(in[i]).begin(), parts(in[i]).end());
    return all;
  }

  /// A loop whose counter is wide. A counter that passes the type's end ends it.
  void count(const Statement& statement) {
    const bool is_signed = type_of(statement.first) == DType::I64;
    const Pair begin = pair(statement.operands[0]), end = pair(statement.operands[1]),
               step = pair(statement.operands[2]);
    const Local low = k_.variable(begin.low), high = k_.variable(begin.high);
    k_.loop_while([&] { return compare_pairs(Arithmetic::Less, is_signed, {low, high}, end); },
                  [&] {
                    const Pair now{low, high};
                    known_[statement.first] = words(now);
                    statements(statement.body);
                    const Pair sum = compute_pair(Arithmetic::Add, is_signed, now, step);
                    const Pair next = select(compare_pairs(Arithmetic::Less, is_signed, sum, now), end, sum);
                    low.set(next.low);
                    high.set(next.high);
                  });
  }
};

}  // namespace

Kernel with_pairs(const Kernel& kernel) { return Wide(kernel).run(); }

}  // namespace kiln::gpu::lower
