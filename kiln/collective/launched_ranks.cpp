#include "kiln/collective/launched_ranks.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>

#include "kiln/collective/mpi_ranks.hpp"
#include "kiln/collective/socket_ranks.hpp"

namespace kiln {

Ranks launched_ranks(const CommunicatorConfig& config) {
  // Variables that MPI's launchers set for their processes. In a Slurm job, Slurm's own variables describe the launcher
  // instead.
  constexpr std::array kMpi = {"OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_RANK"};
  if (has_mpi() && std::ranges::any_of(kMpi, [](const char* name) { return std::getenv(name) != nullptr; }))
    return mpi_ranks(config);
  static const Ranks ranks = socket_ranks(Launch::from_environment(), config);
  return ranks;
}

}  // namespace kiln
