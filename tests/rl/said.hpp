// What a wrong call is told.
#pragma once
#include <string>

#include "kiln/core/error/error.hpp"

namespace kiln::rl {

/// "ArgumentError: ..."; "nothing" where f() throws nothing.
template <class F>
std::string said(F f) {
  try {
    f();
  } catch (const Error& error) { return error.what(); }
  return "nothing";
}

}  // namespace kiln::rl
