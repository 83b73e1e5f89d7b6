// Every reader, with the memory running out at each of its allocations.
#include <gtest/gtest.h>

#include "kiln/core/error/memory_error.hpp"
#include "tests/fuzz/target.hpp"
#include "tests/shortage/shortage.hpp"

namespace kiln::test {
namespace {

class ReaderShortage : public testing::TestWithParam<Reader> {};

TEST_P(ReaderShortage, IsAMemoryErrorAndNothingIsLost) {
  const Reader& reader = GetParam();
  int number = 0;
  for (const FileContents& file : reader.sound()) {
    // What a device keeps for later (blocks of tensors, plans) is no loss.
    const bool has_device = reader.name == "onnx" || reader.name == "graph";
    expect_memory_error(kiln::text(reader.name, ' ', number++),
                        [&] { or_memory_error("the test", [&] { reader.read(file); }); },
                        {.dense = 12, .caches = has_device, .lasting = !has_device, .after = [] {}});
    if (HasFailure()) return;
  }
}

std::vector<Reader> readers() {
  std::vector<Reader> all = known_readers();
#if defined(KILN_WITHOUT_SQLITE)
  std::erase_if(all, [](const Reader& reader) { return reader.name == "sqlite"; });
#endif
#if defined(KILN_WITHOUT_PICTURES)
  std::erase_if(all, [](const Reader& reader) { return reader.name == "png" || reader.name == "jpeg"; });
#endif
  return all;
}

INSTANTIATE_TEST_SUITE_P(All, ReaderShortage, testing::ValuesIn(readers()),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace kiln::test
