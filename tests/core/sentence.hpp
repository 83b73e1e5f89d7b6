// What a wrong call of kiln/core is told.
#pragma once
#include <string>

#include "kiln/core/error/error.hpp"
#include "kiln/core/error/trace.hpp"

namespace kiln {

/// The sentence of the error that `call` ends in; empty where it ends in none.
template <class F>
std::string sentence_of(F&& call) {
  try {
    (void)call();
  } catch (const Error& error) { return std::string(without_calls(error.what())); }
  return "";
}

}  // namespace kiln
