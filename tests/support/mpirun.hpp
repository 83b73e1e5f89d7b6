// How tests start ranks that are processes.
#pragma once
#include <string>

#include "kiln/core/text.hpp"

namespace kiln {

/// The beginning of a command whose program follows. OpenMPI unloads its plugins, whose leaks have no names by then.
inline std::string mpirun(int ranks, const std::string& options = "") {
  return text(
      "env OMPI_MCA_btl_base_warn_component_unused=0 OMPI_MCA_btl_vader_single_copy_mechanism=none "
      "ASAN_OPTIONS=detect_leaks=0 ",
      MPIRUN, " --allow-run-as-root --oversubscribe ", options, " -n ", ranks, ' ');
}

}  // namespace kiln
