#include "kiln/backend/cpu/onednn/primitive.hpp"

#include <thread>

#include <gtest/gtest.h>

namespace kiln::cpu::onednn {
namespace {

const auto no_primitive = [] { return Primitive(); };

TEST(OneDnnPrimitives, AreMadeOncePerKeyAndThread) {
  int made = 0;
  const auto make = [&] {
    ++made;
    return Primitive();
  };
  Primitive& first = cached(Signature(Task::Matmul, Shape{2, 3}), make);
  EXPECT_EQ(&cached(Signature(Task::Matmul, Shape{2, 3}), make), &first);
  EXPECT_EQ(made, 1);
  cached(Signature(Task::Matmul, Shape{3, 2}), make);
  cached(Signature(Task::Matmul, Shape{2}, std::int64_t{3}), make);
  EXPECT_EQ(made, 3);
  std::thread([&] { cached(Signature(Task::Matmul, Shape{2, 3}), make); }).join();
  EXPECT_EQ(made, 4);
}

TEST(OneDnnPrimitives, AreForgottenWhenTooManyAreHeld) {
  int made = 0;
  const Signature kept(Task::Conv);
  const auto keep = [&] {
    return &cached(kept, [&] {
      ++made;
      return Primitive();
    });
  };
  keep();
  for (std::int64_t i = 0; i < 3 * static_cast<std::int64_t>(kMostPrimitives); ++i) {
    cached(Signature(Task::Matmul, i), no_primitive);
    keep();
    EXPECT_LE(cached_primitives(), kMostPrimitives);
  }
  EXPECT_EQ(made, 1) << "the one in use was forgotten";
  cached(Signature(Task::Matmul, std::int64_t{0}), [&] {
    ++made;
    return Primitive();
  });
  EXPECT_EQ(made, 2) << "the first of many was kept";
}

TEST(OneDnnPrimitives, RememberWhatOneDnnCannotDo) {
  int tried = 0;
  const auto make = [&]() -> Primitive {
    ++tried;
    throw dnnl::error(dnnl_unimplemented, "no");
  };
  EXPECT_FALSE(cached(Signature(Task::ConvData), make));
  EXPECT_FALSE(cached(Signature(Task::ConvData), make));
  EXPECT_EQ(tried, 1);
}

}  // namespace
}  // namespace kiln::cpu::onednn
