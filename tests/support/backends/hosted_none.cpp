// Builds without sockets have no hosts.
#include "kiln/core/error/error.hpp"
#include "tests/support/backends/hosted.hpp"

namespace kiln::test {

Ref<Backend> hosted(const Device&) { fail<ArgumentError>("hosted: this build has no remote devices"); }

}  // namespace kiln::test
