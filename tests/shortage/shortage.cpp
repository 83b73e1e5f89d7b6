#include "tests/shortage/shortage.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <limits>
#include <new>

#include "kiln/core/error/error.hpp"
#include "kiln/ops/device.hpp"

namespace {

constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

std::atomic<std::int64_t> live{0}, asked{0}, first_to_fail{kNever}, last_to_fail{kNever};
std::atomic<bool> failed{false}, of_one{false};
thread_local bool is_the_one = false;

bool fails() noexcept {
  if (of_one.load(std::memory_order_relaxed) && !is_the_one) return false;
  const std::int64_t number = asked.fetch_add(1, std::memory_order_relaxed) + 1;
  if (number < first_to_fail.load(std::memory_order_relaxed) || number > last_to_fail.load(std::memory_order_relaxed))
    return false;
  failed = true;
  return true;
}

void* given(std::size_t bytes, std::size_t alignment) noexcept {
  if (fails()) return nullptr;
  bytes = std::max<std::size_t>(bytes, 1);
  void* const memory = alignment > alignof(std::max_align_t)
                           ? std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment)
                           : std::malloc(bytes);
  if (memory) live.fetch_add(1, std::memory_order_relaxed);
  return memory;
}
void* given_or_thrown(std::size_t bytes, std::size_t alignment) {
  void* const memory = given(bytes, alignment);
  return memory ? memory : throw std::bad_alloc();
}
void taken(void* memory) noexcept {
  if (memory) live.fetch_sub(1, std::memory_order_relaxed);
  std::free(memory);
}

}  // namespace

// Arrays go by these. The compiler takes malloc for a stranger where it sees through the first of them alone.
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"
[[gnu::noinline]] void* operator new(std::size_t bytes) { return given_or_thrown(bytes, 0); }
[[gnu::noinline]] void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept { return given(bytes, 0); }
[[gnu::noinline]] void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return given_or_thrown(bytes, static_cast<std::size_t>(alignment));
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { taken(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { taken(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::align_val_t) noexcept { taken(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { taken(memory); }

namespace kiln::test {

std::int64_t live_blocks() { return live; }
std::int64_t allocations() { return asked; }
bool has_failed() { return failed; }

Shortage::Shortage(std::int64_t at, Fails fails, Threads whose) {
  is_the_one = true;
  of_one = whose == Threads::This;
  asked = 0;
  failed = false;
  last_to_fail = fails == Fails::Once ? at : kNever;
  first_to_fail = at;
}
Shortage::~Shortage() {
  first_to_fail = last_to_fail = kNever;
  of_one = is_the_one = false;
}

namespace {

enum class Came { Through, ToAnError, Otherwise };

/// A call that failed may have left an operation that nobody waits for any more: it is held until others run.
void settle() {
  try {
    Device::cpu().sync();
  } catch (const Error&) {}  // what was not told yet
}

/// `call` under a shortage; nothing here asks for memory meanwhile.
Came called(FunctionRef<void()> call, std::int64_t at, Fails fails, std::string& said) {
  bool speaks = true;
  try {
    try {
      const Shortage shortage(at, fails);
      call();
      return Came::Through;
    } catch (const Error& error) {
      speaks = error.kind() == ErrorKind::Memory && !error.message().empty();
      said = error.what();
    }
  } catch (const std::exception& error) {
    said = error.what();
    return Came::Otherwise;
  }
  return speaks ? Came::ToAnError : Came::Otherwise;
}

}  // namespace

void expect_memory_error(const std::string& what, FunctionRef<void()> call) {
  expect_memory_error(what, call, {.after = [] {}});
}

void expect_memory_error(const std::string& what, FunctionRef<void()> call, const ShortageOptions& options) {
  for (int warm = 0; warm < 3; ++warm) call();  // what is made once has been made
  std::int64_t all = 0;
  {
    const Shortage none(kNever, Fails::Once);
    call();
    all = allocations();
  }
  int told = 0;
  for (const Fails fails : {Fails::Once, Fails::FromThenOn}) {
    if (fails == Fails::FromThenOn && !options.lasting) break;
    const std::int64_t dense = fails == Fails::Once ? options.dense : options.dense / 3;
    for (std::int64_t at = 1; at <= all; at += 1 + std::max<std::int64_t>(0, at - dense) / 10) {
      const std::string where =
          kiln::text(what, ", allocation ", at, " of ", all, fails == Fails::Once ? "" : " and all behind it");
      // What caches keep they keep once: of three times that it fails, one leaves nothing new.
      std::string said;
      std::int64_t kept = 1;
      for (int times = 0; times < 3 && kept > 0; ++times) {
        said.clear();
        said.shrink_to_fit();
        const std::int64_t before = live_blocks();
        const Came came = called(call, at, fails, said);
        if (options.caches) settle();
        said.shrink_to_fit();
        kept = live_blocks() - before - (said.capacity() > 15 ? 1 : 0);
        told += came == Came::ToAnError;
        if (came == Came::Otherwise) ADD_FAILURE() << where << ": " << said;
        if (!options.caches) break;
      }
      EXPECT_LE(kept, 0) << where << ": so many blocks are lost: " << said;
      try {
        call();
        options.after();
      } catch (const std::exception& error) { ADD_FAILURE() << where << ", and afterwards: " << error.what(); }
      if (testing::Test::HasFailure()) return;
    }
  }
  EXPECT_TRUE(told > 0 || all == 0) << what << ": no shortage was told of";
}

}  // namespace kiln::test
