// Ranks that are processes, of one machine or of many, whose bytes go through sockets (TCP): for whatever starts a program several
// times and says so, where there is no MPI.
#pragma once
#include <cstdint>
#include <string>

#include "kiln/ops/collective/communicator.hpp"

namespace kiln {

/// Who this process is among those that were launched.
struct Launch {
  int rank = 0, size = 1;
  std::string address = "127.0.0.1";  // where rank 0 can be reached
  int port = 29'400;                  // at which it waits for the others

  /// What a launcher says in the environment: RANK, WORLD_SIZE, and for more than one machine MASTER_ADDR and MASTER_PORT, as
  /// torchrun and many others do; or Slurm's srun by itself. One process alone where nobody says anything. Throws IoError for what
  /// is no number, or no rank of so many.
  static Launch from_environment();
};

/// All processes of a launch, each connected with each. They trust each other: whoever reaches the ports while they meet could be
/// one of them, so that belongs into a network of one's own. A process that ends, or is killed, is a rank that has left. Throws
/// IoError where the others do not come within the timeout, of at least ten seconds.
Ranks socket_ranks(const Launch& launch, const CommunicatorConfig& config = {});

}  // namespace kiln
