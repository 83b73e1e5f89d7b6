#include "kiln/backend/gpu/family/rows/scanning.hpp"

#include <algorithm>

namespace kiln::gpu::family {
namespace {

/// Elements of a line that a thread loads before it processes them.
constexpr int kAhead = 4;

Exprs values(std::span<const Local> state) { return Exprs(state.begin(), state.end()); }
void set(std::span<const Local> state, const Exprs& to) {
  for (std::size_t i = 0; i < to.size(); ++i) state[i].set(to[i]);
}
std::vector<Local> variables(Builder& k, const Exprs& state) {
  std::vector<Local> made;
  for (const Expr& part : state) made.push_back(k.variable(part));
  return made;
}
Exprs choose(const Expr& condition, const Exprs& yes, const Exprs& no) {
  Exprs chosen;
  for (std::size_t i = 0; i < yes.size(); ++i) chosen.push_back(select(condition, yes[i], no[i]));
  return chosen;
}

}  // namespace

Scanner::Scanner(Builder& k, const ScanShape& shape, std::span<const DType> inputs, std::span<const DType> outputs,
                 std::span<const DType> state)
    : k_(k), shape_(shape) {
  for (const DType dtype : inputs) inputs_.push_back(k.input(dtype));
  for (const DType dtype : outputs) outputs_.push_back(k.output(dtype));
  if (shape.stage != ScanShape::Stage::Whole)
    for (const DType dtype : state)
      states_.push_back(shape.stage == ScanShape::Stage::Scan   ? k.input(dtype)
                        : shape.stage == ScanShape::Stage::Fold ? k.output(dtype)
                                                                : k.both(dtype));
  for (Expr* number : {&lines_, &length_, &inner_, &chunk_, &pieces_}) *number = k.number(shape.index);
}

Scanner::ScanPiece Scanner::piece() const {
  const Expr block = k_.block().as(shape_.index), zero = k_.literal(shape_.index, 0);
  const bool whole = shape_.stage == ScanShape::Stage::Whole;
  ScanPiece piece;
  // Threads past the end repeat the last line or piece, and do not store it.
  if (shape_.lanes == 1) {
    const Expr all = block * kThreads + k_.thread().as(shape_.index), number = all / lines_;
    piece.inside = whole ? all < lines_ : number < pieces_;
    piece.number = whole ? zero : min(number, pieces_ - 1);
    piece.line = (whole ? min(all, lines_ - 1) : all % lines_) * shape_.width;
    piece.base = piece.line / inner_ * length_ * inner_ + piece.line % inner_;
  } else {
    const int teams = kThreads / shape_.lanes;
    const Expr line = (whole ? block : block / pieces_) * teams + (k_.thread() / shape_.lanes).as(shape_.index);
    piece.inside = line < lines_;
    piece.number = whole ? zero : block % pieces_;
    piece.line = min(line, lines_ - 1);
    piece.base = piece.line * length_;
  }
  piece.begin = piece.number * chunk_;
  piece.end = min(piece.begin + chunk_, length_);
  return piece;
}

Exprs Scanner::first_state(const Scanning& scanning, const ScanPiece& piece, int lane) {
  if (shape_.stage != ScanShape::Stage::Scan) return scanning.nothing();
  Exprs state;
  for (const Buffer& part : states_) state.push_back(part[place_of(piece.line + lane, piece.number)]);
  return state;
}

void Scanner::keep_state(const ScanPiece& piece, int lane, const Exprs& state) {
  if (shape_.stage != ScanShape::Stage::Fold) return;
  k_.when(piece.inside & (k_.thread() % shape_.lanes == 0), [&] {
    for (std::size_t i = 0; i < state.size(); ++i)
      states_[i].store(place_of(piece.line + lane, piece.number), state[i]);
  });
}

/// The offset of the vector at place `place` in the order of the scan.
Expr Scanner::at(const ScanPiece& piece, const Expr& place) const {
  if (shape_.lanes == 1) return piece.base + (shape_.reverse ? length_ - 1 - place : place) * inner_;
  return piece.base + (shape_.reverse ? length_ - shape_.width - place : place);
}

void Scanner::run(const Scanning& scanning) {
  if (shape_.stage == ScanShape::Stage::Before) run_before(scanning);
  else if (shape_.lanes == 1) run_threads(scanning);
  else run_teams(scanning);
}

/// Replaces the state of each piece by that of all pieces before it: by one thread, or by a block if there are many.
void Scanner::run_before(const Scanning& scanning) {
  const bool alone = shape_.lanes == 1;
  const Expr line = alone ? k_.place(shape_.index) : k_.block().as(shape_.index);
  const std::vector<Local> carry = begin_tiles(scanning.nothing());
  const Expr inside = line < lines_, from = min(line, lines_ - 1);
  k_.loop(k_.literal(shape_.index, 0), pieces_, k_.literal(shape_.index, shape_.lanes), [&](const Expr& first) {
    const Expr number = alone ? first : first + k_.thread().as(shape_.index);
    Exprs piece;
    for (const Buffer& part : states_) piece.push_back(part[place_of(from, min(number, pieces_ - 1))]);
    Exprs before = values(carry);
    if (alone) set(carry, scanning.merge(before, piece));
    else before = before_mine(scanning, piece, carry);
    k_.when(inside & (number < pieces_), [&] {
      for (std::size_t i = 0; i < piece.size(); ++i) states_[i].store(place_of(from, number), before[i]);
    });
  });
}

void Scanner::run_threads(const Scanning& scanning) {
  const ScanPiece piece = this->piece();
  const auto width = static_cast<std::size_t>(shape_.width);
  std::vector<std::vector<Local>> states;
  for (int lane = 0; lane < shape_.width; ++lane) states.push_back(variables(k_, first_state(scanning, piece, lane)));
  const auto take = [&](const Expr& first, int steps) {
    std::vector<std::vector<Exprs>> loaded;  // by step and input
    for (int step = 0; step < steps; ++step) {
      loaded.emplace_back();
      for (const Buffer& input : inputs_)
        loaded.back().push_back(load_line(input, at(piece, first + step), shape_.width));
    }
    for (int step = 0; step < steps; ++step) {
      std::vector<Exprs> made(outputs_.size());
      for (std::size_t lane = 0; lane < width; ++lane) {
        Exprs in;
        for (const Exprs& each : loaded[static_cast<std::size_t>(step)]) in.push_back(each[lane]);
        const Exprs before = values(states[lane]);
        const Exprs after = scanning.merge(before, scanning.element(in, (first + step).as(DType::U32)));
        set(states[lane], after);
        if (shape_.stage == ScanShape::Stage::Fold) continue;
        const Exprs told = scanning.outputs(shape_.exclusive ? before : after);
        for (std::size_t i = 0; i < made.size(); ++i) made[i].push_back(told[i]);
      }
      if (shape_.stage == ScanShape::Stage::Fold) continue;
      k_.when(piece.inside, [&] {
        for (std::size_t i = 0; i < made.size(); ++i) store_line(outputs_[i], at(piece, first + step), made[i]);
      });
    }
  };
  const Expr round = k_.literal(shape_.index, kAhead), full = (piece.end - piece.begin) / round * round;
  k_.loop(piece.begin, piece.begin + full, round, [&](const Expr& place) { take(place, kAhead); });
  k_.loop(piece.begin + full, piece.end, k_.literal(shape_.index, 1), [&](const Expr& place) { take(place, 1); });
  for (int lane = 0; lane < shape_.width; ++lane)
    keep_state(piece, lane, values(states[static_cast<std::size_t>(lane)]));
}

void Scanner::run_teams(const Scanning& scanning) {
  const ScanPiece piece = this->piece();
  const std::vector<Local> carry = begin_tiles(first_state(scanning, piece, 0));
  k_.loop(piece.begin, piece.end, k_.literal(shape_.index, shape_.lanes * shape_.width),
          [&](const Expr& tile) { run_tile(scanning, piece, tile, carry); });
  keep_state(piece, 0, values(carry));
}

/// The state that a team carries from tile to tile.
std::vector<Local> Scanner::begin_tiles(const Exprs& state) {
  if (shape_.lanes > kLanes)
    for (const Expr& part : state) shared_.push_back(k_.shared(part.type(), kThreads / kLanes));
  return variables(k_, state);
}

/// The state before this thread, of a team whose threads have states `mine`; then updates `carry` by all of them.
Exprs Scanner::before_mine(const Scanning& scanning, const Exprs& mine, std::span<const Local> carry) {
  const Merge& merge = scanning.merge;
  const Expr lane = k_.lane(), nobody = k_.literal(DType::I32, 0);
  const auto of_lane = [&](const Exprs& state, const Expr& which) {
    Exprs other;
    for (const Expr& part : state) other.push_back(k_.shuffle(part, which));
    return other;
  };
  Exprs up_to = mine;  // over the warp up to this lane
  for (int distance = 1; distance < kLanes; distance *= 2) {
    const Exprs other = of_lane(up_to, max(lane - distance, nobody));
    up_to = choose(lane >= distance, merge(other, up_to), up_to);
  }
  const Exprs in_warp = choose(lane == 0, scanning.nothing(), of_lane(up_to, max(lane - 1, nobody)));
  Exprs before = values(carry);
  const Exprs all = of_lane(up_to, k_.literal(DType::I32, kLanes - 1));
  if (shape_.lanes > kLanes) {
    k_.barrier();  // others may still read the previous tile
    k_.when(lane == 0, [&] {
      for (std::size_t i = 0; i < all.size(); ++i) shared_[i].store(k_.warp(), all[i]);
    });
    k_.barrier();
    Exprs so_far = before;
    for (int warp = 0; warp < kThreads / kLanes; ++warp) {
      Exprs part;
      for (const Shared& each : shared_) part.push_back(each[k_.literal(DType::I32, warp)]);
      so_far = merge(so_far, part);
      before = choose(k_.warp() > warp, so_far, before);
    }
    set(carry, so_far);
  } else {
    set(carry, merge(before, all));
  }
  return merge(before, in_warp);
}

void Scanner::run_tile(const Scanning& scanning, const ScanPiece& piece, const Expr& tile,
                       std::span<const Local> carry) {
  const Merge& merge = scanning.merge;
  const auto width = static_cast<std::size_t>(shape_.width);
  const Expr place = tile + (k_.thread() % shape_.lanes * shape_.width).as(shape_.index);
  const Expr holds = place < piece.end, from = at(piece, min(place, piece.end - shape_.width));
  std::vector<Exprs> loaded;
  for (const Buffer& input : inputs_) {
    loaded.push_back(load_line(input, from, shape_.width));
    if (shape_.reverse) std::ranges::reverse(loaded.back());
  }
  // The states of this thread's elements up to each. Elements past the end come after all that is stored.
  std::vector<Exprs> mine;
  for (std::size_t i = 0; i < width; ++i) {
    Exprs in;
    for (const Exprs& each : loaded) in.push_back(each[i]);
    const Exprs element = scanning.element(in, (place + static_cast<int>(i)).as(DType::U32));
    mine.push_back(i == 0 ? element : merge(mine.back(), element));
  }
  const Exprs before = before_mine(scanning, mine.back(), carry);
  if (shape_.stage == ScanShape::Stage::Fold) return;
  std::vector<Exprs> made(outputs_.size());
  for (std::size_t i = 0; i < width; ++i) {
    const Exprs told = scanning.outputs(!shape_.exclusive ? merge(before, mine[i])
                                        : i == 0          ? before
                                                          : merge(before, mine[i - 1]));
    for (std::size_t each = 0; each < made.size(); ++each) made[each].push_back(told[each]);
  }
  k_.when(holds & piece.inside, [&] {
    for (std::size_t i = 0; i < made.size(); ++i) {
      if (shape_.reverse) std::ranges::reverse(made[i]);
      store_line(outputs_[i], from, made[i]);
    }
  });
}

std::vector<ScanLaunch> plan_scan(Gpu& gpu, const Shape& shape, bool exclusive, bool reverse,
                                  std::span<const Array> inputs, std::span<const Array> outputs,
                                  std::span<const DType> state, std::vector<Value>& held) {
  constexpr int kThreads = Scanner::kThreads;
  constexpr std::int64_t kShortest = 32, kBlocks = 8, kLeastSteps = 16, kMostPieces = 2048, kFewPieces = 32;
  const std::int64_t length = shape[1], inner = shape[2];
  if (numel(shape) == 0) return {};
  std::vector<Array> arrays(inputs.begin(), inputs.end());
  arrays.insert(arrays.end(), outputs.begin(), outputs.end());

  ScanShape first{.exclusive = exclusive, .reverse = reverse};
  const bool alone = inner > 1 || length <= kShortest;
  const Dims rows = contiguous_strides(shape);
  const Loop loop = alone ? Loop{shape, std::vector<Dims>(arrays.size(), rows)}
                          : Loop{Shape{shape[0], length}, std::vector<Dims>(arrays.size(), Dims{length, 1})};
  first.index = index_type(loop);
  first.width = alone && inner == 1 ? 1 : width_of(loop, arrays);
  if (!alone) first.lanes = length >= 4 * kThreads ? kThreads : kLanes;
  const std::int64_t columns = shape[0] * inner, lines = alone ? columns / first.width : columns;
  const int teams = kThreads / first.lanes;

  const std::int64_t step = alone ? 1 : std::int64_t{first.lanes} * first.width;
  const std::int64_t wanted = kBlocks * teams * gpu.driver().capabilities().multiprocessors / lines;
  std::int64_t pieces = first.lanes == kLanes ? 1 : std::min({wanted, length / (step * kLeastSteps), kMostPieces});
  std::int64_t chunk = length;
  if (pieces > 1) {
    chunk = blocks_for(blocks_for(length, pieces), step) * step;
    pieces = blocks_for(length, chunk);
  } else {
    pieces = 1;
  }
  // Single threads are distributed over lines and pieces, teams over the lines of a piece.
  const std::int64_t blocks = alone ? blocks_for(lines * pieces, kThreads) : blocks_for(lines, teams) * pieces;
  std::vector<Argument> arguments(inputs.begin(), inputs.end());
  arguments.insert(arguments.end(), outputs.begin(), outputs.end());
  const auto launch_of = [&](ScanShape::Stage stage) {
    ScanLaunch launch{first, blocks, arguments};
    launch.shape.stage = stage;
    for (const Value& each : held) launch.arguments.emplace_back(read(each));
    if (stage == ScanShape::Stage::Before) {
      launch.shape.lanes = pieces > kFewPieces ? kThreads : 1;
      launch.shape.width = 1;
      launch.blocks = blocks_for(columns, kThreads / launch.shape.lanes);
    }
    for (const std::int64_t number :
         {stage == ScanShape::Stage::Before ? columns : lines, length, inner, chunk, pieces})
      launch.arguments.emplace_back(number);
    return launch;
  };
  if (pieces == 1) return {launch_of(ScanShape::Stage::Whole)};
  for (const DType dtype : state) held.push_back(gpu.scratch({Shape{pieces * columns}, dtype}));
  return {launch_of(ScanShape::Stage::Fold), launch_of(ScanShape::Stage::Before), launch_of(ScanShape::Stage::Scan)};
}

}  // namespace kiln::gpu::family
