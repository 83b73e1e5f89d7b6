// Elementwise steps: how many vectors a thread takes, and what is divided by.
#include <limits>

#include "tests/backend/gpu/family/watched.hpp"

namespace kiln::test {
namespace {

TEST(GpuPointwise, TakesTwoVectorsOfMany) {
  constexpr std::int64_t kHalf = (std::int64_t{1} << 21) + 4;  // less than many
  const Value x = from_data(whole_numbers({2, kHalf}, DType::F32, 31), simulated());
  const TensorData all = exp(x).data();
  for (const std::int64_t half : {0, 1}) {
    const TensorData part = exp(narrow(x, 0, half, 1)).data();
    const auto bytes = part.bytes();
    EXPECT_TRUE(
        std::ranges::equal(all.bytes().subspan(static_cast<std::size_t>(half) * bytes.size(), bytes.size()), bytes))
        << half;
  }
}

/// The quotients of numbers of all sizes, on a device, and the kernel that made them.
std::pair<std::vector<float>, std::string> divided(double by, bool fused) {
  WatchedDevice watched;
  const float largest = std::numeric_limits<float>::max(), least = std::numeric_limits<float>::denorm_min();
  const std::vector<float> numbers{1, -3, 0, -0.0f, 7e-39f, 3 * least, largest, -largest, INFINITY, NAN, 5.5f, 1e-30f};
  const Value x = from_data(TensorData::of<float>({12}, std::span<const float>(numbers)), watched.device);
  const Value y = fused ? neg(x / by) : x / by;
  const std::vector<float> found = y.data().to_vector<float>();
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const float wanted = (fused ? -1.0f : 1.0f) * (numbers[i] / static_cast<float>(by));
    if (std::isnan(wanted)) EXPECT_TRUE(std::isnan(found[i])) << numbers[i] << " / " << by;
    else EXPECT_EQ(std::signbit(found[i]), std::signbit(wanted)) << numbers[i] << " / " << by;
    EXPECT_TRUE(found[i] == wanted || std::isnan(wanted)) << numbers[i] << " / " << by << " is " << found[i];
  }
  return {found, watched.driver->texts["elementwise"]};
}

TEST(GpuPointwise, MultipliesByReciprocalsThatAreExact) {
  for (const bool fused : {false, true}) {
    for (const double by : {2.0, -0.25, 1024.0, 1.0})
      EXPECT_EQ(divided(by, fused).second.find(" / "), std::string::npos);
    for (const double by : {3.0, 0.0, 1e-40, std::numeric_limits<double>::infinity(), 0x1p-126})
      EXPECT_NE(divided(by, fused).second.find(" / "), std::string::npos) << by;
  }
}

// A number that something else reads as well stays what it is.
TEST(GpuPointwise, DividesByWhatIsReadElsewhere) {
  WatchedDevice watched;
  const Value x = watched.of({40});
  const std::vector<double> numbers = x.data().to_vector<double>();
  std::vector<double> wanted;
  for (const double number : numbers) wanted.push_back((number + 4) / 4);
  expect_near((x + 4.0) / 4.0, wanted, 0, "a sum and a quotient of one number");
}

}  // namespace
}  // namespace kiln::test
