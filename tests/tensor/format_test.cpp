// The expected texts are NumPy 2.4's str() of the same arrays, its True and False in lower case.
#include "kiln/tensor/text/format.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <csignal>
#include <cstdio>
#include <exception>
#include <numeric>

#include <gtest/gtest.h>

#include "kiln/tensor/arithmetic.hpp"
#include "kiln/tensor/create.hpp"
#include "kiln/tensor/text/print.hpp"

namespace kiln {
namespace {

template <class T>
std::string shown(const Shape& shape, std::initializer_list<T> values, const PrintOptions& options = {}) {
  return to_text(TensorData::of<T>(shape, values), options);
}

std::string counted(const Shape& shape, const PrintOptions& options = {}) {
  std::vector<float> values(static_cast<std::size_t>(numel(shape)));
  std::iota(values.begin(), values.end(), 0.0f);
  return to_text(TensorData::of<float>(shape, std::span<const float>(values)), options);
}

TEST(Format, NestsBracketsAndAlignsColumns) {
  EXPECT_EQ(shown<float>({2, 3}, {1, 2, 3, 4, 5, 6}),
            "[[1. 2. 3.]\n"
            " [4. 5. 6.]]");
  EXPECT_EQ(shown<float>({2, 2}, {1.5f, -2, 3.25f, 600}),
            "[[  1.5   -2.  ]\n"
            " [  3.25 600.  ]]");
  EXPECT_EQ(shown<float>({2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8}),
            "[[[1. 2.]\n"
            "  [3. 4.]]\n"
            "\n"
            " [[5. 6.]\n"
            "  [7. 8.]]]");
  EXPECT_EQ(shown<float>({2, 1, 1, 2}, {1, 2, 3, 4}),
            "[[[[1. 2.]]]\n"
            "\n"
            "\n"
            " [[[3. 4.]]]]");
  EXPECT_EQ(shown<float>({3}, {-0.0f, 0, 10}), "[-0.  0. 10.]");
}

TEST(Format, UsesExponentsWhereTheyAreEasierToRead) {
  EXPECT_EQ(shown<float>({3}, {1e-5f, 1, 2}), "[1.e-05 1.e+00 2.e+00]");
  EXPECT_EQ(shown<float>({2}, {1e-4f, 0.05f}), "[0.0001 0.05  ]");
  EXPECT_EQ(shown<float>({3}, {1e10f, 1, -2}), "[ 1.e+10  1.e+00 -2.e+00]");
  EXPECT_EQ(shown<float>({2}, {1, 1001}), "[1.000e+00 1.001e+03]");
  EXPECT_EQ(shown<double>({3}, {-1e-300, 1e300, 0}), "[-1.e-300  1.e+300  0.e+000]");
  EXPECT_EQ(shown<float>({2}, {99999992, 1e5f}), "[9.999999e+07 1.000000e+05]");
  EXPECT_EQ(shown<float>({2}, {1e8f, 1e8f}), "[1.e+08 1.e+08]");
}

TEST(Format, ShowsTheFewestDigitsThatNameTheNumber) {
  EXPECT_EQ(shown<float>({3}, {0.1f, 0.2f, 1.0f / 3}), "[0.1        0.2        0.33333334]");
  EXPECT_EQ(shown<double>({3}, {0.1, 2.0 / 3, 100}), "[  0.1          0.66666667 100.        ]");
  EXPECT_EQ(shown<F16>({3}, {F16(0.1f), F16(1.0f), F16(3.14159f)}), "[0.1  1.   3.14]");
  EXPECT_EQ(shown<double>({2}, {0.123456785, 12345.678901234567}), "[1.23456785e-01 1.23456789e+04]");
}

TEST(Format, ShowsWhatIsNotANumber) {
  EXPECT_EQ(shown<float>({4}, {NAN, 1.25f, -INFINITY, INFINITY}), "[ nan 1.25 -inf  inf]");
  EXPECT_EQ(shown<float>({2}, {NAN, -INFINITY}), "[ nan -inf]");
  EXPECT_EQ(shown<float>({3}, {NAN, 1e-10f, 1}), "[   nan 1.e-10 1.e+00]");
}

TEST(Format, ShowsIntegersAndBooleans) {
  EXPECT_EQ(shown<std::int64_t>({2, 2}, {1, -20, 300, 4}),
            "[[  1 -20]\n"
            " [300   4]]");
  EXPECT_EQ(shown<std::uint64_t>({2}, {18446744073709551615u, 0}), "[18446744073709551615                    0]");
  EXPECT_EQ(shown<std::int8_t>({2}, {-128, 65}), "[-128   65]");
  EXPECT_EQ(shown<bool>({2, 2}, {true, false, false, true}),
            "[[ true false]\n"
            " [false  true]]");
  EXPECT_EQ(shown<bool>({2}, {true, true}), "[ true  true]");
}

TEST(Format, LeavesOutTheMiddleOfWhatIsLong) {
  EXPECT_EQ(counted({2000}), "[0.000e+00 1.000e+00 2.000e+00 ... 1.997e+03 1.998e+03 1.999e+03]");
  EXPECT_EQ(counted({2, 10, 100}),
            "[[[0.000e+00 1.000e+00 2.000e+00 ... 9.700e+01 9.800e+01 9.900e+01]\n"
            "  [1.000e+02 1.010e+02 1.020e+02 ... 1.970e+02 1.980e+02 1.990e+02]\n"
            "  [2.000e+02 2.010e+02 2.020e+02 ... 2.970e+02 2.980e+02 2.990e+02]\n"
            "  ...\n"
            "  [7.000e+02 7.010e+02 7.020e+02 ... 7.970e+02 7.980e+02 7.990e+02]\n"
            "  [8.000e+02 8.010e+02 8.020e+02 ... 8.970e+02 8.980e+02 8.990e+02]\n"
            "  [9.000e+02 9.010e+02 9.020e+02 ... 9.970e+02 9.980e+02 9.990e+02]]\n"
            "\n"
            " [[1.000e+03 1.001e+03 1.002e+03 ... 1.097e+03 1.098e+03 1.099e+03]\n"
            "  [1.100e+03 1.101e+03 1.102e+03 ... 1.197e+03 1.198e+03 1.199e+03]\n"
            "  [1.200e+03 1.201e+03 1.202e+03 ... 1.297e+03 1.298e+03 1.299e+03]\n"
            "  ...\n"
            "  [1.700e+03 1.701e+03 1.702e+03 ... 1.797e+03 1.798e+03 1.799e+03]\n"
            "  [1.800e+03 1.801e+03 1.802e+03 ... 1.897e+03 1.898e+03 1.899e+03]\n"
            "  [1.900e+03 1.901e+03 1.902e+03 ... 1.997e+03 1.998e+03 1.999e+03]]]");
  EXPECT_EQ(counted({1000, 2}),
            "[[0.000e+00 1.000e+00]\n"
            " [2.000e+00 3.000e+00]\n"
            " [4.000e+00 5.000e+00]\n"
            " ...\n"
            " [1.994e+03 1.995e+03]\n"
            " [1.996e+03 1.997e+03]\n"
            " [1.998e+03 1.999e+03]]");
  EXPECT_EQ(counted({3, 4}, {.threshold = 5, .edge_items = 1}),
            "[[ 0. ...  3.]\n"
            " ...\n"
            " [ 8. ... 11.]]");
}

TEST(Format, WrapsLongRows) {
  EXPECT_EQ(counted({40}),
            "[ 0.  1.  2.  3.  4.  5.  6.  7.  8.  9. 10. 11. 12. 13. 14. 15. 16. 17.\n"
            " 18. 19. 20. 21. 22. 23. 24. 25. 26. 27. 28. 29. 30. 31. 32. 33. 34. 35.\n"
            " 36. 37. 38. 39.]");
  EXPECT_EQ(counted({2, 30}),
            "[[ 0.  1.  2.  3.  4.  5.  6.  7.  8.  9. 10. 11. 12. 13. 14. 15. 16. 17.\n"
            "  18. 19. 20. 21. 22. 23. 24. 25. 26. 27. 28. 29.]\n"
            " [30. 31. 32. 33. 34. 35. 36. 37. 38. 39. 40. 41. 42. 43. 44. 45. 46. 47.\n"
            "  48. 49. 50. 51. 52. 53. 54. 55. 56. 57. 58. 59.]]");
  EXPECT_EQ(counted({8}, {.line_width = 12}),
            "[0. 1. 2.\n"
            " 3. 4. 5.\n"
            " 6. 7.]");
  EXPECT_EQ(counted({3}, {.line_width = 1}),
            "[0.\n"
            " 1.\n"
            " 2.]");
}

TEST(Format, TakesOptions) {
  EXPECT_EQ(shown<float>({3}, {1.23456789f, 2.5f, 100.125f}, {.precision = 3}), "[  1.235   2.5   100.125]");
  EXPECT_EQ(shown<float>({3}, {1.23456789f, 1e-7f, 100.125f}, {.precision = 4, .suppress_small = true}),
            "[  1.2346   0.     100.125 ]");
  EXPECT_EQ(shown<double>({2}, {1.0 / 3, 1e9}, {.precision = 3}), "[3.333e-01 1.000e+09]");
  EXPECT_EQ(shown<float>({2}, {1.5f, 2.5f}, {.precision = 0}), "[2. 2.]");
}

TEST(Format, TheChoiceOfExponentsCanBeMade) {
  EXPECT_EQ(shown<float>({2}, {1.5f, -20}, {.exponents = Exponents::Always}), "[ 1.5e+00 -2.0e+01]");
  EXPECT_EQ(shown<float>({2}, {1e-5f, 1e9f}, {.precision = 6, .exponents = Exponents::Never}),
            "[         0.00001 1000000000.     ]");
  EXPECT_EQ(shown<float>({}, {INFINITY}, {.exponents = Exponents::Always}), "inf");
  EXPECT_EQ(shown<float>({}, {0}, {.exponents = Exponents::Always}), "0e+00");
  EXPECT_EQ(shown<std::int64_t>({2}, {1, 20}, {.exponents = Exponents::Always}), "[ 1 20]");
  const auto x = Tensor<1>::of({1.0 / 3, 1e6}, Device::cpu());
  EXPECT_EQ(fmt::format("{:.3e} {:.2f} {:f}", x, x, x * 0), "[3.333e-01 1.000e+06] [      0.33 1000000.  ] [0. 0.]");
}

TEST(Format, ShowsWhatIsEmptyAndWhatHasRankZero) {
  EXPECT_EQ(shown<float>({0, 3}, {}), "[]");
  EXPECT_EQ(shown<float>({}, {3}), "3.0");
  EXPECT_EQ(shown<float>({}, {1e-5f}), "1e-05");
  EXPECT_EQ(shown<float>({}, {-INFINITY}), "-inf");
  EXPECT_EQ(shown<std::int64_t>({}, {-7}), "-7");
  EXPECT_EQ(shown<bool>({}, {true}), "true");
}

TEST(Format, ShowsBfloat16ByItsOwnDigits) {  // which NumPy lacks: 0.1 is stored as 0.10009765625, 3.14 as 3.140625
  EXPECT_EQ(shown<BF16>({3}, {BF16(0.1f), BF16(3.14f), BF16(-4.0f)}), "[ 0.1   3.14 -4.  ]");
}

TEST(Format, GlobalOptionsHoldForEveryText) {
  const auto x = Tensor<1>::of({1.0 / 3, 2.0 / 3}, Device::best());
  const PrintOptions before = print_options();
  set_print_options({.precision = 2});
  EXPECT_EQ(to_text(x), "[0.33 0.67]");
  set_print_options(before);
  EXPECT_EQ(to_text(x), "[0.33333334 0.6666667 ]");
}

TEST(Print, IsSeenThoughAnErrorEndsTheProgram) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  std::fflush(stdout);
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(ends[1], STDOUT_FILENO);
    ::close(STDERR_FILENO);
    std::setvbuf(stdout, nullptr, _IOFBF, 4096);  // as where a file or another program reads
    print("kept {}\n", 1);
    std::terminate();
  }
  ::close(ends[1]);
  char seen[64] = {};
  EXPECT_EQ(::read(ends[0], seen, sizeof seen - 1), 7);
  EXPECT_STREQ(seen, "kept 1\n");
  ::close(ends[0]);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT) << status;  // as without print()
}

TEST(Format, FmtKnowsWhatTensorsAreMadeOf) {
  const Device device = Device::cpu();
  const auto x = Tensor<1>::of({1.0 / 3, 2.0 / 3}, device);
  EXPECT_EQ(fmt::format("{} {:.3} {}", x, x, Value(x.sum())), "[0.33333334 0.6666667 ] [0.333 0.667] 1.0");
  EXPECT_EQ(fmt::format("{} {} {} {}", x.shape(), x.dtype(), device, device.autodiff()),
            "[2] float32 cpu cpu (autodiff)");
}

}  // namespace
}  // namespace kiln
