#include "kiln/compile/arena.hpp"

#include <algorithm>
#include <numeric>

namespace kiln::compile {
namespace {

using Place = Buffer::Place;

/// An empty buffer has a place too, as a loop names it.
std::int64_t rounded(std::int64_t bytes) {
  return (std::max<std::int64_t>(bytes, 1) + kArenaAlignment - 1) / kArenaAlignment * kArenaAlignment;
}

bool in_arena(const Buffer& buffer) { return buffer.place == Place::Arena && !buffer.merged; }

/// Whether the loop reads `buffer` only at the very elements that it writes in the same iteration.
bool reads_what_it_writes(const Loop& loop, int buffer) {
  const Access& out = loop.out[0];
  for (const Operand& operand : loop.value.in) {
    const Access& in = operand.access;
    if (operand.is_number || in.buffer != buffer) continue;
    if (in.index >= 0 || in.offset != out.offset || in.strides != out.strides) return false;
  }
  return true;
}

/// Whether each element is written once: a broadcast result would be read again after it was written.
bool writes_each_once(const Loop& loop, std::int64_t count) {
  std::int64_t iterations = 1;
  for (std::size_t d = 0; d < loop.sizes.size(); ++d) {
    iterations *= loop.sizes[d];
    if (loop.sizes[d] > 1 && loop.out[0].strides[d] == 0) return false;
  }
  return iterations == count && loop.out[0].index < 0 && loop.out[0].offset == 0;
}

void replace(Program& program, int from, int to) {
  for (Loop& loop : program.loops) {
    for (Operand& operand : loop.value.in)
      if (!operand.is_number && operand.access.buffer == from) operand.access.buffer = to;
    for (Access& out : loop.out)
      if (out.buffer == from) out.buffer = to;
  }
  program[from].merged = true;
}

}  // namespace

std::vector<Lifetime> lifetimes(const Program& program) {
  std::vector<Lifetime> all(program.buffers.size());
  for (std::size_t i = 0; i < program.loops.size(); ++i)
    each_buffer(program.loops[i], [&](int buffer, bool) {
      Lifetime& life = all[static_cast<std::size_t>(buffer)];
      if (life.first < 0) life.first = static_cast<int>(i);
      life.last = static_cast<int>(i);
    });
  return all;
}

void work_in_place(Program& program) {
  std::vector<Lifetime> lives = lifetimes(program);
  for (std::size_t i = 0; i < program.loops.size(); ++i) {
    const Loop& loop = program.loops[i];
    if (loop.mode != Mode::Store || loop.value.steps.empty()) continue;
    const int out = loop.out[0].buffer;
    Lifetime& written = lives[static_cast<std::size_t>(out)];
    if (!in_arena(program[out]) || written.first != static_cast<int>(i) || !writes_each_once(loop, program[out].count))
      continue;
    for (const Operand& operand : loop.value.in) {
      const int in = operand.access.buffer;
      if (operand.is_number || in == out || !in_arena(program[in])) continue;
      Lifetime& read = lives[static_cast<std::size_t>(in)];
      const bool fits = read.last == static_cast<int>(i) && program[in].bytes() == program[out].bytes() &&
                        size_of(program[in].dtype) == size_of(program[out].dtype);
      if (!fits || program[in].dtype != program[out].dtype || !reads_what_it_writes(loop, in)) continue;
      read.last = written.last;
      replace(program, out, in);
      break;
    }
  }
}

// The largest first, each at the lowest place that is free during its life: what is large decides the size, and what is
// small finds room beside it.
void plan_arena(Program& program) {
  const std::vector<Lifetime> lives = lifetimes(program);
  std::vector<int> order, placed;
  for (int i = 0; i < static_cast<int>(program.buffers.size()); ++i) {
    const bool named = lives[static_cast<std::size_t>(i)].first >= 0;
    if (program[i].place == Place::Constant && !named) program[i].merged = true;
    if (in_arena(program[i]) && named) order.push_back(i);
  }
  std::ranges::stable_sort(order, [&](int a, int b) { return program[a].bytes() > program[b].bytes(); });
  program.arena_bytes = 0;
  for (const int buffer : order) {
    const Lifetime life = lives[static_cast<std::size_t>(buffer)];
    std::vector<std::pair<std::int64_t, std::int64_t>> taken;
    for (const int other : placed) {
      const Lifetime& its = lives[static_cast<std::size_t>(other)];
      if (its.first <= life.last && life.first <= its.last)
        taken.emplace_back(program[other].offset, program[other].offset + rounded(program[other].bytes()));
    }
    std::ranges::sort(taken);
    std::int64_t at = 0;
    for (const auto& [begin, end] : taken) {
      if (at + rounded(program[buffer].bytes()) <= begin) break;
      at = std::max(at, end);
    }
    program[buffer].offset = at;
    program.arena_bytes = std::max(program.arena_bytes, at + rounded(program[buffer].bytes()));
    placed.push_back(buffer);
  }
}

std::vector<std::int64_t> bytes_in_use(const Program& program) {
  const std::vector<Lifetime> lives = lifetimes(program);
  std::vector<std::int64_t> bytes(program.loops.size());
  for (std::size_t b = 0; b < program.buffers.size(); ++b) {
    if (!in_arena(program.buffers[b]) || lives[b].first < 0) continue;
    for (int i = lives[b].first; i <= lives[b].last; ++i)
      bytes[static_cast<std::size_t>(i)] += rounded(program.buffers[b].bytes());
  }
  return bytes;
}

}  // namespace kiln::compile
