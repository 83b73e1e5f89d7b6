// Memory that runs out at a chosen allocation, as SQLite's tests have it: this program's operator new fails for the
// n-th time that it is asked, for n = 1, 2, 3, ... until a call comes through.
#pragma once
#include <cstdint>
#include <string>

#include "kiln/core/function_ref.hpp"

namespace kiln::test {

/// Blocks of operator new that nobody has given back, of all threads.
std::int64_t live_blocks();

enum class Fails { Once, FromThenOn };
/// Whose allocations count, and fail.
enum class Threads { All, This };

/// While it lives, allocation number `at` from now on throws std::bad_alloc; or that and all behind it.
class Shortage {
 public:
  Shortage(std::int64_t at, Fails fails, Threads whose = Threads::All);
  ~Shortage();
  Shortage(const Shortage&) = delete;
  Shortage& operator=(const Shortage&) = delete;
};
/// Allocations since the newest Shortage began, and whether it has made one fail.
std::int64_t allocations();
bool has_failed();

struct ShortageOptions {
  std::int64_t dense = 100;   // so many allocations fail one by one; behind them it is every so many-th, a tenth apart
  bool caches = false;        // a call that failed may leave blocks of which the next one has use: once
  bool lasting = true;        // also a shortage that goes on for the rest of the call
  FunctionRef<void()> after;  // what must hold after each
};

/// Lets `call` fail at its allocations, one after the other, and at all from one on: each time it comes through all the
/// same, or throws a MemoryError with a sentence; nothing is lost; and afterwards the same call comes through. Reports
/// what is otherwise to GoogleTest.
void expect_memory_error(const std::string& what, FunctionRef<void()> call, const ShortageOptions& options);
void expect_memory_error(const std::string& what, FunctionRef<void()> call);

}  // namespace kiln::test
