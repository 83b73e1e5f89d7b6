// Ranks that are processes, of one machine or of many: MPI carries their bytes. Programs that use it link kiln::mpi.
//
//   mpirun -n 4 program         Slurm's srun, or any other launcher that MPI knows, does as well
#pragma once
#include "kiln/ops/collective/communicator.hpp"

namespace kiln {

/// All processes of the program, of which this one is a rank; one alone, if nobody launched several. The first call starts
/// MPI, unless it was started by then, and its `config` counts; the program's end ends it. A process that ends early is a
/// rank that has left. One that is killed is a rank that has left as well: those on its machine say so at once, and all others
/// are ended by the launcher, or by these. One that waits longer than the timeout when the program ends, ends all others.
/// Throws IoError where Kiln was built without MPI, or where a launcher says that there are several processes and MPI
/// knows of one.
Ranks mpi_ranks(const CommunicatorConfig& config = {});
/// Was Kiln built with MPI?
bool has_mpi();

}  // namespace kiln
