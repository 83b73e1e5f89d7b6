// What the environment may say of fusion, and what is said of anything else.
#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>
#include <string>

#include "kiln/fusion/fusion.hpp"
#include "tests/support/sentence.hpp"

namespace kiln::test {
namespace {

/// A variable of the environment while it lives.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) {
    if (const char* const before = std::getenv(name)) before_ = before;
    ::setenv(name, value, 1);
  }
  ~Variable() {
    if (before_) ::setenv(name_, before_->c_str(), 1);
    else ::unsetenv(name_);
  }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
  std::optional<std::string> before_;
};

bool fuses() { return dynamic_cast<fusion::Fusion*>(decorated(Device::parse("reference").handle()).get()) != nullptr; }

TEST(Environment, ChoosesWhetherOperationsAreFused) {
  for (const char* value : {"1", ""}) {
    const Variable variable("KILN_FUSION", value);
    EXPECT_TRUE(fuses()) << value;
  }
  const Variable off("KILN_FUSION", "0");
  EXPECT_FALSE(fuses());
}

TEST(Environment, IsToldWhatItMaySay) {
  {
    const Variable variable("KILN_FUSION", "off");
    EXPECT_EQ(sentence_of(&fuses), "ArgumentError: KILN_FUSION must be 0 or 1, got 'off'");
  }
  {
    const Variable variable("KILN_LOG", "fusoin\x1b[2J");
    EXPECT_EQ(sentence_of(&fuses), "ArgumentError: KILN_LOG must be fusion, got 'fusoin\\x1b[2J'");
  }
}

}  // namespace
}  // namespace kiln::test
