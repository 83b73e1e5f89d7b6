// Colours beside OpenCV's.
#include "kiln/vision/colour.hpp"

#include "tests/vision/figures.hpp"

namespace kiln::vision {
namespace {

struct Space {
  const char* name;
  Value (*there)(const Value&);
  Value (*back)(const Value&);
  double bytes, bytes_back;    // how far bytes may be off
  double floats, floats_back;  // and floats
};
// OpenCV interpolates L*a*b* in a coarse table. Hues are degrees.
constexpr Space kSpaces[] = {{"hsv", rgb_to_hsv, hsv_to_rgb, 0, 1, 2e-4, 1e-5},
                             {"hls", rgb_to_hls, hls_to_rgb, 1, 1, 2e-4, 1e-5},
                             {"ycbcr", rgb_to_ycbcr, ycbcr_to_rgb, 0, 0, 1e-6, 2e-6},
                             {"lab", rgb_to_lab, lab_to_rgb, 1, 1, 0.3, 5e-4}};

TEST(Colour, IsGrey) {
  expect_same(rgb_to_grey(stored_value("colours.bytes")), "colours.bytes.grey");
  expect_near(rgb_to_grey(stored_value("colours.floats")), "colours.floats.grey", 1e-6);
  EXPECT_EQ(difference(grey_to_rgb(bytes(1, 1, {7})).data(), TensorData::of<std::uint8_t>({1, 3, 1, 1}, {7, 7, 7})),
            "");
}

TEST(Colour, IsOpenCvs) {
  for (const Space& space : kSpaces)
    for (const bool floats : {false, true}) {
      const std::string kind = floats ? "colours.floats" : "colours.bytes", name = kind + "." + space.name;
      expect_near(space.there(stored_value(kind)), name, floats ? space.floats : space.bytes);
      expect_near(space.back(stored_value(name)), name + ".back", floats ? space.floats_back : space.bytes_back);
    }
}

TEST(Colour, OfLabIsCies) {
  const TensorData x = numbers_of({1, 3, 5, 5}, 0, 1);
  const std::vector<double> found = rgb_to_lab(from_data(x, test::cpu)).data().to_vector<double>();
  const auto linear = [](double v) { return v <= 0.04045 ? v / 12.92 : std::pow((v + 0.055) / 1.055, 2.4); };
  const auto curve = [](double t) { return t > 216.0 / 24389 ? std::cbrt(t) : t * 841 / 108 + 4.0 / 29; };
  for (std::int64_t i = 0; i < 25; ++i) {
    const double r = linear(x.at(i)), g = linear(x.at(25 + i)), b = linear(x.at(50 + i));
    const double fx = curve((0.412453 * r + 0.357580 * g + 0.180423 * b) / 0.950456);
    const double fy = curve(0.212671 * r + 0.715160 * g + 0.072169 * b);
    const double fz = curve((0.019334 * r + 0.119193 * g + 0.950227 * b) / 1.088754);
    const auto at = static_cast<std::size_t>(i);
    EXPECT_NEAR(found[at], 116 * fy - 16, 1e-9);
    EXPECT_NEAR(found[25 + at], 500 * (fx - fy), 1e-9);
    EXPECT_NEAR(found[50 + at], 200 * (fy - fz), 1e-9);
  }
}

TEST(Colour, ComesBack) {
  const Value x = from_data(numbers_of({1, 3, 9, 7}, 0, 1), test::cpu);
  for (const Space& space : kSpaces)
    EXPECT_EQ(
        difference(space.back(space.there(x)).data(), x.data(), {0, std::string(space.name) == "ycbcr" ? 2e-3 : 1e-4}),
        "")
        << space.name;
}

TEST(Colour, HasGradients) {
  const TensorData x = numbers_of({1, 3, 3, 2});
  expect_gradients(x, [](const Value& v) { return rgb_to_grey(v); });
  for (const Space& space : kSpaces) {
    expect_gradients(x, [&](const Value& v) { return space.there(v); }, 1e-5);
    expect_gradients(x, [&](const Value& v) { return space.back(space.there(v)); }, 1e-5);
  }
}

TEST(Colour, OfBlackAndWhiteIsFinite) {
  const Value ends = cat(Values{zeros({1, 3, 1, 2}, test::cpu), ones({1, 3, 1, 2}, test::cpu)}, 0);
  for (const Space& space : kSpaces)
    EXPECT_EQ(difference(space.back(space.there(ends)).data(), ends.data(), {0, 1e-4}), "") << space.name;
}

TEST(Colour, SaysWhatIsWrong) {
  EXPECT_EQ(sentence_of([] { return rgb_to_hsv(zeros({1, 4, 2, 2}, test::cpu)); }),
            "ShapeError: rgb_to_hsv: needs 3 channels, got pictures [1, 4, 2, 2]");
  EXPECT_EQ(sentence_of([] { return rgb_to_lab(zeros({1, 3, 2, 2}, test::cpu, DType::I32)); }),
            "DTypeError: rgb_to_lab: colours are floats or uint8, got int32");
  EXPECT_EQ(rgb_to_hls(zeros({1, 3, 0, 2}, test::cpu)).shape(), (Shape{1, 3, 0, 2}));
}

}  // namespace
}  // namespace kiln::vision
