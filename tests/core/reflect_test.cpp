#include "kiln/core/reflect/reflect.hpp"

#include <gtest/gtest.h>

#include <any>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "kiln/core/random.hpp"
#include "kiln/core/shape.hpp"

namespace kiln {
namespace {

using reflect::field_count;
using reflect::field_names;

template <class T>
std::vector<std::string> names_of() {
  std::vector<std::string> names;
  for (const auto name : field_names<T>()) names.emplace_back(name);
  return names;
}
using Names = std::vector<std::string>;

enum class Mode { Fast, Slow };
struct Empty {};
struct Point {
  int x, y;
};
struct Line {
  Point from, to;
  Empty nothing;
};
struct Deep {
  Line line;
  std::vector<Deep> children;
};

struct Everything {
  std::optional<int> optional;
  std::optional<Point> optional_point;
  std::vector<Point> vector;
  std::variant<int, std::string, Point> variant;
  std::string string;
  std::tuple<int, Point> tuple;
  std::tuple<int> single;
  std::array<float, 3> array;
  std::array<Point, 2> points;
  std::map<std::string, int> map;
  std::shared_ptr<Point> pointer;
  std::function<int(Point)> function;
  Mode mode;
  Line line;
  Shape shape;
  mutable int cache;
  const char* text;
  std::pair<int, Empty> pair;
};

// What std::any and dynamically typed values look like.
class Anything {
 public:
  Anything() = default;
  template <class T> Anything(T) {}
};
class Number {
 public:
  Number() = default;
  template <class T>
  requires std::is_arithmetic_v<T> Number(T) {}
  Number(const Point&) {}
};
struct Converting {
  Anything first;
  Number second;
  std::any third;
  std::optional<Anything> fourth;
  int last;
};

struct MoveOnly {
  std::unique_ptr<int> owner;
  std::vector<std::unique_ptr<int>> list;
  int count = 3;
};

class Required {
 public:
  explicit Required(int) {}
};
class Given {
 public:
  Given(int, int) {}
};
struct WithoutDefaults {
  int first;
  Required required;
  Given given;
  double last = 0.5;
};
struct DefaultInitialized {
  Required required = Required(1);
  std::vector<int> list = {1, 2};
};
class ExplicitDefault {
 public:
  explicit ExplicitDefault() = default;
};
struct HoldsExplicit {
  ExplicitDefault a;
  int b;
  ExplicitDefault c;
};

template <class... T> struct Sequential {
  std::tuple<T...> layers;
  int depth;
};

struct Wide {
  int f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16;
  Point g1, g2, g3, g4, g5, g6, g7, g8, g9, g10, g11, g12, g13, g14, g15, last;
};

TEST(Reflect, CountsTheFieldsWhateverTheirTypes) {
  static_assert(field_count<Empty> == 0);
  static_assert(field_count<Point> == 2);
  static_assert(field_count<const Point> == 2);
  static_assert(field_count<Line> == 3);
  static_assert(field_count<Deep> == 2);
  static_assert(field_count<Everything> == 18);
  static_assert(field_count<Converting> == 5);
  static_assert(field_count<MoveOnly> == 3);
  static_assert(field_count<WithoutDefaults> == 4);
  static_assert(field_count<DefaultInitialized> == 2);
  static_assert(field_count<HoldsExplicit> == 3);
  static_assert(field_count<Sequential<int, Point>> == 2);
  static_assert(field_count<Wide> == 32);
  static_assert(field_count<Key> == 1);
}

TEST(Reflect, KnowsTheNames) {
  EXPECT_EQ(names_of<Empty>(), Names{});
  EXPECT_EQ(names_of<Point>(), (Names{"x", "y"}));
  EXPECT_EQ(names_of<Line>(), (Names{"from", "to", "nothing"}));
  EXPECT_EQ(names_of<Everything>(),
            (Names{"optional", "optional_point", "vector", "variant", "string", "tuple", "single", "array", "points",
                   "map", "pointer", "function", "mode", "line", "shape", "cache", "text", "pair"}));
  EXPECT_EQ(names_of<Converting>(), (Names{"first", "second", "third", "fourth", "last"}));
  EXPECT_EQ(names_of<MoveOnly>(), (Names{"owner", "list", "count"}));
  EXPECT_EQ(names_of<WithoutDefaults>(), (Names{"first", "required", "given", "last"}));
  EXPECT_EQ((names_of<Sequential<Point, Sequential<int>>>()), (Names{"layers", "depth"}));
  EXPECT_EQ(names_of<Wide>().back(), "last");
  EXPECT_EQ(names_of<Wide>()[31], "last");
  EXPECT_EQ(names_of<Wide>()[16], "g1");
  struct Local {
    int here;
    Point there_2;
  };
  EXPECT_EQ(names_of<Local>(), (Names{"here", "there_2"}));
}

TEST(Reflect, NamesTypesWithoutNamespacesAndArguments) {
  struct Local {};
  EXPECT_EQ(reflect::type_name<Point>(), "Point");
  EXPECT_EQ(reflect::type_name<Shape>(), "InlineList");
  EXPECT_EQ(reflect::type_name<ShapeError>(), "ErrorOf");
  EXPECT_EQ((reflect::type_name<Sequential<Point, Sequential<int>>>()), "Sequential");
  EXPECT_EQ(reflect::type_name<Local>(), "Local");
  EXPECT_EQ((reflect::type_name<std::vector<std::map<int, Point>>>()), "vector");
  EXPECT_EQ(reflect::type_name<int>(), "int");
}

TEST(Reflect, TakesAggregatesOnly) {
  static_assert(reflect::Aggregate<Point> && reflect::Aggregate<Empty> && reflect::Aggregate<MoveOnly>);
  static_assert(!reflect::Aggregate<int> && !reflect::Aggregate<Mode> && !reflect::Aggregate<Point*>);
  static_assert(!reflect::Aggregate<int[2]> && !reflect::Aggregate<std::array<int, 2>>);
  static_assert(!reflect::Aggregate<std::string> && !reflect::Aggregate<std::vector<int>>);
  static_assert(!reflect::Aggregate<std::optional<int>> && !reflect::Aggregate<std::tuple<int>>);
  static_assert(!reflect::Aggregate<Number> && !reflect::Aggregate<Shape>);
}

TEST(Reflect, VisitsTheFieldsThemselves) {
  Point point{1, 2};
  reflect::for_each_field(point, [](std::string_view name, int& field) { field += name == "x" ? 10 : 20; });
  EXPECT_EQ(point.x, 11);
  EXPECT_EQ(point.y, 22);

  const Point constant{3, 4};
  std::string seen;
  reflect::for_each_field(constant, [&](std::string_view name, auto& field) {
    static_assert(std::is_same_v<decltype(field), const int&>);
    seen += text(name, "=", field, ";");
  });
  EXPECT_EQ(seen, "x=3;y=4;");

  MoveOnly owner{std::make_unique<int>(5), {}};
  auto moved = std::move(std::get<0>(reflect::fields(owner)));
  EXPECT_EQ(*moved, 5);
  EXPECT_EQ(owner.owner, nullptr);

  int calls = 0;
  Empty empty;
  reflect::for_each_field(empty, [&](std::string_view, auto&) { ++calls; });
  EXPECT_EQ(calls, 0);
}

TEST(Reflect, AMutableFieldOfAConstObjectCanBeWritten) {
  const Everything object{};
  std::get<15>(reflect::fields(object)) = 9;
  EXPECT_EQ(object.cache, 9);
}

TEST(Reflect, WorksInConstantExpressions) {
  constexpr int sum = [] {
    int total = 0;
    Line line{{1, 2}, {3, 4}, {}};
    reflect::for_each_field(line, [&]<class F>(std::string_view, F& field) {
      if constexpr (std::is_same_v<F, Point>) total += field.x * field.y;
    });
    return total;
  }();
  static_assert(sum == 14);
  static_assert(field_names<Line>()[1] == "to");
}

// What reflection refuses by a static_assert: the checks behind it, which can be asked.
TEST(Reflect, TellsArraysAndBasesFromFields) {
  struct HasArray {
    int before;
    int list[3];
    double after;
  };
  struct HasLargeArray {
    std::string before;
    std::string list[2];
  };
  struct Derived : Point {
    int z;
  };
  struct DerivedEmpty : Empty {
    int z;
  };
  using reflect::detail::count_initializers;
  static_assert(reflect::detail::has_array<HasArray, count_initializers<HasArray>()>());
  static_assert(reflect::detail::has_array<HasLargeArray, count_initializers<HasLargeArray>()>());
  static_assert(reflect::detail::has_base<Derived, count_initializers<Derived>()>());
  static_assert(reflect::detail::has_base<DerivedEmpty, count_initializers<DerivedEmpty>()>());
  static_assert(!reflect::detail::has_base<Converting, 5>());
  static_assert(!reflect::detail::has_array<WithoutDefaults, 4>() && !reflect::detail::has_array<Everything, 18>());
}

}  // namespace
}  // namespace kiln
