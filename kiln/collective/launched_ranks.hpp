// The processes of a program, for any launcher. Programs that use it link kiln::mpi.
//
//   mpirun -n 4 program                          Slurm: srun -n 4 program, or srun --mpi=pmix -n 4 program
//   torchrun --no-python --nproc-per-node 4 program, or anything else that sets RANK and WORLD_SIZE
#pragma once
#include "kiln/ops/collective/communicator.hpp"

namespace kiln {

/// Connects by MPI where its launcher started this process (mpi_ranks.hpp), by sockets where another launcher did
/// (socket_ranks.hpp); without a launcher it returns a single rank. Later calls return the same ranks. Throws IoError
/// as those do, and where MPI, which knows no secret, is to connect and KILN_RANK_SECRET is set.
Ranks launched_ranks(const CommunicatorConfig& config = {});

}  // namespace kiln
