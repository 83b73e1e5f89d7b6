// What the programs of this folder say of what they find: a line of what is wrong, and the exit status.
#pragma once
#include <cstdio>

namespace kiln::test {

inline int wrong = 0;

inline void expect(bool holds, const char* what) {
  if (holds) return;
  std::printf("wrong: %s\n", what);
  ++wrong;
}

}  // namespace kiln::test
