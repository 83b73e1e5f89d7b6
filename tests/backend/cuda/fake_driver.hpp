// What the fake driver (fake_driver.cpp) has seen.
#pragma once
#include <cstddef>
#include <cstdint>

struct FakeLaunch {
  char name[64];
  unsigned blocks, threads, shared_bytes;
  std::uint64_t first_argument;
};
struct FakeState {
  FakeLaunch last_launch;
  int launches;
  int graphs;    // that were started
  int pinned;    // blocks of the host's memory
  int programs;  // that were compiled
  int peers;     // copies from one device to another
  std::size_t taken;
};

/// By name, from the library that the program opened.
extern "C" FakeState kiln_fake_state();
