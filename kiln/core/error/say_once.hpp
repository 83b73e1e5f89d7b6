// Warnings of what is allowed and seldom meant.
#pragma once
#include <string_view>

namespace kiln {

/// Writes "kiln: warning: WHAT. This is said once." on the standard error stream, the first time in a program that
/// `what` is said. Any thread may call it.
void say_once(std::string_view what);

}  // namespace kiln
