// Tests of random cases sample more cases where there is time: ./dev test --long.
#pragma once
#include <cstdlib>
#include <string_view>

namespace kiln::test {

/// Whether the environment has KILN_TEST_LONG=1.
inline bool is_long() {
  const char* const value = std::getenv("KILN_TEST_LONG");
  return value && std::string_view(value) == "1";
}

}  // namespace kiln::test
