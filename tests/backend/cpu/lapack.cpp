// LAPACK takes what it is there for. Where it declined, the reference's plain loops would give the same, and be slow.
#include "kiln/backend/cpu/lapack/lapack.hpp"

#include <filesystem>

#include <gtest/gtest.h>

#include "kiln/backend/cpu/kernel.hpp"
#include "kiln/core/parallel.hpp"
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

#if defined(__linux__) && !defined(__SANITIZE_THREAD__)  // which has one of its own
TEST(Lapack, HasNoThreadsOfItsOwn) {
  const Value a = eye({3, 3}, Device::parse("cpu"), DType::F64);
  a.device().sync();
  EXPECT_TRUE(takes(op::Svd{}, {a}));
  const int threads = num_threads();
  set_num_threads(1);
  const std::filesystem::directory_iterator tasks("/proc/self/task");
  EXPECT_EQ(std::distance(std::filesystem::begin(tasks), std::filesystem::end(tasks)), 1);
  set_num_threads(threads);
}
#endif

}  // namespace
}  // namespace kiln::cpu::lapack
