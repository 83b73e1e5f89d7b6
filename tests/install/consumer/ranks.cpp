// The component mpi alone: a program that no launcher has started is one rank.
#include <cstdio>

#include <kiln/collective/launched_ranks.hpp>

int main() {
  const kiln::Ranks ranks = kiln::launched_ranks();
  std::printf("%d of %d\n", ranks->rank(), ranks->size());
}
