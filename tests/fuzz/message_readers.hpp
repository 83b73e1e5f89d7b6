// Readers of what comes over networks, each table in a file of its own. They start threads and open sockets, so that they
// have a program of their own (fuzz_messages), and tests of shortage leave them out.
#pragma once
#include "tests/fuzz/readers.hpp"

namespace kiln::test {

std::span<const Reader> net_readers();
std::span<const Reader> remote_readers();

}  // namespace kiln::test
