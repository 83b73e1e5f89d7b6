#include "kiln/core/reflect/reflect_values.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "kiln/core/dtype.hpp"
#include "kiln/core/shape.hpp"

namespace kiln {
namespace {

using reflect::equal;
using reflect::hash;
using reflect::to_text;

enum class Mode { Fast, Slow };
struct Relu {};
struct Conv {
  Shape stride{1, 1}, padding{0, 0};
  int groups = 1;
};
struct Scale {
  float factor = 0.1f;
};
using Layer = std::variant<Relu, Conv, Scale, Scale>;

struct Net {
  std::string label = "net";
  std::vector<Layer> layers = {Conv{}, Relu{}};
  std::optional<double> dropout;
  std::optional<Conv> last = Conv{.groups = 2};
  std::map<std::string, int> sizes = {{"a", 1}, {"b", 2}};
  std::tuple<int, bool> pair = {7, true};
  std::array<int, 2> array = {3, 4};
  std::vector<bool> flags = {true, false};
  DType dtype = DType::BF16;
  Mode mode = Mode::Slow;
  std::shared_ptr<int> pointer;
  double rate = 0.5;
};
struct Callback {
  std::function<void()> call;
  int count = 1;
};
struct Tree {
  int value;
  std::vector<Tree> children;
};

TEST(ReflectText, PrintsTheFieldsByName) {
  EXPECT_EQ(to_text(Conv{}), "Conv{stride=[1, 1], padding=[0, 0], groups=1}");
  EXPECT_EQ(to_text(Relu{}), "Relu{}");
  EXPECT_EQ(to_text(Scale{}), "Scale{factor=0.1}");
  EXPECT_EQ(to_text(Tree{1, {{2, {}}, {3, {{4, {}}}}}}),
            "Tree{value=1, children=[Tree{value=2, children=[]}, "
            "Tree{value=3, children=[Tree{value=4, children=[]}]}]}");
}

TEST(ReflectText, PrintsEveryKindOfField) {
  EXPECT_EQ(to_text(Net{}),
            "Net{label=\"net\", layers=[Conv{stride=[1, 1], padding=[0, 0], groups=1}, Relu{}], dropout=none, "
            "last=Conv{stride=[1, 1], padding=[0, 0], groups=2}, sizes={\"a\": 1, \"b\": 2}, pair=(7, true), "
            "array=[3, 4], flags=[true, false], dtype=bfloat16, mode=Slow, pointer=none, rate=0.5}");
  EXPECT_EQ(to_text(static_cast<Mode>(7)), "7");
  EXPECT_EQ(to_text(Callback{}), "Callback{call=function, count=1}");
  EXPECT_EQ(to_text(std::make_shared<Scale>()), "Scale{factor=0.1}");
}

// One change to each field of a Net.
std::vector<Net> variations() {
  std::vector<Net> nets(12);
  nets[0].label = "net2";
  nets[1].layers[0].emplace<2>();
  nets[2].dropout = 0;
  nets[3].last.reset();
  nets[4].sizes["c"] = 0;
  std::get<1>(nets[5].pair) = false;
  nets[6].array[1] = 5;
  nets[7].flags.push_back(false);
  nets[8].dtype = DType::F16;
  nets[9].mode = Mode::Fast;
  nets[10].pointer = std::make_shared<int>(1);
  nets[11].rate = std::nextafter(0.5, 1);
  return nets;
}

TEST(ReflectEqual, ComparesEveryField) {
  const Net net;
  EXPECT_TRUE(equal(net, Net{}));
  for (const auto& other : variations()) {
    EXPECT_FALSE(equal(net, other)) << to_text(other);
    EXPECT_TRUE(equal(other, Net(other))) << to_text(other);
  }
}

TEST(ReflectEqual, TellsAlternativesOfTheSameTypeApart) {
  const Layer third(std::in_place_index<2>), fourth(std::in_place_index<3>);
  EXPECT_FALSE(equal(third, fourth));
  EXPECT_TRUE(equal(third, Layer(std::in_place_index<2>)));
  EXPECT_NE(hash(third), hash(fourth));
}

TEST(ReflectEqual, FindsNanAgainAndIgnoresTheSignOfZero) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(equal(Scale{nan}, Scale{nan}));
  EXPECT_EQ(hash(Scale{nan}), hash(Scale{-nan}));
  EXPECT_FALSE(equal(Scale{nan}, Scale{0}));
  EXPECT_TRUE(equal(Scale{0.0f}, Scale{-0.0f}));
  EXPECT_EQ(hash(Scale{0.0f}), hash(Scale{-0.0f}));
}

TEST(ReflectHash, DiffersWhereValuesDo) {
  std::set<std::uint64_t> hashes{hash(Net{})};
  for (const auto& net : variations()) hashes.insert(hash(net));
  EXPECT_EQ(hashes.size(), 13u);
  EXPECT_EQ(hash(Net{}), hash(Net{}));

  struct Two {
    std::vector<int> first, second;
  };
  EXPECT_NE(hash(Two{{1}, {2, 3}}), hash(Two{{1, 2}, {3}}));
  EXPECT_NE(hash(std::vector<int>{}), hash(std::vector<int>{0}));
  EXPECT_NE(hash(Conv{{1, 2}, {1, 1}, 1}), hash(Conv{{2, 1}, {1, 1}, 1}));
}

// Grids of small numbers are what op attributes look like.
TEST(ReflectHash, DoesNotCollideOnSmallNumbers) {
  std::set<std::uint64_t> hashes;
  for (int a = 0; a < 20; ++a)
    for (int b = 0; b < 20; ++b)
      for (int c = 0; c < 20; ++c) hashes.insert(hash(Conv{{a, b}, {0, 0}, c}));
  EXPECT_EQ(hashes.size(), 8000u);
}

}  // namespace
}  // namespace kiln
