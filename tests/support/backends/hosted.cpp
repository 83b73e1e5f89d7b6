#include "tests/support/backends/hosted.hpp"

#include "kiln/backend/remote/host.hpp"
#include "kiln/backend/remote/remote.hpp"

namespace kiln::test {

Ref<Backend> hosted(const Device& lent) {
  auto* const host = new remote::Host({lent});
  return make_ref<remote::Remote>([host] {
    auto [here, there] = net::connected_pair();
    host->attach(std::move(there));
    return std::move(here);
  });
}

}  // namespace kiln::test
