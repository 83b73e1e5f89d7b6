// The firmware of examples/pico on boards that QEMU has: digits are typed on its serial line, and it says what they are.
#include <cstdio>
#include <filesystem>
#include <sstream>

#include <gtest/gtest.h>

#include "examples/pico/reader.hpp"
#include "tests/compile/compiled.hpp"
#include "tests/examples/output_of.hpp"

namespace kiln {
namespace {

const guide::Source& digits() {
  static const guide::Source source = guide::open_source("digits");
  return source;
}
const guide::Model& reader() {
  static const guide::Model model = pico::trained(digits(), 6400, 1);
  return model;
}

/// Pixels as the firmware takes them.
std::string typed(const Image& image) {
  std::string line;
  for (const float pixel : image.pixels) {
    char two[3];
    std::snprintf(two, sizeof two, "%02x", byte_of(pixel));
    line += two;
  }
  return line + "\n";
}

void expect_reads_digits(const std::string& target, const std::string& machine, std::int64_t count) {
  for (const std::string tool : {"arm-none-eabi-gcc", "qemu-system-arm", "cmake"})
    if (!compile::failure_of(tool + " --version").empty()) GTEST_SKIP() << "there is no " << tool;
  const TemporaryFile folder("digits");
  const std::string& directory = folder.directory;
  compile::write_code(pico::compiled(reader(), target), directory);
  ASSERT_EQ(compile::failure_of(text("cmake -S ", KILN_SOURCE_DIR, "/examples/pico/firmware -B ", directory,
                                     "/build -DCMAKE_C_FLAGS=-Werror -DMODEL=", directory, " -DPICO_BOARD=", target,
                                     " && cmake --build ", directory, "/build")),
            "");
  std::string input = "hello\n";
  std::string expected = "ready\nwrong: a picture is a line of 1568 hexadecimal digits\n";
  std::vector<Image> images;
  std::int64_t right = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    images.push_back(digits().test->get(i));
    input += typed(images.back());
    right += pico::digit_in(reader(), images.back()) == images.back().label;
  }
  EXPECT_GE(right * 10, count * 9);
  // Too long, too short by a pixel, and a letter that is no digit.
  const std::string line = typed(images[0]);
  input += std::string(5000, '0') + "\n" + line.substr(2) + "g" + line.substr(1) + "\r\nquit\n";
  write_text(directory + "/input", input);
  const std::string said = output_of(text("timeout 100 qemu-system-arm -machine ", machine,
                                          " -display none -monitor none -serial stdio -semihosting-config "
                                          "enable=on,target=native -kernel ",
                                          directory, "/build/digits < ", directory, "/input"));
  std::istringstream lines(said);
  std::string each;
  std::vector<std::string> answers;
  while (std::getline(lines, each)) answers.push_back(each);
  ASSERT_EQ(answers.size(), static_cast<std::size_t>(count) + 5) << said;
  EXPECT_EQ(answers[0] + "\n" + answers[1] + "\n", expected);
  for (std::int64_t i = 0; i < count; ++i) {
    const std::string& answer = answers[static_cast<std::size_t>(i) + 2];
    EXPECT_EQ(answer.front() - '0', pico::digit_in(reader(), images[static_cast<std::size_t>(i)])) << answer;
    EXPECT_EQ(answer.back(), '%') << answer;
  }
  for (std::size_t i = static_cast<std::size_t>(count) + 2; i < answers.size(); ++i)
    EXPECT_EQ(answers[i].substr(0, 6), "wrong:") << answers[i];
}

TEST(Pico, ReadsDigitsOverASerialLine) { expect_reads_digits("pico", "mps2-an385", 10); }
TEST(Pico, SecondOneReadsThemAsWell) { expect_reads_digits("pico2", "mps2-an505", 20); }

}  // namespace
}  // namespace kiln
