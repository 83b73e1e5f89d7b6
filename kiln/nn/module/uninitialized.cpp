#include "kiln/nn/module/uninitialized.hpp"

#include <utility>

namespace kiln::nn {
namespace {

thread_local bool uninitialized_here = false;

}  // namespace

Uninitialized::Uninitialized() : before_(std::exchange(uninitialized_here, true)) {}
Uninitialized::~Uninitialized() { uninitialized_here = before_; }
bool Uninitialized::is_on() { return uninitialized_here; }

}  // namespace kiln::nn
