// Ops are values: they can be compared, hashed and printed.
#include <gtest/gtest.h>

#include <set>

#include "kiln/ops/elementwise/enumerators.hpp"
#include "kiln/ops/op.hpp"

namespace kiln {
namespace {

using op::Op;

struct Nothing : CustomOp {
  std::string name() const override { return "nothing"; }
  Descs infer(Inputs) const override { return {}; }
  Values expand(Inputs) const override { return {}; }
};

TEST(OpText, NamesTheFunctionAndItsAttributes) {
  EXPECT_EQ(text(Op(op::Matmul{})), "matmul()");
  EXPECT_EQ(text(Op(op::Binary{op::BinaryFn::Add})), "add()");
  EXPECT_EQ(text(Op(op::Reduce{op::ReduceFn::Sum, {0, 2}})), "sum(dims=[0, 2])");
  EXPECT_EQ(text(Op(op::Cast{DType::BF16})), "cast(to=bfloat16)");
  EXPECT_EQ(text(Op(op::Random{op::Distribution::Normal, {2, 3}, DType::F32})),
            "random(distribution=Normal, shape=[2, 3], dtype=float32)");
  EXPECT_EQ(
      text(Op(op::AvgPoolGrad{{.adaptive = {1, 1}}, {4, 4}})),
      "avg_pool_grad(pool=avg_pool(window=Window{kernel=[], stride=[], padding=[], padding_after=[], dilation=[], "
      "ceil=false}, count_padding=true, adaptive=[1, 1], divisor=0), sizes=[4, 4])");
  EXPECT_EQ(text(Op(op::Custom{make_ref<Nothing>()})), "nothing()");
}

TEST(OpEquality, LooksAtTheStructAndAtEachAttribute) {
  const auto one = make_ref<Nothing>(), other = make_ref<Nothing>();
  const std::vector<Op> distinct = {op::Matmul{},
                                    op::Softmax{1},
                                    op::Softmax{1, true},
                                    op::Softmax{0},
                                    op::Unary{op::UnaryFn::Exp},
                                    op::Unary{op::UnaryFn::Log},
                                    op::Gather{1},
                                    op::Select{1},
                                    op::Reduce{op::ReduceFn::Sum, {0}},
                                    op::Reduce{op::ReduceFn::Sum, {0, 1}},
                                    op::Reduce{op::ReduceFn::Max, {0}},
                                    op::Slice{{0, 1}, {1, 1}, {2, 2}},
                                    op::Slice{{0, 1}, {1, 1}, {2, 3}},
                                    op::MaxPool{{.kernel = {2}}},
                                    op::MaxPool{{.kernel = {2}, .ceil = true}},
                                    op::Custom{one},
                                    op::Custom{other}};
  std::set<std::size_t> hashes;
  for (std::size_t i = 0; i < distinct.size(); ++i) {
    for (std::size_t j = 0; j < distinct.size(); ++j) EXPECT_EQ(distinct[i] == distinct[j], i == j) << i << ' ' << j;
    const auto copy = Op(distinct[i]);
    EXPECT_TRUE(copy == distinct[i]);
    EXPECT_EQ(hash(copy), hash(distinct[i]));
    hashes.insert(hash(distinct[i]));
  }
  EXPECT_EQ(hashes.size(), distinct.size());
}

}  // namespace
}  // namespace kiln
