#include "kiln/backend/cpu/onednn/primitive.hpp"

#include <thread>

#include <gtest/gtest.h>

namespace kiln::cpu::onednn {
namespace {

int made = 0;  // since a test began to count

struct Sizes {
  Shape sizes;
  std::int64_t more = 0;

  Primitive make() const {
    ++made;
    return {};
  }
};
/// The same fields, another primitive.
struct OtherSizes {
  Shape sizes;
  std::int64_t more = 0;

  Primitive make() const {
    ++made;
    return {};
  }
};
struct Impossible {
  Primitive make() const {
    ++made;
    throw dnnl::error(dnnl_unimplemented, "no");
  }
};

TEST(OneDnnPrimitives, AreMadeOncePerRecipeAndThread) {
  made = 0;
  Primitive& first = cached(Sizes{{2, 3}});
  EXPECT_EQ(&cached(Sizes{{2, 3}}), &first);
  EXPECT_EQ(made, 1);
  cached(Sizes{{3, 2}});
  cached(Sizes{{2}, 3});
  EXPECT_EQ(made, 3);
  EXPECT_NE(&cached(OtherSizes{{2, 3}}), &first);
  EXPECT_EQ(made, 4);
  std::thread([&] { cached(Sizes{{2, 3}}); }).join();
  EXPECT_EQ(made, 5);
}

TEST(OneDnnPrimitives, AreForgottenWhenTooManyAreHeld) {
  made = 0;
  cached(OtherSizes{});
  for (std::int64_t i = 0; i < 3 * static_cast<std::int64_t>(kMostPrimitives); ++i) {
    cached(Sizes{{7}, i});
    cached(OtherSizes{});
    EXPECT_LE(cached_primitives(), kMostPrimitives);
  }
  const int all = 1 + 3 * static_cast<int>(kMostPrimitives);
  EXPECT_EQ(made, all) << "the one in use was forgotten";
  cached(Sizes{{7}, 0});
  EXPECT_EQ(made, all + 1) << "the first of many was kept";
}

TEST(OneDnnPrimitives, RememberWhatOneDnnCannotDo) {
  made = 0;
  EXPECT_FALSE(cached(Impossible{}));
  EXPECT_FALSE(cached(Impossible{}));
  EXPECT_EQ(made, 1);
}

}  // namespace
}  // namespace kiln::cpu::onednn
