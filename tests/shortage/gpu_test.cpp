// Memory that runs out while a GPU gives back what it has.
#include <gtest/gtest.h>

#include <new>

#include "kiln/backend/gpu/peers.hpp"
#include "kiln/ops/functions.hpp"
#include "tests/shortage/shortage.hpp"

namespace kiln::test {
namespace {

/// A copy whose end nobody can wait for.
class Lost final : public gpu::Mark {
 public:
  bool passed() const override { return false; }
  void wait() const override { throw std::bad_alloc(); }
};

TEST(GpuShortage, TakesNoMemoryToGiveBackWhatWasLent) {
  const Value x = full({2}, 1, Device::cpu(), DType::F32);
  (void)x.data();
  gpu::Lent lent;
  for (int i = 0; i < 2; ++i) lent.add(x.node()->storage, make_ref<Lost>());
  bool waited = false;
  {
    const Shortage shortage(1, Fails::FromThenOn, Threads::This);
    waited = lent.await_all();
  }
  EXPECT_TRUE(waited);
  EXPECT_FALSE(has_failed());
}

}  // namespace
}  // namespace kiln::test
