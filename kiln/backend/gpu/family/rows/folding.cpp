#include "kiln/backend/gpu/family/rows/folding.hpp"

#include <algorithm>

#include "kiln/ops/expression/combiner.hpp"

namespace kiln::gpu::family {
namespace {

/// Loads in flight: with 16 bytes each, enough to saturate the memory.
constexpr int kLoads = 4;
/// Shared memory of a block in which states of columns meet.
constexpr std::size_t kColumnBytes = 8 << 10;

using Stage = FoldShape::Stage;

}  // namespace

// ---- reductions ----------------------------------------------------------------------------------------------------

std::vector<DType> accumulators(std::span<const Reduction> all) {
  std::vector<DType> types;
  for (const Reduction& each : all) types.push_back(expr::accumulator(each.fn, each.dtype));
  return types;
}

Folding reductions(Builder& k, std::vector<Reduction> all) {
  const Merge merge = [&k, all](const Exprs& x, const Exprs& y) {
    const std::vector<DType> types = accumulators(all);
    Exprs merged;
    for (std::size_t i = 0; i < all.size(); ++i)
      merged.push_back(k.tree(expr::combiner(all[i].fn).combine, types[i], std::array{x[i], y[i]}));
    return merged;
  };
  return {.nothing =
              [&k, all] {
                const std::vector<DType> types = accumulators(all);
                Exprs identities;
                for (std::size_t i = 0; i < all.size(); ++i)
                  identities.push_back(k.tree(expr::combiner(all[i].fn).identity, types[i], {}));
                return identities;
              },
          .add =
              [all, merge](const Exprs& state, const Exprs& element, const Expr&) {
                const std::vector<DType> types = accumulators(all);
                Exprs wide;
                for (std::size_t i = 0; i < all.size(); ++i) wide.push_back(element[i].as(types[i]));
                return merge(state, wide);
              },
          .merge = merge};
}

Expr finished(Builder& k, const Reduction& reduction, const Expr& state, const Expr& count, DType dtype) {
  const DType type = expr::accumulator(reduction.fn, reduction.dtype);
  return k.tree(expr::combiner(reduction.fn).finish, type, std::array{state, count}).as(expr::computed_in(dtype));
}

// ---- threads -------------------------------------------------------------------------------------------------------

Exprs fold_lanes(Builder& k, int lanes, Exprs state, const Merge& merge) {
  for (int mask = std::min(lanes, kLanes) / 2; mask > 0; mask /= 2) {
    Exprs other;
    for (const Expr& part : state) other.push_back(k.shuffle_xor(part, mask));
    state = merge(state, other);
  }
  if (lanes <= kLanes) return state;
  const int warps = lanes / kLanes;
  std::vector<Shared> shared;
  for (const Expr& part : state) shared.push_back(k.shared(part.type(), warps));
  k.when(k.lane() == 0, [&] {
    for (std::size_t i = 0; i < state.size(); ++i) shared[i].store(k.warp(), state[i]);
  });
  k.barrier();
  const auto of_warp = [&](int warp) {
    Exprs parts;
    for (const Shared& each : shared) parts.push_back(each[k.literal(DType::I32, warp)]);
    return parts;
  };
  Exprs all = of_warp(0);
  for (int warp = 1; warp < warps; ++warp) all = merge(all, of_warp(warp));
  return all;
}

/// Threads hold states of neighbouring columns; those that share a column are a row of threads apart, and the first gets
/// the results. All states go through shared memory at once.
std::vector<Exprs> Folder::fold_columns(const std::vector<Exprs>& states, const Merge& merge) {
  if (shape_.lanes == 1) return states;
  std::vector<std::vector<Local>> so_far;
  for (std::size_t i = 0; i < states.size(); ++i) {
    if (shared_.size() <= i) {
      shared_.emplace_back();
      for (const Expr& part : states[i]) shared_[i].push_back(k_.shared(part.type(), kThreads));
    }
    so_far.emplace_back();
    for (const Expr& part : states[i]) so_far[i].push_back(k_.variable(part));
  }
  // A round stores where none before has been read.
  for (int half = kThreads / 2; half >= kThreads / shape_.lanes; half /= 2) {
    k_.when((half <= k_.thread()) & (k_.thread() < 2 * half), [&] {
      for (std::size_t i = 0; i < states.size(); ++i)
        for (std::size_t part = 0; part < states[i].size(); ++part)
          shared_[i][part].store(k_.thread(), so_far[i][part]);
    });
    k_.barrier();
    k_.when(k_.thread() < half, [&] {
      for (std::size_t i = 0; i < states.size(); ++i) {
        Exprs mine, other;
        for (std::size_t part = 0; part < states[i].size(); ++part) {
          mine.push_back(so_far[i][part]);
          other.push_back(shared_[i][part][k_.thread() + half]);
        }
        const Exprs both = merge(mine, other);
        for (std::size_t part = 0; part < both.size(); ++part) so_far[i][part].set(both[part]);
      }
    });
  }
  std::vector<Exprs> all;
  for (const std::vector<Local>& each : so_far) all.emplace_back(each.begin(), each.end());
  return all;
}

// ---- the kernel ----------------------------------------------------------------------------------------------------

Folder::Folder(Builder& k, const FoldShape& shape, std::span<const DType> inputs, std::span<const DType> outputs,
               std::span<const DType> state)
    : k_(k), shape_(shape) {
  const DType index = shape.index;
  int arrays = 1;  // all states have the same layout
  if (shape.stage == Stage::End) {
    for (const DType dtype : state) inputs_.push_back(k.input(dtype));
  } else {
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const bool number = shape.inputs[i] == Layout::Number;
      numbers_.push_back(number ? k.number(inputs[i]) : Expr());
      inputs_.push_back(number ? Buffer() : k.input(inputs[i]));
    }
    for (const DType dtype : outputs) outputs_.push_back(k.output(dtype));
    arrays =
        static_cast<int>(std::ranges::count_if(shape.inputs, [](Layout layout) { return layout != Layout::Number; }) +
                         std::ssize(outputs));
  }
  if (shape.stage == Stage::Begin)
    for (const DType dtype : state) states_.push_back(k.output(dtype));
  rows_ = k.number(index);
  steps_ = k.number(index);
  chunk_ = k.number(index);
  splits_ = k.number(index);
  kept_.emplace(k, index, shape.kept, arrays + 1);
  folded_.emplace(k, index, shape.folded, arrays);
}

