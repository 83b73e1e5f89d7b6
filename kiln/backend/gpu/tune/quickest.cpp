#include "kiln/backend/gpu/tune/quickest.hpp"

#include <algorithm>
#include <limits>

namespace kiln::gpu {
namespace {

constexpr int kRounds = 3;      // each way runs in each round, so that a device that warms up favours none
constexpr int kRuns = 4;        // per round
constexpr double kEnough = 50;  // ms per run, beyond which a single run is enough
constexpr double kGain = 0.98;  // relative to the time of an earlier one, which is preferred

}  // namespace

std::optional<Quickest> quickest(int count, FunctionRef<bool(int)> run,
                                 FunctionRef<double(FunctionRef<void()>)> milliseconds) {
  struct Contender {
    int which;
    double best;
  };
  std::vector<Contender> contenders;
  for (int i = 0; i < count; ++i) {
    if (!run(i)) continue;  // a warm-up run
    contenders.push_back({i, milliseconds([&] { run(i); })});
  }
  if (contenders.empty()) return std::nullopt;
  const bool slow = std::ranges::any_of(contenders, [](const Contender& each) { return each.best > kEnough; });
  for (int round = 0; round < (slow ? 0 : kRounds); ++round)
    for (Contender& each : contenders)
      each.best = std::min(each.best, milliseconds([&] {
                                        for (int i = 0; i < kRuns; ++i) run(each.which);
                                      }) / kRuns);
  const Contender* best = &contenders[0];
  for (const Contender& each : contenders)
    if (each.best < kGain * best->best) best = &each;
  Quickest found{best->which,
                 std::vector<double>(static_cast<std::size_t>(count), std::numeric_limits<double>::infinity())};
  for (const Contender& each : contenders) found.milliseconds[static_cast<std::size_t>(each.which)] = each.best;
  return found;
}

}  // namespace kiln::gpu
