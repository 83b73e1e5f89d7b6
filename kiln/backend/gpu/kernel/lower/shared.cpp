// Elements of 1 and 2 bytes in shared memory as words of their own.
#include "kiln/backend/gpu/kernel/lower/element.hpp"
#include "kiln/backend/gpu/kernel/lower/rewrite.hpp"
#include "kiln/backend/gpu/kernel/lower/rules.hpp"

namespace kiln::gpu::lower {
namespace {

using Kind = Instruction::Kind;

class WideShared final : public Rewrite {
 public:
  WideShared(const Kernel& from, Types types) : Rewrite(from), types_(types) {}

 private:
  /// An element is kept as the value that it was rounded to.
  void declare() override {
    Rewrite::declare();
    for (Kernel::Array& array : kernel().shared)
      if (is_widened(array.dtype)) array.dtype = expr::computed_in(array.dtype);
  }
  bool is_widened(DType dtype) const { return size_of(dtype) < 4 && types_.has(dtype); }
  bool is_widened(std::uint16_t place) const { return is_widened(from_.shared[place].dtype); }

  /// A load or a store moves 16 bytes at most.
  static constexpr std::size_t kAtOnce = 4;

  std::vector<Exprs> values(const Instruction& in) override {
    if (in.kind == Kind::SharedPair && is_widened(in.place)) {
      const DType dtype = from_.shared[in.place].dtype;
      const Exprs pair = shared(in.place).load(at(in.operands[0]), 2);
      return {{bits_of_value(pair[0], dtype) | (bits_of_value(pair[1], dtype) << 16)}};
    }
    if (in.kind != Kind::Shared || !is_widened(in.place) || in.width <= kAtOnce) return copied(in);
    std::vector<Exprs> made;
    for (std::size_t i = 0; i < in.width; i += kAtOnce)
      for (const Expr& each : shared(in.place).load(at(in.operands[0]) + static_cast<int>(i), kAtOnce))
        made.push_back({each});
    return made;
  }

  void statement(const Statement& statement) override {
    if (statement.kind == Statement::Kind::MatrixLoad && is_widened(statement.from))
      refuse("matrices are loaded from elements of ", from_.shared[statement.from].dtype,
             ", which the device's shared memory has not");
    if (statement.kind != Statement::Kind::StoreShared || !is_widened(statement.place)) return copy(statement);
    const std::vector<Id>& in = statement.operands;
    Exprs all;
    for (std::size_t i = 1; i < in.size(); ++i)
      all.push_back(k_.narrow(at(in[i]), from_.shared[statement.place].dtype));
    const std::size_t width = std::min(all.size(), kAtOnce);
    for (std::size_t i = 0; i < all.size(); i += width)
      shared(statement.place).store(at(in[0]) + static_cast<int>(i), std::span(all).subspan(i, width));
  }

  const Types types_;
};

}  // namespace

Kernel with_wide_shared(const Kernel& kernel, Types types) { return WideShared(kernel, types).run(); }

}  // namespace kiln::gpu::lower