void Folder::take(const FoldRow& row, const Expr& step, int unroll, FunctionRef<Exprs(const Exprs&)> element,
                  std::span<const std::vector<Local>> states, const Folding& folding) {
  const auto width = static_cast<std::size_t>(shape_.width);
  std::vector<std::vector<Exprs>> loaded(static_cast<std::size_t>(unroll));  // by step, input and lane
  std::vector<Exprs> places;
  Exprs first;
  for (std::size_t u = 0; u < loaded.size(); ++u) {
    const Expr at = step + static_cast<int>(u) * shape_.lanes;
    first.push_back(shape_.columns ? at : at * shape_.width);
    places.push_back(folded_->of(first.back()));
    for (std::size_t a = 0; a < places.back().size(); ++a) places[u][a] = places[u][a] + row.bases[a];
    std::size_t array = 0;
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      const Layout layout = shape_.stage == Stage::End ? Layout::Apart : shape_.inputs[i];
      const Expr place = places[u][shape_.stage == Stage::End ? 0 : layout == Layout::Number ? 0 : array];
      if (layout != Layout::Number) ++array;
      switch (layout) {
        case Layout::Number: loaded[u].emplace_back(width, numbers_[i]); break;
        case Layout::InLine: loaded[u].push_back(load_line(inputs_[i], place, shape_.width)); break;
        case Layout::Repeated: loaded[u].emplace_back(width, inputs_[i][place]); break;
        case Layout::Apart: loaded[u].push_back({inputs_[i][place]}); break;
      }
    }
  }
  for (std::size_t u = 0; u < loaded.size(); ++u) {
    std::vector<Exprs> made(outputs_.size());
    for (std::size_t lane = 0; lane < width; ++lane) {
      Exprs in, so_far;
      for (const Exprs& each : loaded[u]) in.push_back(each[lane]);
      for (const Local& part : states[lane]) so_far.push_back(part);
      Exprs all = shape_.stage == Stage::End ? in : element(in);
      for (std::size_t i = 0; i < made.size(); ++i) made[i].push_back(all[all.size() - made.size() + i]);
      all.resize(all.size() - made.size());
      const Expr place = shape_.columns ? first[u] : first[u] + static_cast<int>(lane);
      const Exprs next =
          shape_.stage == Stage::End ? folding.merge(so_far, all) : folding.add(so_far, all, place.as(DType::U32));
      for (std::size_t i = 0; i < next.size(); ++i) states[lane][i].set(next[i]);
    }
    if (made.empty()) continue;
    k_.when(row.number < rows_, [&] {
      for (std::size_t i = 0; i < made.size(); ++i)
        store_line(outputs_[i], places[u][places[u].size() - made.size() + i], made[i]);
    });
  }
}

