#include "kiln/core/system/shared_library.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/core/sentence.hpp"

namespace kiln {
namespace {

TEST(ASharedLibrary, SaysWhatIsMissingAndWhatToInstall) {
  const std::string said = sentence_of([] {
    SharedLibrary("oven", "bakes bread", {"libbread-of-nobody.so.7", "libbread-of-nobody.so.6"}, "buy an oven");
  });
  EXPECT_EQ(said.find("DeviceError: oven: there is no library that bakes bread (libbread-of-nobody.so.7: "), 0u)
      << said;
  EXPECT_NE(said.find("; libbread-of-nobody.so.6: "), said.npos) << said;
  EXPECT_NE(said.find("); buy an oven"), said.npos) << said;
}

TEST(ASharedLibrary, IsTheFirstThatTheLoaderFinds) {
  const SharedLibrary library("oven", "has functions of numbers", {"libbread-of-nobody.so.7", "libm.so.6"},
                              "install the C library");
  EXPECT_EQ(library.name(), "libm.so.6");
  double (*cosine)(double) = nullptr;
  library.find("cos", cosine);
  EXPECT_EQ(cosine(0), 1.0);
}

TEST(ASharedLibrary, SaysWhichFunctionIsMissing) {
  const SharedLibrary library("oven", "has functions of numbers", {"libm.so.6"}, "install another");
  double (*cosine)(double) = nullptr;
  EXPECT_EQ(sentence_of([&] { library.find("rise", cosine); }),
            "DeviceError: oven: libm.so.6 has no function rise, so it is too old; install another");
}

TEST(AnOptionalLibrary, SaysWhatIsMissingAndThrowsNothing) {
  OptionalLibrary none("libbread", {"libbread-of-nobody.so.7"}, "libbread7");
  EXPECT_EQ(none.problem(), "this machine has no libbread (Debian: libbread7)");
  double (*function)(double) = std::cos;
  none.find("rise", function);
  EXPECT_EQ(function, nullptr);
  EXPECT_EQ(none.problem(), "this machine has no libbread (Debian: libbread7)");

  OptionalLibrary numbers("libm", {"libbread-of-nobody.so.7", "libm.so.6"}, "libc6");
  numbers.find("cos", function);
  EXPECT_EQ(numbers.problem(), "");
  EXPECT_EQ(function(0), 1.0);
  numbers.find("rise", function);
  EXPECT_EQ(function, nullptr);
  EXPECT_EQ(numbers.problem(), "this machine's libm has no rise");
}

}  // namespace
}  // namespace kiln
