// Functions of C++ called as JavaScript calls them: types, errors, handles, callbacks, and bytes that no codec writes.
#include <array>
#include <cmath>
#include <new>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kiln/browser/handles.hpp"
#include "kiln/tensor/arithmetic.hpp"
#include "tests/browser/javascript.hpp"

namespace kiln {
namespace {

using test::Arguments;
using test::called;
using testing::HasSubstr;
using testing::StartsWith;

struct Options {
  double rate = 0.5;
  std::int64_t steps = 3;
  std::optional<std::string> name = {};
};
struct Answer {
  double rate;
  std::vector<std::int64_t> steps;
  std::string name;
};
struct Counter {
  explicit Counter(std::int64_t from) : at(from) {}
  std::int64_t at;
};

namespace elsewhere {
struct Counter {
  std::string words = "no number";
};
}  // namespace elsewhere

double half(double x) { return x / 2; }
bool negate(bool x) { return !x; }
std::int8_t small(std::int8_t x) { return x; }
Answer echo(const Options& options) {
  return {options.rate, std::vector<std::int64_t>(static_cast<std::size_t>(options.steps), 7),
          options.name.value_or("none")};
}
Tensor<2> doubled(const Tensor<2>& x) { return x * 2.0; }
TensorData bytes(const TensorData& data) { return data; }
std::shared_ptr<Counter> counter(std::int64_t from) { return std::make_shared<Counter>(from); }
std::shared_ptr<elsewhere::Counter> other_counter() { return std::make_shared<elsewhere::Counter>(); }
std::int64_t count(const std::shared_ptr<Counter>& counter) { return ++counter->at; }
std::int64_t until_told(std::int64_t most, const browser::Callback& each) {
  std::int64_t i = 0;
  while (i < most && each.call(browser::to_item(++i))) {}
  return i;
}
void throws(std::int64_t what) {
  if (what == 0) throw std::bad_alloc();
  if (what == 1) throw std::runtime_error("no luck");
  if (what == 2) throw 3;
  if (what == 4) throw std::length_error("vector");
  fail<DataError>("a sentence");
}

constexpr std::array kFunctions{
    browser::function<half>("half"),       browser::function<negate>("negate"),
    browser::function<small>("small"),     browser::function<echo>("echo"),
    browser::function<doubled>("doubled"), browser::function<bytes>("bytes"),
    browser::function<counter>("counter"), browser::function<other_counter>("other_counter"),
    browser::function<count>("count"),     browser::function<until_told>("until_told"),
    browser::function<throws>("throws"),
};

class Call : public testing::Test {
 protected:
  static void SetUpTestSuite() { browser::offer(kFunctions); }
};

TEST_F(Call, ConvertsArgumentsAndResults) {
  EXPECT_EQ(called("half", Arguments().list(1).number(5)), "2.5");
  EXPECT_EQ(called("half", Arguments().list(1).number(std::nan(""))), "nan");
  EXPECT_EQ(called("negate", Arguments().list(1).truth(false)), "true");
  EXPECT_EQ(called("small", Arguments().list(1).number(-128)), "-128");
  EXPECT_EQ(called("echo", Arguments().list(1).record(0)), R"({rate: 0.5, steps: [7, 7, 7], name: "none"})");
  EXPECT_EQ(called("echo",
                   Arguments().list(1).record(3).name("steps").number(1).name("name").text("ä").name("rate").number(2)),
            R"({rate: 2, steps: [7], name: "ä"})");
  EXPECT_EQ(called("echo", Arguments().list(1).record(1).name("name").null()),
            R"({rate: 0.5, steps: [7, 7, 7], name: "none"})");
  EXPECT_THAT(called("kiln.functions", Arguments().list(0)), StartsWith(R"(["half", "negate", "small")"));
}

TEST_F(Call, SaysWhichArgumentIsWrong) {
  EXPECT_EQ(called("half", Arguments().list(1).text("5")),
            "ArgumentError: half: argument 1 should be a number, and is a text");
  EXPECT_EQ(called("half", Arguments().list(0)), "ArgumentError: half: argument 1 should be a number, and is null");
  EXPECT_EQ(called("half", Arguments().list(2).number(1).number(2)),
            "ArgumentError: half: takes 1 argument, and got 2");
  EXPECT_EQ(called("small", Arguments().list(1).number(128)),
            "ArgumentError: small: argument 1 should be a whole number from -128 to 127, and is 128");
  EXPECT_EQ(called("small", Arguments().list(1).number(0.5)),
            "ArgumentError: small: argument 1 should be a whole number from -128 to 127, and is 0.5");
  EXPECT_THAT(called("count", Arguments().list(1).number(1e300)), HasSubstr("should be a Counter, and is a number"));
  EXPECT_EQ(called("echo", Arguments().list(1).record(1).name("step").number(1)),
            "ArgumentError: echo: argument 1 has no 'step' (did you mean 'steps'?)");
  EXPECT_EQ(called("echo", Arguments().list(1).record(1).name("rate").truth(true)),
            "ArgumentError: echo: argument 1, 'rate' should be a number, and is a truth value");
  EXPECT_EQ(called("hal", Arguments().list(0)),
            "ArgumentError: the page's C++ offers no function 'hal' (did you mean 'half'?)");
  EXPECT_THAT(called("half", Arguments().number(1)), HasSubstr("the arguments should be a list, and is a number"));
}

TEST_F(Call, NamesEveryError) {
  EXPECT_EQ(called("throws", Arguments().list(1).number(3)), "DataError: a sentence");
  for (const double of_memory : {0, 4})
    EXPECT_THAT(called("throws", Arguments().list(1).number(of_memory)),
                StartsWith("MemoryError: the memory of this page is used up"));
  EXPECT_EQ(called("throws", Arguments().list(1).number(1)), "Error: no luck");
  EXPECT_EQ(called("throws", Arguments().list(1).number(2)), "Error: the function threw what is no std::exception");
  EXPECT_THROW(browser::offer(kFunctions), ArgumentError);  // names that are there already
}

/// The handle at the end of "float32 [2] #7".
double handle_in(const std::string& answer) { return std::stod(answer.substr(answer.rfind('#') + 1)); }

TEST_F(Call, HoldsTensorsAndObjectsUntilTheyAreDisposed) {
  const std::size_t before = browser::handles();
  const std::string tensor = called("kiln.tensor", Arguments()
                                                       .list(1)
                                                       .record(2)
                                                       .name("data")
                                                       .array<float>("float32", {1, 2, 3, 4, 5, 6})
                                                       .name("shape")
                                                       .list(2)
                                                       .number(2)
                                                       .number(3));
  EXPECT_THAT(tensor, StartsWith("float32 [2, 3] #"));
  const std::string twice = called("doubled", Arguments().list(1).tensor(handle_in(tensor)));
  EXPECT_EQ(called("kiln.read", Arguments().list(1).tensor(handle_in(twice))), "float32[2, 3] 2 4 6 8 10 12");
  EXPECT_EQ(browser::handles(), before + 2);
  EXPECT_EQ(called("kiln.dispose", Arguments().list(1).list(2).number(handle_in(tensor)).number(handle_in(twice))),
            "null");
  EXPECT_EQ(browser::handles(), before);
  EXPECT_THAT(called("kiln.read", Arguments().list(1).tensor(handle_in(tensor))), HasSubstr("was disposed: keep it"));
  EXPECT_EQ(called("kiln.dispose", Arguments().list(1).list(1).number(handle_in(tensor))), "null");

  const std::string object = called("counter", Arguments().list(1).number(40));
  EXPECT_THAT(object, StartsWith("Counter #"));
  EXPECT_EQ(called("count", Arguments().list(1).object(handle_in(object))), "41");
  EXPECT_EQ(called("count", Arguments().list(1).object(handle_in(object))), "42");
  EXPECT_THAT(called("half", Arguments().list(1).object(handle_in(object))), HasSubstr("and is a Counter"));
  called("kiln.dispose", Arguments().list(1).list(1).number(handle_in(object)));

  const std::string other = called("other_counter", Arguments().list(0));
  EXPECT_THAT(called("count", Arguments().list(1).object(handle_in(other))), StartsWith("ArgumentError"));
  called("kiln.dispose", Arguments().list(1).list(1).number(handle_in(other)));
}

TEST_F(Call, TakesTypedArrays) {
  EXPECT_EQ(called("bytes", Arguments().list(1).array<float>("float32", {0.5, -1})), "float32[2] 0.5 -1");
  const std::string tensor = called("doubled", Arguments().list(1).array<float>("float32", {1, 2}, {1, 2}));
  EXPECT_EQ(called("bytes", Arguments().list(1).tensor(handle_in(tensor))), "float32[1, 2] 2 4");
  EXPECT_THAT(called("doubled", Arguments().list(1).array<float>("float32", {1, 2})),
              HasSubstr("should be a tensor of floats with 2 dimensions, and is float32 [2]"));
  EXPECT_THAT(called("doubled", Arguments().list(1).array<std::int32_t>("int32", {1, 2}, {1, 2})),
              HasSubstr("and is int32 [1, 2]"));
  EXPECT_THAT(called("bytes", Arguments().list(1).array<float>("float32", {1, 2}, {3})), StartsWith("ShapeError"));
  for (const double size : {std::nan(""), -1.0, 1.5, 1e300})
    EXPECT_THAT(called("bytes", Arguments().list(1).array<float>("float32", {1, 2}, {size, 2})),
                HasSubstr("sizes are whole numbers from 0"));
  EXPECT_THAT(called("bytes", Arguments().list(1).array<float>("float31", {1, 2})), StartsWith("DTypeError"));
  called("kiln.dispose", Arguments().list(1).list(1).number(handle_in(tensor)));
}

TEST_F(Call, CallsFunctionsOfJavaScript) {
  std::vector<std::string> heard;
  test::on_callback = [&](int number, const std::string& item) {
    heard.push_back(text(number, ": ", item));
    return heard.size() < 3;
  };
  EXPECT_EQ(called("until_told", Arguments().list(2).number(9).function(4)), "3");
  EXPECT_EQ(heard, (std::vector<std::string>{"4: 1", "4: 2", "4: 3"}));
}

TEST_F(Call, RefusesBytesThatNoCodecWrites) {
  Arguments deep;
  deep.list(1);
  for (int i = 0; i < 1000; ++i) deep.list(1);
  deep.null();
  EXPECT_THAT(called("half", deep), HasSubstr("it nests too deep"));
  EXPECT_THAT(called("half", Arguments().tag(11)), HasSubstr("there is no such tag"));
  EXPECT_THAT(called("half", Arguments().list(1e9)), HasSubstr("it is cut"));
  EXPECT_THAT(called("half", Arguments().list(-1)), HasSubstr("a size is none"));
  EXPECT_THAT(called("half", Arguments().list(1).number(1).null()), HasSubstr("bytes follow its end"));
  const Arguments whole = Arguments().list(1).record(1).name("rate").number(2);
  for (std::size_t length = 0; length < whole.bytes.size(); ++length) {
    Arguments cut = whole;
    cut.bytes.resize(length);
    EXPECT_THAT(called("echo", cut), StartsWith("DataError: browser: an argument is damaged"));
  }
}

// This program has no WebGPU, as the smaller of a page's modules.
TEST_F(Call, SaysWhichModuleHasTheGpu) {
  EXPECT_EQ(called("kiln.use_device", Arguments().list(1).text("webgpu")),
            "DeviceError: no device 'webgpu' in this module: Kiln.start({device: 'webgpu'}) takes the one that has it, "
            "NAME.webgpu.js");
  EXPECT_THAT(called("kiln.use_device", Arguments().list(1).text("gpu")),
              StartsWith("DeviceError: no device 'gpu'; there are: "));
}

}  // namespace
}  // namespace kiln