void Folder::tell(const FoldRow& row, int lane, const Exprs& state,
                  FunctionRef<void(const Exprs&, const Expr&)> finish) {
  k_.when(row.writes, [&] {
    if (shape_.stage != Stage::Begin) return finish(state, row.to + lane);
    const Expr column = row.number * shape_.width + lane;
    const Expr at = shape_.columns ? row.split * rows_ * shape_.width + column : row.number * splits_ + row.split;
    for (std::size_t i = 0; i < state.size(); ++i) states_[i].store(at, state[i]);
  });
}

void Folder::run(const Folding& folding, FunctionRef<Exprs(const Exprs& loaded)> element,
                 FunctionRef<void(const Exprs& state, const Expr& to)> finish) {
  const int lanes = shape_.lanes, teams = kThreads / lanes;
  const Expr thread = k_.thread(), block = k_.block().as(shape_.index);
  const Expr lane = shape_.columns ? thread / teams : thread % lanes;
  const Expr team = shape_.columns ? thread % teams : thread / lanes;
  FoldRow row;
  row.split = shape_.stage == Stage::Begin ? block % splits_ : k_.literal(shape_.index, 0);
  row.number = (shape_.stage == Stage::Begin ? block / splits_ : block) * teams + team.as(shape_.index);
  row.writes = (row.number < rows_) & (lane == 0);
  const Expr inside =
      min(row.number, rows_ - 1);  // a thread past the end repeats the last row, and does not store its result anywhere
  row.bases = kept_->of(shape_.columns ? inside * shape_.width : inside);
  row.to = row.bases.back();
  row.bases.pop_back();

  std::vector<std::vector<Local>> states(static_cast<std::size_t>(shape_.width));
  const Exprs nothing = shape_.stage == Stage::End ? folding.settle(folding.nothing()) : folding.nothing();
  for (auto& each : states)
    for (const Expr& part : nothing) each.push_back(k_.variable(part));
  const Expr begin = row.split * chunk_, end = min(begin + chunk_, steps_), first = begin + lane.as(shape_.index);
  const auto arrays = static_cast<int>(std::max<std::size_t>(row.bases.size(), 1));
  const int unroll = std::max(1, kLoads / arrays);
  const Expr round = k_.literal(shape_.index, lanes * unroll);
  const Expr full = (end - begin) / round * round;
  k_.loop(first, begin + full, round, [&](const Expr& i) { take(row, i, unroll, element, states, folding); });
  k_.loop(first + full, end, k_.literal(shape_.index, lanes),
          [&](const Expr& i) { take(row, i, 1, element, states, folding); });

  const auto settled = [&](const std::vector<Local>& state) {
    const Exprs parts(state.begin(), state.end());
    return shape_.stage == Stage::End ? parts : folding.settle(parts);
  };
  if (shape_.columns) {
    // A round takes as many columns as leave room for several blocks in a multiprocessor's shared memory.
    std::size_t bytes = 0;
    for (const Local& part : states[0]) bytes += kThreads * size_of(part.type());
    const std::size_t most = std::max<std::size_t>(kColumnBytes / bytes, 1);
    for (std::size_t column = 0; column < states.size(); column += most) {
      std::vector<Exprs> some;
      for (std::size_t i = column; i < std::min(column + most, states.size()); ++i) some.push_back(settled(states[i]));
      if (column > 0 && lanes > 1) k_.barrier();  // others may still read the states of the columns before
      const std::vector<Exprs> folded = fold_columns(some, folding.merge);
      for (std::size_t i = 0; i < folded.size(); ++i) tell(row, static_cast<int>(column + i), folded[i], finish);
    }
    return;
  }
  Exprs all = settled(states[0]);
  for (std::size_t i = 1; i < states.size(); ++i) all = folding.merge(all, settled(states[i]));
  tell(row, 0, fold_lanes(k_, lanes, all, folding.merge), finish);
}

}  // namespace kiln::gpu::family
