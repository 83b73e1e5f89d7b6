// The machines that programs are compiled for: what memory they have, and how their compilers are called.
#pragma once
#include <cstdint>
#include <span>
#include <string_view>

namespace kiln::compile {

struct Target {
  std::string_view name, what;
  std::int64_t ram, flash;    // bytes of the board that QEMU has; 0: not limited
  std::string_view compiler;  // the command that compiles for it
  bool tiles = false;         // sums of products are made in tiles of vectors: code that is larger, and quick
};

std::span<const Target> targets();
/// Throws ArgumentError with the names of all targets.
const Target& target(std::string_view name);

}  // namespace kiln::compile
