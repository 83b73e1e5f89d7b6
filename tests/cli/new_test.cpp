// `kiln new`: what it writes, and what it refuses. Template.* builds and runs the projects themselves.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <system_error>
#include <utility>

#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/commands.hpp"

namespace kiln {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr, testing::Not;

/// The working folder is an empty one while this object lives.
class ElsewhereTest : public testing::Test {
 protected:
  ElsewhereTest()
      : before_(fs::current_path()),
        folder_(fs::path(testing::TempDir()) / ("kiln_new_" + std::to_string(::getpid()))) {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    fs::current_path(folder_);
  }
  ~ElsewhereTest() override {
    std::error_code ignored;
    fs::current_path(before_, ignored);
    fs::remove_all(folder_, ignored);
  }

  struct Said {
    int status;
    std::string out, error;
  };
  static Said says(const std::vector<std::string>& words) {
    Said said{};
    said.status = cli::run(
        words, [&](std::string_view part) { said.out += part; }, [&](std::string_view part) { said.error += part; });
    return said;
  }
  static std::string content(const fs::path& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }

 private:
  fs::path before_, folder_;
};
using New = ElsewhereTest;

TEST_F(New, WritesEachTemplateUnderItsName) {
  const auto templates = cli::project_templates();
  EXPECT_THAT(templates, testing::ElementsAre("images", "layer", "regression", "serving", "transfer"));
  for (const std::string& project : templates) {
    const Said said = says({"new", project + "-of-mine", "--template", project});
    ASSERT_EQ(said.status, 0) << said.error;
    EXPECT_THAT(said.out, HasSubstr("cd " + project + "-of-mine"));
    for (const char* file : {"CMakeLists.txt", "main.cpp", "test.cpp", "README.md", ".gitignore"}) {
      const std::string text = content(fs::path(project + "-of-mine") / file);
      EXPECT_FALSE(text.empty()) << project << ' ' << file;
      EXPECT_THAT(text, Not(HasSubstr("kiln_project"))) << project << ' ' << file;
      EXPECT_THAT(text, Not(HasSubstr("kiln_links"))) << project << ' ' << file;
    }
    EXPECT_THAT(content(fs::path(project + "-of-mine") / "CMakeLists.txt"),
                HasSubstr("add_executable(" + project + "-of-mine main.cpp)"));
  }
}

TEST_F(New, LinksWhatATemplateNeeds) {
  for (const auto& [project, links] :
       {std::pair("images", "kiln::kiln"), std::pair("transfer", "kiln::kiln kiln::models")}) {
    ASSERT_EQ(says({"new", std::string("my_") + project, "--template", project}).status, 0);
    const fs::path folder = std::string("my_") + project;
    EXPECT_THAT(content(folder / "CMakeLists.txt"),
                HasSubstr("target_link_libraries(my_" + std::string(project) + " PRIVATE " + links + ")"));
    EXPECT_FALSE(fs::exists(folder / "links"));
  }
  ASSERT_EQ(says({"new", "kiln_links"}).status, 0);  // a name like any other
  EXPECT_THAT(content("kiln_links/CMakeLists.txt"), HasSubstr("target_link_libraries(kiln_links PRIVATE kiln::kiln)"));
}

TEST_F(New, RefusesAFolderThatExistsAndLeavesItAlone) {
  fs::create_directory("mine");
  std::ofstream("mine/main.cpp") << "int main() {}";
  const Said said = says({"new", "mine"});
  EXPECT_EQ(said.status, 2);
  EXPECT_EQ(said.error, "kiln: new: 'mine' exists already: choose another name, or remove it\n");
  EXPECT_EQ(content("mine/main.cpp"), "int main() {}");
  std::ofstream("file") << "x";
  EXPECT_THAT(says({"new", "file"}).error, HasSubstr("exists already"));
}

TEST_F(New, RefusesNamesThatNoTargetMayHave) {
  for (const char* name : {"", "3d", "a b", "../mine", "a/b", "a.b", "-x", "\xc3\xa4", "$ENV{HOME}", "a;b"}) {
    const Said said = says({"new", "--", name});
    EXPECT_EQ(said.status, 2) << name;
    EXPECT_THAT(said.error, HasSubstr("cannot be the name of a CMake target")) << name;
  }
  for (const char* name : {"test", "all", "kiln", "install", "CMakeFiles", "Testing"})
    EXPECT_THAT(says({"new", name}).error, HasSubstr("uses the name '" + std::string(name) + "' already"));
  EXPECT_TRUE(fs::is_empty("."));
}

TEST_F(New, NamesTheTemplatesForAnotherOne) {
  const Said said = says({"new", "mine", "--template", "image"});
  EXPECT_EQ(said.status, 2);
  EXPECT_THAT(
      said.error,
      HasSubstr("no template 'image' (did you mean 'images'?); the templates are images, layer, regression, serving, "
                "transfer"));
  EXPECT_TRUE(fs::is_empty("."));
}

}  // namespace
}  // namespace kiln
