// Where buffers lie in the arena: those that are needed at different times share memory.
#pragma once
#include "kiln/compile/program.hpp"

namespace kiln::compile {

inline constexpr std::int64_t kArenaAlignment = 16;

/// The first loop that names each buffer and the last one; -1 for a buffer that none names.
struct Lifetime {
  int first = -1, last = -1;
};
std::vector<Lifetime> lifetimes(const Program& program);

/// Lets an elementwise loop write to the memory of an operand that no later loop reads.
void work_in_place(Program& program);
/// Drops constants that no loop reads, and gives each buffer of the arena its offset.
void plan_arena(Program& program);

/// The bytes of the arena that are in use during each loop: its own buffers and those that wait for later ones.
std::vector<std::int64_t> bytes_in_use(const Program& program);

}  // namespace kiln::compile
