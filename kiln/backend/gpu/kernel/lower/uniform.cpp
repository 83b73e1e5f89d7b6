// Number parameters as words of one uniform block.
#include "kiln/backend/gpu/kernel/lower/rewrite.hpp"
#include "kiln/backend/gpu/kernel/lower/rules.hpp"

namespace kiln::gpu::lower {
namespace {

class Uniform final : public Rewrite {
 public:
  explicit Uniform(const Kernel& from) : Rewrite(from) {}

 private:
  void declare() override {
    Rewrite::declare();
    std::vector<Parameter> buffers;
    std::vector<Origin> kept;
    const std::vector<std::size_t> words = from_.words();
    for (std::size_t i = 0; i < from_.parameters.size(); ++i) {
      const Parameter& parameter = from_.parameters[i];
      const std::span<const Origin> origins = std::span(this->origins()).subspan(words[i], parameter.words());
      if (parameter.kind == Parameter::Kind::Number) {
        first_.push_back(at_);
        for (Origin each : origins) take(each, static_cast<std::uint16_t>(size_of(parameter.dtype)));
      } else {
        first_.push_back(0);
        places_[i] = static_cast<std::uint16_t>(buffers.size());
        buffers.push_back(parameter);
        kept.insert(kept.end(), origins.begin(), origins.end());
      }
    }
    for (std::uint16_t& table : kernel().chosen) table = places_[table];
    kernel().parameters = std::move(buffers);
    kernel().origins = std::move(kept);
    if (at_ == 0) return;
    block_ = add({.kind = Parameter::Kind::Input, .dtype = DType::U32, .uniform = at_});
    kernel().origins.push_back({.kind = Origin::Kind::Uniform});
  }
  void take(Origin origin, std::uint16_t bytes) {
    origin.words = bytes / 4;
    kernel().uniform.push_back(origin);
    at_ = static_cast<std::uint16_t>(at_ + origin.words);
  }

  Expr word(const Expr& i) { return Buffer(&k_, block_, DType::U32)[i]; }
  Expr word(std::uint16_t i) { return word(k_.literal(DType::I32, int{i})); }
  /// The number of that type whose words are these.
  Expr joined(DType type, const Expr& low, const Expr& high) {
    return (low.as(DType::U64) | (high.as(DType::U64) << 32)).bits_as(type);
  }

  std::vector<Exprs> values(const Instruction& in) override {
    if (in.kind == Kind::Number) {
      const std::uint16_t first = first_[in.place];
      if (size_of(in.type) == 8) return {{joined(in.type, word(first), word(static_cast<std::uint16_t>(first + 1)))}};
      return {{word(first).bits_as(in.type)}};
    }
    if (in.kind == Kind::Entry) {
      const Expr at = this->at(in.operands[0]).as(DType::I32) * 2 + int{first_[in.place]};
      return {{joined(in.type, word(at), word(at + 1))}};
    }
    return copied(in);
  }
  using Kind = Instruction::Kind;

  std::vector<std::uint16_t> first_;  // word of each number, by old place
  std::uint16_t at_ = 0;              // words so far
  std::uint16_t block_ = 0;
};

}  // namespace

Kernel with_uniform_block(const Kernel& kernel) { return Uniform(kernel).run(); }

}  // namespace kiln::gpu::lower
