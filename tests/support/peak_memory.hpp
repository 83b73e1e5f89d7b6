// How much memory a function uses at most.
#pragma once
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <exception>

#include "kiln/core/function_ref.hpp"

namespace kiln::test {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#elif defined(__has_feature)
inline constexpr bool kSanitized = __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#else
inline constexpr bool kSanitized = false;
#endif

/// Returns the most memory in bytes that `run` uses at a time beyond what was used before, whether it returns or
/// throws. It runs in a process of its own; -1 if that crashes. A sanitizer keeps freed memory, so the result under one
/// is 0.
inline std::int64_t peak_memory(FunctionRef<void()> run) {
  int ends[2];
  if (::pipe(ends) != 0) return -1;
  const auto highest = [] {
    rusage use{};
    ::getrusage(RUSAGE_SELF, &use);
    return std::int64_t{use.ru_maxrss} * 1024;
  };
  const pid_t child = ::fork();
  if (child == 0) {
    const std::int64_t before = highest();
    try {
      run();
    } catch (const std::exception&) {}
    const std::int64_t more = kSanitized ? 0 : highest() - before;
    ::_exit(::write(ends[1], &more, sizeof more) == sizeof more ? 0 : 1);
  }
  ::close(ends[1]);
  std::int64_t more = -1;
  if (child < 0 || ::read(ends[0], &more, sizeof more) != sizeof more) more = -1;
  ::close(ends[0]);
  if (child > 0) ::waitpid(child, nullptr, 0);
  return more;
}

}  // namespace kiln::test
