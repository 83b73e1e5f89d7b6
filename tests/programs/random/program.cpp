#include "tests/programs/random/program.hpp"

#include <algorithm>
#include <cmath>

namespace kiln::programs {

std::size_t Grid::offset(const Dims& index) const {
  std::int64_t at = 0;
  for (int i = 0; i < shape.size(); ++i) at = at * shape[i] + index[i];
  return static_cast<std::size_t>(at);
}

void each(const Shape& shape, const std::function<void(const Dims&)>& f) {
  Dims index = Dims::filled(shape.size(), 0);
  for (std::int64_t n = kiln::numel(shape); n > 0; --n) {
    f(index);
    for (int i = shape.size() - 1; i >= 0 && ++index[i] == shape[i]; --i) index[i] = 0;
  }
}

Dims without(Dims index, int dim) {
  index.erase(dim);
  return index;
}

Dims with(Dims index, int dim, std::int64_t value) {
  index[dim] = value;
  return index;
}

const std::vector<Instruction>& instructions() {
  static const std::vector<Instruction> all = [] {
    std::vector<Instruction> list;
    for (const auto topic : {elementwise_instructions, view_instructions, reduce_instructions, contract_instructions,
                             index_instructions, sequence_instructions})
      for (Instruction& instruction : topic()) list.push_back(std::move(instruction));
    return list;
  }();
  return all;
}

// ---- choices -------------------------------------------------------------------------------------------------------

bool Draft::take_where(const std::function<bool(const Grid&)>& suits) {
  std::vector<int> candidates;
  for (std::size_t i = 0; i < grids_.size(); ++i)
    if (suits(grids_[i])) candidates.push_back(static_cast<int>(i));
  if (candidates.empty()) return false;
  const auto count = static_cast<std::int64_t>(candidates.size());
  in.push_back(candidates[static_cast<std::size_t>(std::max(below(count), below(count)))]);
  return true;
}

bool Draft::take(Type type, int least_rank, int most_rank) {
  return take_where([&](const Grid& x) { return x.type == type && least_rank <= x.rank() && x.rank() <= most_rank; });
}

void Draft::make(const Shape& shape, double low, double high) {
  Grid leaf(shape);
  for (Dual& e : leaf.x) e = {random_.uniform(low, high), random_.uniform(-1, 1)};
  in.push_back(static_cast<int>(grids_.size()));
  program_.push_back({.leaf = leaf});
  grids_.push_back(std::move(leaf));
}

void Draft::make_index(const Shape& shape, std::int64_t limit) {
  Grid leaf(shape, {}, Type::Index);
  for (Dual& e : leaf.x) e = {static_cast<double>(below(limit))};
  in.push_back(static_cast<int>(grids_.size()));
  program_.push_back({.leaf = leaf});
  grids_.push_back(std::move(leaf));
}

void Draft::take_broadcasting() {
  Shape shape = grid(0).shape;
  const auto suits = [&](const Grid& other) {
    if (other.type != Type::Real || other.rank() > shape.size()) return false;
    for (int i = 1; i <= other.rank(); ++i)
      if (const auto size = other.shape[other.rank() - i]; size != 1 && size != shape[shape.size() - i]) return false;
    return true;
  };
  if (below(3) && take_where(suits)) return;
  while (!shape.empty() && below(4) == 0) shape.erase(0);
  for (auto& size : shape)
    if (below(4) == 0) size = 1;
  make(shape);
}

Dims Draft::some_dims() {
  Dims dims;
  for (int i = 0; i < grid(0).rank(); ++i)
    if (coin()) dims.insert(static_cast<int>(below(dims.size() + 1)), i);
  if (dims.empty()) dims.push_back(some_dim());
  return dims;
}

// ---- programs ------------------------------------------------------------------------------------------------------

namespace {

Grid meaning_of(const Line& line, const std::vector<Grid>& grids, Margin& margin) {
  if (!line.instruction) return line.leaf;
  Grids in;
  for (const int i : line.in) in.push_back(&grids[static_cast<std::size_t>(i)]);
  return line.instruction->meaning(in, line.attributes, margin);
}

/// Neither so large nor so steep that float64 tells right from wrong no more.
bool moderate(const Grid& grid) {
  if (grid.rank() > 5 || grid.x.empty() || grid.x.size() > 400) return false;
  for (const Dual& e : grid.x)
    if (!(std::fabs(e.v) < 40 && std::fabs(e.d) < 400)) return false;
  return true;
}

constexpr double kClear = 1e-6;  // a decision that rounding does not turn

}  // namespace

std::vector<Grid> interpret(const Program& program, Margin* margin) {
  Margin unused;
  std::vector<Grid> grids;
  for (const Line& line : program) grids.push_back(meaning_of(line, grids, margin ? *margin : unused));
  return grids;
}

Program generate(std::uint64_t seed) {
  Random random(Key{seed});
  Program program;
  std::vector<Grid> grids;
  const std::int64_t wanted = 5 + random.below(36);
  Draft first(program, grids, random);
  first.make({2 + random.below(3), 1 + random.below(4)});
  first.make({1 + random.below(3), 1 + random.below(4), 2 + random.below(3)}, 0.2, 2);
  for (std::int64_t written = 0; written < wanted;) {
    const auto& all = instructions();
    const Instruction& instruction = all[static_cast<std::size_t>(random.below(static_cast<std::int64_t>(all.size())))];
    const std::size_t before = program.size();
    Draft draft(program, grids, random);
    Margin margin;
    if (instruction.propose(draft)) {
      const Line line{.instruction = &instruction, .in = draft.in, .attributes = draft.s};
      Grid grid = meaning_of(line, grids, margin);
      if (moderate(grid) && margin.least > kClear) {
        program.push_back(line);
        grids.push_back(std::move(grid));
        ++written;
        continue;
      }
    }
    program.resize(before);  // with the leaves that it made
    grids.resize(before);
  }
  return program;
}

}  // namespace kiln::programs
