// Splits the work of a recurrent layer over threads.
#include <unistd.h>

#include <memory>

#include "kiln/backend/cpu/pieces.hpp"
#include "kiln/backend/cpu/simd/index/indices.hpp"
#include "kiln/backend/cpu/simd/recurrent/recurrent.hpp"
#include "kiln/backend/cpu/simd/recurrent/step_pipeline.hpp"

namespace kiln::cpu::simd {

using std::int64_t;

RecurrentShape::RecurrentShape(const RecurrentCell& cell, const Value& weight, const Value& projection,
                               const Value& lengths, int64_t batch, int64_t time)
    : is(cell),
      batch(batch),
      time(time),
      hidden(weight.dim(0) / gates_of(cell.kind)),
      out(weight.dim(1)),
      gates(gates_of(cell.kind)),
      projects(!projection.empty()),
      lengths(static_cast<std::size_t>(batch), time) {
  if (!lengths) return;
  const Indices given(lengths);
  for (int64_t row = 0; row < batch; ++row)
    this->lengths[static_cast<std::size_t>(row)] = std::clamp<int64_t>(given.data()[row], 0, time);
}

bool RecurrentShape::any_active(Interval rows, int64_t t) const {
  return std::any_of(lengths.begin() + rows.begin, lengths.begin() + rows.end,
                     [t](int64_t length) { return t < length; });
}

namespace {

/// The bytes of a weight that stay in the cache of a core between time steps: three quarters of its own cache.
int64_t kept_bytes() {
  static const int64_t kBytes = [] {
    long size = 0;
#ifdef _SC_LEVEL2_CACHE_SIZE
    size = ::sysconf(_SC_LEVEL2_CACHE_SIZE);  // 0 if the C library does not know it
#endif
    return (size > 0 ? int64_t{size} : int64_t{1} << 20) / 4 * 3;
  }();
  return kBytes;
}

// The cost of a cache line of a weight in cycles of a core: between what cores with vectors of 64 and of 32 bytes need,
// so that the groups which seem best take at most 4 % longer on average on either kind. bench: suite lstm_train, sweep
// lstm, gru
constexpr double kRowCycles = 0.6;    // multiplying the line by the numbers of one row of the batch
constexpr double kNearCycles = 1.5;   // reading the line from the core's own caches
constexpr double kFarCycles = 5;      // reading the line from beyond them
constexpr double kWaitCycles = 2000;  // waiting at the end of a time step, for each thread that takes part

/// The number of rows of a group, and the number of threads that share its panels.
struct Groups {
  int64_t rows, members;
};

/// Returns the groups with the shortest estimated time step. A thread that has rows to itself waits for no other, but
/// reads all of the weight. Threads that share rows read a part of the weight each, but read the state from each
/// other's caches.
Groups groups_of(int64_t batch, int64_t weight_bytes, int64_t panels, int64_t threads) {
  constexpr int64_t kMostRows = 48;  // the data of so many rows stay in the cache
  const int64_t lines = weight_bytes / 64;
  Groups best{};
  double least = std::numeric_limits<double>::max();
  for (int64_t members = 1; members <= std::min(threads, panels); ++members) {
    const int64_t rows = std::clamp<int64_t>(divide_up(batch, threads / members), 1, kMostRows),
                  share = lines * divide_up(panels, members) / panels;
    const double multiplying = kRowCycles * static_cast<double>(share * rows),
                 reading = (64 * share > kept_bytes() ? kFarCycles : kNearCycles) * static_cast<double>(share),
                 waiting = members > 1 ? kWaitCycles * static_cast<double>(members + 2) : 0,
                 time = std::max(multiplying, reading) + waiting;
    if (time < least) least = time, best = {rows, members};
  }
  return best;
}

}  // namespace

void each_time_step(const RecurrentShape& shape, int64_t weight_bytes, int64_t steps,
                    std::initializer_list<int64_t> panels, Phase phase) {
  if (shape.batch == 0) return;
  const auto phases = static_cast<int64_t>(panels.size());
  const auto [rows, members] =
      groups_of(shape.batch, weight_bytes, std::max<int64_t>(std::min(panels), 1), num_threads());
  // Takes a few panels at a time, so that their sums stay in the first-level cache until the gates have read them.
  // Every other time step takes them in reverse order, so that it begins with the panels that are still in the
  // second-level cache.
  constexpr int64_t kTogether = 4;
  const auto take = [&](int64_t stage, Interval group, int64_t member) {
    const int64_t count = panels.begin()[stage % phases], begin = count * member / members,
                  end = count * (member + 1) / members, parts = divide_up(end - begin, kTogether);
    for (int64_t i = 0; i < parts; ++i) {
      const int64_t part = begin + (stage / phases % 2 == 0 ? i : parts - 1 - i) * kTogether;
      phase(static_cast<int>(stage % phases), stage / phases, group, {part, std::min(part + kTogether, end)});
    }
  };
  if (members == 1) {
    parallel_for(shape.batch, rows, [&](int64_t begin, int64_t end) {
      for (int64_t stage = 0; stage < steps * phases; ++stage) take(stage, {begin, end}, 0);
    });
    return;
  }
  std::vector<std::unique_ptr<StepPipeline>> pipelines;
  for (int64_t row = 0; row < shape.batch; row += rows)
    pipelines.push_back(std::make_unique<StepPipeline>(members, steps * phases));
  parallel_for(static_cast<int64_t>(pipelines.size()) * members, 1, [&](int64_t begin, int64_t end) {
    for (int64_t place = begin; place < end; ++place) {
      const int64_t group = place / members;
      const Interval those{group * rows, std::min((group + 1) * rows, shape.batch)};
      pipelines[static_cast<std::size_t>(group)]->run(
          place % members, [&](int64_t stage, int64_t member) { take(stage, those, member); });
    }
  });
}

}  // namespace kiln::cpu::simd
