#include "kiln/nn/module/undrawn.hpp"

#include <utility>

namespace kiln::nn {
namespace {

thread_local bool undrawn_here = false;

}  // namespace

Undrawn::Undrawn() : before_(std::exchange(undrawn_here, true)) {}
Undrawn::~Undrawn() { undrawn_here = before_; }
bool Undrawn::is_on() { return undrawn_here; }

}  // namespace kiln::nn
