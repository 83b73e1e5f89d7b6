// A network that has learned to read digits, on the smallest board: a Cortex-M0 with 256 KB of flash and 16 KB of memory.
#include <gtest/gtest.h>

#include "kiln/kiln.hpp"
#include "tests/compile/boards.hpp"
#include "tests/compile/digits.hpp"

namespace kiln::compile {
namespace {

/// Reads pictures that lie as bytes in flash, and says how many it reads right.
std::string main_of(const CompiledCode& code, const std::vector<Image>& images) {
  std::string out = text("#include \"", code.name, ".h\"\n#include \"board.h\"\nstatic const unsigned char pixels[",
                         images.size(), "][784] = {\n"),
              labels;
  for (const Image& image : images) {
    out += "{";
    for (const float pixel : image.pixels) out += text(int{byte_of(pixel)}, ",");
    out += "},\n";
    labels += text(image.label, ",");
  }
  return text(out, "};\nstatic const unsigned char labels[", images.size(), "] = {", labels,
              "};\nstatic float picture[784], chances[10];\nint main(void) {\n  int i, k, best, right = 0;\n"
              "  for (i = 0; i < ",
              images.size(),
              "; ++i) {\n"
              "    for (k = 0; k < 784; ++k) picture[k] = (float)pixels[i][k] / 255.0f;\n    if (",
              code.name,
              "_run(picture, chances)) return 4;\n    best = 0;\n"
              "    for (k = 1; k < 10; ++k) best = chances[k] > chances[best] ? k : best;\n"
              "    right += best == labels[i];\n  }\n  say_number(\"right\", right);\n  return 0;\n}\n");
}

TEST(Digits, CortexM0ReadsThem) {
  if (const std::string missing = missing_for("m0"); !missing.empty()) GTEST_SKIP() << "there is no " << missing;
  const auto images = digit_images(40000, 100);
  if (!images) GTEST_SKIP() << "there is no MNIST: KILN_DATA names no directory";
  const Device device = Device::cpu();
  device.seed(3);
  const SmallReader network = trained(SmallReader::init(device.autodiff()), images->train, device.autodiff());
  const auto plain = [&](const Values& in) {
    return Values{network.forward(Tensor<3>(in[0])).softmax(1).value().detach()};
  };
  const Value x = zeros(Shape{1, 28, 28}, device.autodiff().inner());
  const CompiledCode code = compile({.graph = capture_graph(plain, {&x, 1})}, {.target = "m0"});
  const BoardRun run = run_on("m0", code, main_of(code, images->test));
  EXPECT_TRUE(run.succeeded) << run.said;
  const std::size_t at = run.said.find("right ");
  ASSERT_NE(at, std::string::npos) << run.said;
  EXPECT_GE(std::stoi(run.said.substr(at + 6)), 95);
  std::printf("%s of %zu; flash %lld, arena %lld\n", run.said.substr(at, run.said.find('\n', at) - at).c_str(),
              images->test.size(), static_cast<long long>(run.bytes.at(".text")),
              static_cast<long long>(code.arena_bytes));
}

}  // namespace
}  // namespace kiln::compile
