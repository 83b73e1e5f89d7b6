// The error sentence of a wrong call.
#pragma once
#include <string>

#include "kiln/core/error/error.hpp"
#include "kiln/core/error/trace.hpp"
#include "kiln/ops/device.hpp"

namespace kiln {

/// Returns the sentence of the error in which `call`, or the work that it gives the processor, ends; empty if it ends
/// in none. The calls that led to the operation, which follow the sentence, are left out.
template <class F>
std::string sentence_of(F&& call) {
  try {
    (void)call();
    Device::cpu().sync();
  } catch (const Error& error) { return std::string(without_calls(error.what())); }
  return "";
}

}  // namespace kiln
