// How tests start ranks as processes.
#pragma once
#include <string>

#include "kiln/core/text.hpp"

namespace kiln {

/// Returns the beginning of a command, to which a program is appended. Leaks are not reported: OpenMPI unloads its
/// plugins, so that their leaks would have no names.
inline std::string mpirun(int ranks, const std::string& options = "") {
  return text(
      "env OMPI_MCA_btl_base_warn_component_unused=0 OMPI_MCA_btl_vader_single_copy_mechanism=none "
      "ASAN_OPTIONS=detect_leaks=0 ",
      MPIRUN, " --allow-run-as-root --oversubscribe ", options, " -n ", ranks, ' ');
}

}  // namespace kiln
