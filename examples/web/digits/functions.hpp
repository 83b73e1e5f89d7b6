// The functions of C++ that pages of digits call: a reader of digits, and trainings that make one.
#pragma once
#include <span>

#include "kiln/browser/function.hpp"

namespace digits {

/// They compute on the page's default device.
std::span<const kiln::browser::Function> functions();

}  // namespace digits
