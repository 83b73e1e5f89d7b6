#pragma once
#include <string>

#include "kiln/train/show/terminal.hpp"

namespace kiln::test {

/// How many letters a line has on the screen.
inline int letters(const std::string& line) {
  int count = 0;
  for (int width = 1; clipped(line, width) != line; ++width) count = width;
  return count + 1;
}

}  // namespace kiln::test
