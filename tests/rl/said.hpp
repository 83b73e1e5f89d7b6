// What a wrong call is told.
#pragma once
#include <string>

#include "kiln/core/error/error.hpp"
#include "kiln/core/error/trace.hpp"

namespace kiln::rl {

/// "ArgumentError: ..."; "nothing" where f() throws nothing.
template <class F>
std::string said(F f) {
  try {
    f();
  } catch (const Error& error) { return std::string(without_calls(error.what())); }
  return "nothing";
}

}  // namespace kiln::rl
