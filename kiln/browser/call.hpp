// The one entry from JavaScript: kiln_call runs a function by its name.
#pragma once
#include <cstddef>
#include <span>
#include <string_view>

#include "kiln/browser/function.hpp"

namespace kiln::browser {

/// Runs the function with a list of arguments. Throws ArgumentError where there is none of that name, and what it throws.
Item call(std::string_view name, const Item& arguments);

/// The functions that every page has: those of tensors and devices. Kiln's own names begin with "kiln.".
std::span<const Function> tensor_functions();

}  // namespace kiln::browser

extern "C" {

/// Where the answer of a call lies: memory that the caller frees with kiln_free.
struct KilnAnswer {
  std::byte* address;
  std::size_t bytes;
};

/// Calls the function `name` with the item at `arguments` (a list). Returns 0, and the result's item, or 1 and the error as a
/// record of `kind` and `message`. Nothing is thrown. Calls come one at a time; a call waits where the device does.
int kiln_call(const char* name, const std::byte* arguments, std::size_t bytes, KilnAnswer* answer);
/// Memory for arguments; null where there is none left.
void* kiln_allocate(std::size_t bytes);
void kiln_free(void* address);

/// Imported from JavaScript: calls the function with that number, whose argument is the item at `argument`. Returns 0 where it
/// asks to stop.
int kiln_call_back(int number, const std::byte* argument, std::size_t bytes);
}
