// Errors of operations name the line of the program that asked for them. This file is compiled with debug information,
// and outside of Kiln's namespace, where users' code is.
#include <gtest/gtest.h>

#include "kiln/core/error/trace.hpp"
#include "kiln/tensor/tensor.hpp"
#include "tests/fusion/fused_device.hpp"

namespace {

int line_of_call = 0, line_of_use = 0;

/// The error of `call`, whole.
template <class F>
std::string error_of(F call) {
  try {
    call();
  } catch (const kiln::Error& error) { return error.what(); }
  return "no error";
}

std::string calls_of(const std::string& sentence) { return sentence.substr(kiln::without_calls(sentence).size()); }

}  // namespace

struct Project {
  kiln::Tensor<2> weight;
  [[gnu::noinline]] kiln::Tensor<2> forward(const kiln::Tensor<2>& x) const {
    line_of_call = __LINE__ + 1;
    kiln::Tensor<2> y = x.matmul(weight);
    return y;
  }
};

[[gnu::noinline]] kiln::Tensor<2> use(const Project& project, const kiln::Tensor<2>& x) {
  line_of_use = __LINE__ + 1;
  kiln::Tensor<2> y = project.forward(x);
  return y;
}

TEST(Places, AreInErrorsOfShapes) {
  const kiln::test::FusedDevice fused;
  const Project project{kiln::Tensor<2>::zeros({4, 2}, fused.device)};
  const auto x = kiln::Tensor<2>::zeros({5, 3}, fused.device);
  const std::string sentence = error_of([&] { (void)use(project, x); });
  EXPECT_TRUE(sentence.starts_with("ShapeError: matmul: ")) << sentence;
  EXPECT_TRUE(
      calls_of(sentence).starts_with(kiln::text("\n  called from places_test.cpp:", line_of_call, " Project::forward",
                                                "\n  called from places_test.cpp:", line_of_use, " use")))
      << sentence;
}

[[gnu::noinline]] kiln::Value look_up(const kiln::Value& table, const kiln::Value& index) {
  line_of_call = __LINE__ + 1;
  kiln::Value found = select(table, 0, index);
  return found;
}

[[gnu::noinline]] void read_late(const kiln::Value& value) {
  (void)value.data();
  line_of_use = __LINE__;
}

TEST(Places, OfLateErrorsAreWhereTheWorkWasAskedFor) {
  const kiln::test::FusedDevice fused;
  const kiln::Value far = full({1}, 9, fused.device, kiln::DType::I64);
  const kiln::Value wrong = look_up(fused.of({4, 2}), far);
  const std::string sentence = error_of([&] { read_late(wrong); });
  EXPECT_TRUE(sentence.starts_with("IndexError: select: index 9 ")) << sentence;
  const std::string calls = calls_of(sentence);
  EXPECT_TRUE(calls.starts_with(kiln::text("\n  called from places_test.cpp:", line_of_call, " look_up"))) << sentence;
  EXPECT_EQ(calls.find("read_late"), std::string::npos) << sentence;
}
