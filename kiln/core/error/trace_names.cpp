// Reads addresses without libbacktrace: only the functions that the dynamic linker knows.
#include <dlfcn.h>

#include "kiln/core/error/trace.hpp"

namespace kiln::detail {

void read_frames(void* address, void (*each)(void* list, Frame frame), void* list) {
  Dl_info info{};
  const bool known = dladdr(address, &info) != 0 && info.dli_sname;
  each(list, {known ? info.dli_sname : "", "", 0, address});
}

}  // namespace kiln::detail
