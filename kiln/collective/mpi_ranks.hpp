// Ranks that are processes, on one machine or many, connected by MPI. Programs that use it link kiln::mpi.
//
//   mpirun -n 4 program         or Slurm's srun, or any other launcher that MPI knows
#pragma once
#include "kiln/ops/collective/communicator.hpp"

namespace kiln {

/// Returns this process's rank among all processes of the program; a single rank where no launcher started several. The
/// first call starts MPI, unless it is started already, and sets `config`; the end of the program finalises it. A
/// process that ends early is a rank that has left. A process that is killed has left as well: ranks on its machine
/// report it at once, and the launcher, or these ranks, end all others. A process that waits longer than the timeout at
/// the end of the program ends all others. Throws IoError where Kiln was built without MPI, or where a launcher reports
/// several processes and MPI only one.
Ranks mpi_ranks(const CommunicatorConfig& config = {});
/// Whether Kiln was built with MPI.
bool has_mpi();

}  // namespace kiln
