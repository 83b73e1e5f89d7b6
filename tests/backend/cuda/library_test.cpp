#include "kiln/backend/cuda/library.hpp"

#include <gtest/gtest.h>

#include "kiln/backend/cuda/driver_api.hpp"
#include "tests/support/sentence.hpp"

namespace kiln::cuda {
namespace {

TEST(CudaLibrary, SaysWhatIsMissingAndWhatToInstall) {
  const std::string said = sentence_of(
      [] { Library("bakes bread", {"libbread-of-nobody.so.7", "libbread-of-nobody.so.6"}, "buy an oven"); });
  EXPECT_EQ(said.find("DeviceError: cuda: there is no library that bakes bread (libbread-of-nobody.so.7: "), 0u)
      << said;
  EXPECT_NE(said.find("; libbread-of-nobody.so.6: "), said.npos) << said;
  EXPECT_NE(said.find("); buy an oven"), said.npos) << said;
}

TEST(CudaLibrary, IsTheFirstThatTheLoaderFinds) {
  const Library library("has functions of numbers", {"libbread-of-nobody.so.7", "libm.so.6"}, "install the C library");
  EXPECT_EQ(library.name(), "libm.so.6");
  double (*cosine)(double) = nullptr;
  library.find("cos", cosine);
  EXPECT_EQ(cosine(0), 1.0);
}

TEST(CudaLibrary, SaysWhichFunctionIsMissing) {
  const Library library("has functions of numbers", {"libm.so.6"}, "install another");
  EXPECT_EQ(sentence_of([&] { DriverApi{library}; }),
            "DeviceError: cuda: libm.so.6 has no function cuInit, so it is too old; install another");
}

}  // namespace
}  // namespace kiln::cuda
