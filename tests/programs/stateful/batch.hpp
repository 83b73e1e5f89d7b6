// Many programs in processes of their own: a crash is a finding like another, and a process that has run other programs
// before gives the same bits.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace kiln::stateful {

struct Outcome {
  std::int64_t programs = 0, seen = 0, vague = 0;
  std::vector<std::string> wrong;  // a readable report each
  std::vector<std::string>
      doubtful;  // the plain kernels alone are far from float64: a kink or a cancellation, or a mistake

  /// Chance makes one program of a thousand doubtful.
  bool good() const { return wrong.empty() && static_cast<std::int64_t>(doubtful.size()) <= 1 + programs / 300; }
};

/// The programs of the seeds from `first` on, by `jobs` processes at a time.
Outcome run_batches(std::uint64_t first, std::uint64_t count, int jobs);

/// What this program does for other arguments than GoogleTest's; nothing where there are none:
///   --from A --count N [--jobs J]   checks the programs of these seeds
///   --one SEED                      that one, with every step
/// and what run_batches() starts.
int main_of(int argc, char** argv, bool& handled);

}  // namespace kiln::stateful
