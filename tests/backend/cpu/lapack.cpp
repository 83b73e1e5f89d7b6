// LAPACK takes what it is there for. Where it declined, the reference's plain loops would give the same, and be slow.
#include "kiln/backend/cpu/lapack/lapack.hpp"

#include <gtest/gtest.h>

#include "kiln/backend/cpu/kernel.hpp"
#include "kiln/ops/create/create.hpp"

namespace kiln::cpu::lapack {
namespace {

template <class Op>
bool takes(const Op& op, std::vector<Value> in) {
  std::vector<Value> out;
  for (const Desc& desc : op.infer(in)) out.emplace_back(make_ref<Node>(desc, in[0].device()));
  return run(op, {in, out});
}

TEST(Lapack, TakesMatricesOfFloats) {
  for (const DType dtype : {DType::F32, DType::F64}) {
    const Value a = full({2, 3, 3}, 0.25, Device::parse("cpu"), dtype) + eye({3, 3}, Device::parse("cpu"), dtype);
    a.device().sync();
    EXPECT_TRUE(takes(op::Eigh{}, {a}));
    EXPECT_TRUE(takes(op::Svd{}, {a}));
  }
}

}  // namespace
}  // namespace kiln::cpu::lapack
