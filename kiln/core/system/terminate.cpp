#include "kiln/core/system/terminate.hpp"

#include <stdio.h>

#include <cstdio>
#include <cstdlib>
#include <exception>

namespace kiln {
namespace {

std::terminate_handler next = nullptr;

[[noreturn]] void write_out() {
  // Another thread may be writing; to wait for it could be to wait for ever.
  if (::ftrylockfile(stdout) == 0) {
    std::fflush(stdout);
    ::funlockfile(stdout);
  }
  if (next != nullptr) next();
  std::abort();
}

}  // namespace

void write_out_at_terminate() {
  static const bool done = [] {
    next = std::get_terminate();
    std::set_terminate(write_out);
    return true;
  }();
  (void)done;
}

}  // namespace kiln
