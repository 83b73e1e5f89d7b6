#include "kiln/collective/mpi_ranks.hpp"
#include "kiln/core/error/error.hpp"

namespace kiln {

Ranks mpi_ranks(const CommunicatorConfig&) {
  fail<IoError>("mpi_ranks: this Kiln was built without MPI: install it (Debian: libopenmpi-dev) and configure again");
}
bool has_mpi() { return false; }

}  // namespace kiln
