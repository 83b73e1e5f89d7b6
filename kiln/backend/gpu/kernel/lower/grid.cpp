// Blocks in whole rows of a grid of two dimensions.
#include "kiln/backend/gpu/kernel/lower/rewrite.hpp"
#include "kiln/backend/gpu/kernel/lower/rules.hpp"

namespace kiln::gpu::lower {
namespace {

class Grid final : public Rewrite {
 public:
  explicit Grid(const Kernel& from) : Rewrite(from) {}

 private:
  void declare() override {
    Rewrite::declare();
    blocks_ = number(DType::I32, {.kind = Origin::Kind::Blocks});
  }
  void body() override {
    k_.when(k_.block() < blocks_, [&] { statements(from_.body); });
  }
  std::vector<Exprs> values(const Instruction& in) override {
    if (in.kind == Instruction::Kind::Blocks) return {{blocks_}};
    return copied(in);
  }

  Expr blocks_;
};

}  // namespace

Kernel with_spare_blocks(const Kernel& kernel) { return Grid(kernel).run(); }

}  // namespace kiln::gpu::lower
