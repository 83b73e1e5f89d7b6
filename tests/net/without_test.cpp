// A build without Boost and OpenSSL says so where something needs them.
#include <gtest/gtest.h>

#include "kiln/core/error/error.hpp"
#include "kiln/net/crypto.hpp"
#include "kiln/net/server.hpp"
#include "kiln/net/tls.hpp"
#include "kiln/net/websocket.hpp"
#include "tests/net/net_support.hpp"

namespace kiln::net {
namespace {

TEST(WithoutNet, SaysWhatIsMissing) {
  const std::string remedy = "install them (Debian: libboost-dev, libssl-dev) and configure again with KILN_NET=ON";
  const auto says = [&](auto call) { return sentence(call).find(remedy) != std::string::npos; };
  EXPECT_TRUE(says([] { return connect({"127.0.0.1", 1}); }));
  EXPECT_TRUE(says([] { return listen({"127.0.0.1", 0}); }));
  EXPECT_TRUE(says([] { return Server({}, Routes().get("/", nullptr)).port(); }));
  EXPECT_TRUE(says([] { return TlsContext::client({}); }));
  EXPECT_TRUE(says([] { return hmac_sha256({}, {}); }));
  EXPECT_EQ(random_hex(4).size(), 8u);
}

}  // namespace
}  // namespace kiln::net
