#include "kiln/collective/launched_ranks.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>

#include "kiln/collective/mpi_ranks.hpp"
#include "kiln/collective/socket_ranks.hpp"
#include "kiln/core/error/error.hpp"

namespace kiln {

Ranks launched_ranks(const CommunicatorConfig& config) {
  // Variables that MPI's launchers set for their processes. In a Slurm job, Slurm's own variables describe the launcher
  // instead.
  constexpr std::array kMpi = {"OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_RANK"};
  if (has_mpi() && std::ranges::any_of(kMpi, [](const char* name) { return std::getenv(name) != nullptr; })) {
    const char* const secret = std::getenv("KILN_RANK_SECRET");
    require<IoError>(!secret || !*secret,
                     "ranks: KILN_RANK_SECRET is set, and MPI, which connects these ranks, knows no secret: unset it "
                     "and keep them in a network of their own, or start them without MPI's launcher (RANK, WORLD_SIZE, "
                     "MASTER_ADDR and MASTER_PORT)");
    return mpi_ranks(config);
  }
  static const Ranks ranks = socket_ranks(Launch::from_environment(), config);
  return ranks;
}

}  // namespace kiln
