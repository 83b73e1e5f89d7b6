#include "kiln/core/reflect/reflect_words.hpp"

#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kiln/core/shape.hpp"

namespace kiln {
namespace {

enum class Mode { Fast, Slow };
struct Conv {
  Shape stride{1, 1}, padding{0, 0};
  std::optional<double> slope = {};
  std::string name = {};
  Mode mode = Mode::Fast;
};

template <class T>
reflect::Words words_of(const T& value) {
  reflect::Words words;
  reflect::append_words(words, value);
  return words;
}

TEST(ReflectWords, OfEqualValuesAreEqual) {
  EXPECT_EQ(words_of(Conv{.slope = 0.1, .name = "a"}), words_of(Conv{.slope = 0.1, .name = "a"}));
  EXPECT_EQ(words_of(std::array{1, 2}), words_of(std::array{1, 2}));
}

TEST(ReflectWords, TellFieldsApart) {
  const reflect::Words plain = words_of(Conv{});
  for (const Conv& other : {Conv{.stride = {1, 2}}, Conv{.stride = {1}, .padding = {1, 0, 0}}, Conv{.slope = 0.0},
                            Conv{.name = "a"}, Conv{.mode = Mode::Slow}})
    EXPECT_NE(words_of(other), plain);
  EXPECT_NE(words_of(0.0), words_of(-0.0));
  EXPECT_NE(words_of(std::vector<std::vector<int>>{{1}, {}}), words_of(std::vector<std::vector<int>>{{}, {1}}));
}

TEST(ReflectWords, AreOfWhatFieldsSay) {
  struct Base {};
  struct Derived : Base {
    int size;
  };
  struct Array {
    int sizes[2];
  };
  struct Nested {
    Conv conv;
    std::vector<Conv> more;
  };
  struct Held {
    std::shared_ptr<int> number;
  };
  static_assert(reflect::HasWords<Nested>);
  static_assert(!reflect::HasWords<Held> && !reflect::HasWords<std::function<void()>> && !reflect::HasWords<int*>);
  static_assert(!reflect::HasWords<Derived> && !reflect::HasWords<Array>);
  static_assert(!reflect::HasWords<std::optional<std::function<void()>>>);
}

TEST(ReflectWords, AreOfWhatAnObjectHoldsItself) {
  struct Viewing {
    std::span<const double> table;
  };
  struct Naming {
    std::string_view name;
  };
  struct Referring {
    const std::vector<double>& table;
  };
  struct Inner {
    Referring more;
  };
  static_assert(!reflect::HasWords<Viewing> && !reflect::HasWords<Naming> && !reflect::HasWords<Referring>);
  static_assert(!reflect::HasWords<Inner> && !reflect::HasWords<std::initializer_list<int>>);
}

}  // namespace
}  // namespace kiln
