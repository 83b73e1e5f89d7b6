// What a wrong call is told.
#pragma once
#include <string>

#include "kiln/core/error/error.hpp"
#include "kiln/ops/device.hpp"

namespace kiln {

/// The sentence of the error that `call`, or the work that it asks the processor for, ends in; empty where it ends in
/// none. What follows it, the calls that led to the operation, is left out.
template <class F>
std::string sentence_of(F&& call) {
  try {
    (void)call();
    Device::cpu().sync();
  } catch (const Error& error) {
    const std::string_view said = error.what();
    return std::string(said.substr(0, said.find("\n  called from ")));
  }
  return "";
}

}  // namespace kiln
