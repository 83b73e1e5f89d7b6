// `kiln compile`, as a shell would call it.
#include <filesystem>

#include <gtest/gtest.h>

#include "cli/commands.hpp"
#include "kiln/core/file.hpp"
#include "kiln/ops/functions.hpp"
#include "kiln/store/graph_file.hpp"

#include "../store/temporary.hpp"

namespace kiln {
namespace {

struct Answer {
  int status;
  std::string out, error;
};
Answer compiles(std::vector<std::string> words) {
  words.insert(words.begin(), "compile");
  Answer answer{};
  answer.status = cli::run(
      words, [&](std::string_view part) { answer.out += part; }, [&](std::string_view part) { answer.error += part; });
  return answer;
}

TEST(CliCompile, WritesAHeaderAndASource) {
  const TemporaryFile file("my graph.safetensors");
  const Value x = zeros(Shape{20, 30}, Device::parse("cpu"));
  save(capture_graph([](const Values& in) { return Values{softmax(in[0], 1)}; }, {&x, 1}), file.path);
  const std::string to = file.directory + "/firmware";
  const Answer answer = compiles({file.path, "--target", "m4", "-o", to});
  EXPECT_EQ(answer.status, 0) << answer.error;
  EXPECT_NE(answer.out.find("bytes of memory"), std::string::npos) << answer.out;
  EXPECT_NE(read_text_file(to + "/my_graph.h").find("int my_graph_run(const float* input0, float* output0);"),
            std::string::npos);
  EXPECT_TRUE(std::filesystem::exists(to + "/my_graph.c"));

  EXPECT_EQ(compiles({file.path, "-o", to}).status, 0);  // its own files are written again
  write_text(to + "/my_graph.c", "int mine;\n");
  const Answer mine = compiles({file.path, "-o", to});
  EXPECT_EQ(mine.status, 2);
  EXPECT_NE(mine.error.find("--force"), std::string::npos) << mine.error;
  EXPECT_EQ(read_text_file(to + "/my_graph.c"), "int mine;\n");
  EXPECT_EQ(compiles({file.path, "-o", to, "--force"}).status, 0);
  EXPECT_NE(read_text_file(to + "/my_graph.c").find("my_graph_run"), std::string::npos);
  EXPECT_NE(compiles({file.path, "--ram", "-2", "-o", to}).status, 0);

  EXPECT_EQ(compiles({file.path, "--target", "m9", "-o", to}).status, 2);
  const Answer small = compiles({file.path, "--ram", "100", "-o", to});
  EXPECT_EQ(small.status, 2);
  EXPECT_NE(small.error.find("100 bytes of RAM"), std::string::npos) << small.error;
  EXPECT_NE(compiles({file.path, "--size", "batch=1"}).error.find("whose sizes are known"), std::string::npos);
  EXPECT_NE(compiles({file.path, "--value", "shape=1"}).error.find("whose sizes are known"), std::string::npos);
}

TEST(CliCompile, RefusesDamagedFiles) {
  const TemporaryFile file("x.safetensors");
  for (const std::string contents : {"", "{", "\x08\x00\x00\x00\x00\x00\x00\x00{}      "}) {
    write_text(file.path, contents);
    const Answer answer = compiles({file.path, "-o", file.directory});
    EXPECT_EQ(answer.status, 2);
    EXPECT_NE(answer.error, "");
  }
  EXPECT_EQ(compiles({file.directory + "/none.onnx"}).status, 2);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(file.directory), std::filesystem::directory_iterator()),
            1);
}

}  // namespace
}  // namespace kiln
