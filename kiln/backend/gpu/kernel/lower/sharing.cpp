// Parameters that lie in one piece of memory, as one binding.
#include <map>

#include "kiln/backend/gpu/kernel/lower/lower.hpp"
#include "kiln/backend/gpu/kernel/lower/rewrite.hpp"
#include "kiln/core/error/error.hpp"

namespace kiln::gpu {
namespace lower {
namespace {

using Kind = Instruction::Kind;

class Sharing final : public Rewrite {
 public:
  Sharing(const Kernel& from, std::span<const std::uint16_t> sharers) : Rewrite(from), sharers_(sharers) {}

 private:
  /// The first parameter of several is bound for all of them, as words where their types differ.
  void declare() override {
    Rewrite::declare();
    std::vector<Parameter> kept;
    std::vector<Origin> kept_origins;
    const std::vector<std::size_t> words = from_.words();
    for (std::size_t i = 0; i < from_.parameters.size(); ++i) {
      const Parameter& parameter = from_.parameters[i];
      if (const std::size_t first = sharers_[i]; first != i) {
        Parameter& shared = kept[places_[first]];
        join(shared, parameter);
        places_[i] = places_[first];
        continue;
      }
      places_[i] = static_cast<std::uint16_t>(kept.size());
      kept.push_back(parameter);
      kept_origins.insert(kept_origins.end(), origins().begin() + static_cast<std::ptrdiff_t>(words[i]),
                          origins().begin() + static_cast<std::ptrdiff_t>(words[i + 1]));
    }
    kernel().parameters = std::move(kept);
    kernel().origins = std::move(kept_origins);
    for (std::uint16_t& table : kernel().chosen) table = places_[table];
    group_origins(words);
  }
  void join(Parameter& shared, const Parameter& other) {
    if (size_of(shared.dtype) != size_of(other.dtype) || shared.count || other.count)
      refuse("buffers of ", shared.dtype, " and ", other.dtype, " lie in one piece of memory, which is bound once");
    if (shared.dtype != other.dtype) shared.dtype = size_of(shared.dtype) == 4 ? DType::U32 : DType::U64;
    if (shared.kind != other.kind) shared.kind = Parameter::Kind::Both;
  }
  /// Offsets count from the base that is bound.
  void group_origins(const std::vector<std::size_t>& words) {
    std::map<std::uint16_t, std::uint16_t> groups;  // by argument of the kernel that was lowered
    for (std::size_t i = 0; i < sharers_.size(); ++i)
      if (std::ranges::count(sharers_, sharers_[i]) > 1)
        groups.emplace(origins()[words[i]].of, static_cast<std::uint16_t>(sharers_[i] + 1));
    for (std::vector<Origin>* const list : {&kernel().origins, &kernel().uniform})
      for (Origin& each : *list)
        if (const auto group = groups.find(each.of);
            group != groups.end() && (each.kind == Origin::Kind::Base || each.kind == Origin::Kind::Offset))
          each.group = group->second;
  }

  DType type_in(std::uint16_t place) const { return from_.parameter(place).dtype; }
  bool differs(std::uint16_t old) { return kernel().parameter(place(old)).dtype != type_in(old); }

  std::vector<Exprs> values(const Instruction& in) override {
    if ((in.kind != Kind::Load && in.kind != Kind::Update) || !differs(in.place)) return copied(in);
    const DType type = type_in(in.place), word = kernel().parameter(place(in.place)).dtype;
    const Buffer from = buffer(in.place);
    std::vector<Exprs> made;
    if (in.kind == Kind::Load) {
      for (const Expr& each : from.load(at(in.operands[0]), in.width)) made.push_back({each.bits_as(type)});
      return made;
    }
    const Expr &i = at(in.operands[0]), value = at(in.operands[1]).bits_as(word);
    if (in.update == Update::Maximum || in.update == Update::Minimum || (is_float(type) && in.update == Update::Add))
      refuse("elements of ", type, " are updated in memory that other parameters use too");
    const Expr old = in.update == Update::CompareAndSwap
                         ? from.compare_and_swap(i, at(in.operands[2]).bits_as(word), value)
                         : from.update(in.update, i, value);
    return {{old.bits_as(type)}};
  }

  void statement(const Statement& statement) override {
    if (statement.kind != Statement::Kind::Store || !differs(statement.place)) return copy(statement);
    Exprs all;
    for (std::size_t i = 1; i < statement.operands.size(); ++i)
      all.push_back(at(statement.operands[i]).bits_as(kernel().parameter(place(statement.place)).dtype));
    buffer(statement.place).store(at(statement.operands[0]), all);
  }

  const std::span<const std::uint16_t> sharers_;
};

}  // namespace
}  // namespace lower

std::vector<std::uint16_t> sharers_of(const Kernel& kernel, std::span<const std::uint64_t> arguments,
                                      FunctionRef<std::uint64_t(std::uint64_t address)> memory_of) {
  std::vector<std::uint16_t> sharers;
  std::map<std::uint64_t, std::uint16_t> first;
  const std::vector<std::size_t> words = kernel.words();
  for (std::size_t i = 0; i < kernel.parameters.size(); ++i) {
    const Parameter& parameter = kernel.parameters[i];
    auto sharer = static_cast<std::uint16_t>(i);
    if (parameter.kind != Parameter::Kind::Number && !parameter.uniform) {
      const std::size_t argument = kernel.origins.empty() ? words[i] : kernel.origins[words[i]].of;
      sharer = first.try_emplace(memory_of(arguments[argument]), sharer).first->second;
    }
    sharers.push_back(sharer);
  }
  return sharers;
}

bool are_shared(std::span<const std::uint16_t> sharers) {
  for (std::size_t i = 0; i < sharers.size(); ++i)
    if (sharers[i] != i) return true;
  return false;
}

Kernel with_shared_bindings(const Kernel& kernel, std::span<const std::uint16_t> sharers) {
  return lower::Sharing(kernel, sharers).run();
}

}  // namespace kiln::gpu
