// Ranks that are processes, on one machine or many, connected by sockets (TCP): for any launcher that sets rank and
// size in the environment, where there is no MPI.
#pragma once
#include <cstdint>
#include <string>

#include "kiln/ops/collective/communicator.hpp"

namespace kiln {

/// This process's place in a launch.
struct Launch {
  int rank = 0, size = 1;
  std::string address = "127.0.0.1";  // the address of rank 0
  int port = 29'400;                  // the port at which rank 0 listens

  /// Reads the launcher's variables: RANK, WORLD_SIZE, and for several machines MASTER_ADDR and MASTER_PORT, as
  /// torchrun and many others set them; or those of Slurm's srun. Without any it is a single process. Throws IoError
  /// for values that are no numbers, or for a rank that is not below the size.
  static Launch from_environment();
};

/// Returns this process's rank among all processes of a launch, each connected with each. They trust each other: anyone
/// who can reach the ports during the connection could pose as a rank, so use a private network. A process that ends,
/// or is killed, is a rank that has left. Throws IoError where others do not come within the timeout, of at least ten
/// seconds.
Ranks socket_ranks(const Launch& launch, const CommunicatorConfig& config = {});

}  // namespace kiln
