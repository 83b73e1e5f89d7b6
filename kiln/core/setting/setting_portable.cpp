// Settings on systems that may have no files.
#include <cstdlib>

#include "kiln/core/setting/setting.hpp"

namespace kiln {

const char* setting(const char* name) {
  const char* const said = std::getenv(name);
  return said && *said ? said : nullptr;
}

}  // namespace kiln
