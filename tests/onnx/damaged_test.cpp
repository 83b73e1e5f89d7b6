// Small models cut at every length, and changed in many thousand ways: taken or refused, never a crash.
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "kiln/onnx/model.hpp"
#include "tests/onnx/small_models.hpp"
#include "tests/support/devices.hpp"
#include "tests/support/long.hpp"

namespace kiln::onnx::test {
namespace {

using kiln::test::cpu;

// Inputs of the declared types; sizes that are free or absurd are 4.
std::vector<Datum> inputs_of(const Model& model) {
  std::vector<Datum> in;
  for (const ValueInfo& info : model.inputs()) {
    Shape shape;
    if (info.type.shape)
      for (const DimProto& dim : *info.type.shape) {
        if (shape.size() == kMaxRank) break;
        shape.push_back(dim.value && *dim.value > 0 && *dim.value < 64 ? *dim.value : 4);
      }
    const bool numbers = is_known(info.type.element) && info.type.element != Element::String && numel(shape) < 4096;
    in.push_back(numbers ? Datum(zeros(shape, cpu, dtype_of(info.type.element)), info.type.element)
                         : Datum(zeros({4}, cpu)));
  }
  return in;
}

// Loads, and runs where that works. Whether it was taken.
bool is_taken(const std::string& bytes, bool run) {
  try {
    const Model model = load(bytes_of(bytes), "m.onnx", "", cpu, {.most_trips = 100});
    if (run)
      for (const Datum& out : model.run(inputs_of(model)))
        if (out.is_tensor() && out.value().numel() < 1 << 20) out.value().data();
    return true;
  } catch (const Error&) { return false; }
}

TEST(Damaged, ModelsCutAtEveryLengthAreTakenOrRefused) {
  for (const std::string& bytes : small_models()) {
    EXPECT_TRUE(is_taken(bytes, true));
    int taken = 0;
    for (std::size_t length = 0; length < bytes.size(); ++length) {
      const std::vector<char> exact(bytes.begin(),
                                    bytes.begin() + static_cast<std::ptrdiff_t>(length));  // nothing lies behind it
      taken += is_taken(std::string(exact.begin(), exact.end()), false);
    }
    EXPECT_LT(taken, static_cast<int>(bytes.size()) / 8);  // whole but for operator sets at the end
  }
}

TEST(Damaged, ChangedModelsAreTakenOrRefused) {
  const char* const wanted = std::getenv("KILN_MUTATIONS");
  const int count = wanted ? std::atoi(wanted) : kiln::test::is_long() ? 50'000 : 5000;
  cpu.set_memory_limit(std::int64_t{1} << 30);
  const std::vector<std::string> models = small_models();
  std::mt19937 random(1);
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  int taken = 0;
  for (int i = 0; i < count; ++i) {
    const std::string& from = models[below(models.size())];
    std::string bytes = from;
    for (std::size_t change = 1 + below(3); change-- > 0;) {
      const std::size_t at = below(bytes.size());
      switch (below(6)) {
        case 0: bytes[at] = static_cast<char>(random()); break;
        case 1: bytes[at] = static_cast<char>(bytes[at] ^ 1 << below(8)); break;
        case 2: bytes.erase(at, 1 + below(8)); break;
        case 3: bytes.insert(at, bytes.substr(below(bytes.size()), below(16))); break;
        case 4: bytes[at] = static_cast<char>(std::string_view("\xff\x7f\x80\x00\x01", 5)[below(5)]); break;
        default: bytes.replace(at, 1 + below(12), models[below(models.size())].substr(below(64), below(24)));
      }
      if (bytes.empty()) bytes = from;
    }
    taken += is_taken(bytes, true);
  }
  EXPECT_GT(taken, count / 200);  // some changes reach the run time
  EXPECT_LT(taken, count);
}

}  // namespace
}  // namespace kiln::onnx::test
