// The example that looks at pictures with a network from a file, as a program: a network that sees brightness.
#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>

#include "kiln/core/file.hpp"
#include "kiln/core/text.hpp"
#include "kiln/data/png.hpp"
#include "tests/onnx/model_writer.hpp"

namespace kiln::onnx::test {
namespace {

namespace fs = std::filesystem;

/// The sum of the mean colours for brightness, and against darkness.
std::string brightness() {
  const std::vector<float> weight{-1, 1, -1, 1, -1, 1};
  return model(graph({{node("GlobalAveragePool", {"picture"}, {"means"}), node("Flatten", {"means"}, {"colours"}),
                       node("MatMul", {"colours", "weight"}, {"scores"})},
                      {tensor("weight", {3, 2}, weight)},
                      {value("picture", {"1", "3", "32", "32"})},
                      {value("scores", {"1", "2"})}}));
}

class ImageClassification : public ::testing::Test {
 protected:
  ImageClassification() {
    fs::create_directories(folder_);
    write("model.onnx", brightness());
    write("labels.txt", "dark\nbright\n");
    picture("white.png", 1);
    picture("black.png", 0);
  }
  ~ImageClassification() override { fs::remove_all(folder_); }

  void write(const std::string& name, std::string_view text) { write_file_atomically((folder_ / name).string(), text); }
  void picture(const std::string& name, float brightness) {
    write_png({std::vector<float>(40 * 60, brightness), 40, 60}, (folder_ / name).string());
  }
  /// What it says, and its exit status.
  std::pair<std::string, int> look(const std::string& name) const {
    std::FILE* const pipe = ::popen(text("cd ", folder_.string(), " && ", IMAGE_CLASSIFICATION_PROGRAM,
                                         " --model model.onnx --labels labels.txt --picture ", name, " 2>&1")
                                        .c_str(),
                                    "r");
    std::string output;
    for (int c; (c = std::fgetc(pipe)) != EOF;) output += static_cast<char>(c);
    return {output, WEXITSTATUS(::pclose(pipe))};
  }

  const fs::path folder_ = fs::temp_directory_path() / text("kiln-image-classification-", ::getpid());
};

TEST_F(ImageClassification, NamesTheLikeliestClassFirst) {
  // By hand: white is (1 - mean) / deviation = 2.249, 2.429 and 2.640, black -2.118, -2.036 and -1.804.
  const auto [bright, status] = look("white.png");
  EXPECT_EQ(status, 0);
  EXPECT_EQ(bright.substr(0, bright.find(" in ")), "100.00 %  bright\n  0.00 %  dark\nwhite.png") << bright;
  const std::string dark = look("black.png").first;
  EXPECT_EQ(dark.substr(0, dark.find(" in ")), "100.00 %  dark\n  0.00 %  bright\nblack.png") << dark;
}

TEST_F(ImageClassification, SaysWhereLabelsDoNotFit) {
  write("labels.txt", "dark\nbright\ngrey\n");
  const auto [said, status] = look("white.png");
  EXPECT_EQ(status, 1);
  EXPECT_NE(said.find("labels.txt has 3 lines, but the model 2 classes"), std::string::npos) << said;
}

}  // namespace
}  // namespace kiln::onnx::test
