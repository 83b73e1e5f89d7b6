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
  /// What ranks prove to each other that they know; at least 16 characters, the same for all (openssl rand -hex 32).
  /// Who does not know it is turned away within a second. Empty: whoever reaches the ports while ranks connect could
  /// pose as one.
  std::string secret = {};
  /// With a secret: whether all that ranks send each other goes over TLS. Otherwise it may be read and changed on the
  /// way.
  bool encrypted = true;

  /// Reads the launcher's variables: RANK, WORLD_SIZE, and for several machines MASTER_ADDR and MASTER_PORT, as
  /// torchrun and many others set them; or those of Slurm's srun. Without any it is a single process. KILN_RANK_SECRET
  /// is the secret, and KILN_RANK_TLS=0 keeps TLS off. Throws IoError for values that are no numbers, or for a rank
  /// that is not below the size.
  static Launch from_environment();
};

/// Returns this process's rank among all processes of a launch, each connected with each. Without a secret they trust
/// whoever connects, which is for private networks alone. A process that ends, or is killed, is a rank that has left.
/// Throws IoError where others do not come within the timeout, of at least ten seconds, or do not know the secret;
/// ArgumentError for a secret that can be guessed.
Ranks socket_ranks(const Launch& launch, const CommunicatorConfig& config = {});

}  // namespace kiln
