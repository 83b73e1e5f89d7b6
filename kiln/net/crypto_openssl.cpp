#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "kiln/core/error/error.hpp"
#include "kiln/net/crypto.hpp"

namespace kiln::net {

Digest hmac_sha256(std::span<const std::byte> key, std::span<const std::byte> message) {
  Digest digest{};
  unsigned size = digest.size();
  const unsigned char empty = 0;  // OpenSSL takes no key of no bytes at a null address
  const void* const from = key.empty() ? static_cast<const void*>(&empty) : key.data();
  require<IoError>(
      ::HMAC(::EVP_sha256(), from, static_cast<int>(key.size()), reinterpret_cast<const unsigned char*>(message.data()),
             message.size(), reinterpret_cast<unsigned char*>(digest.data()), &size) != nullptr,
      "net: OpenSSL computes no HMAC-SHA256");
  return digest;
}

std::string websocket_accept(std::string_view key) {
  const std::string whole = text(key, "258EAFA5-E914-47DA-95CA-C5AB0DC85B11");
  std::array<std::byte, 20> digest{};
  unsigned size = digest.size();
  require<IoError>(::EVP_Digest(whole.data(), whole.size(), reinterpret_cast<unsigned char*>(digest.data()), &size,
                                ::EVP_sha1(), nullptr) == 1,
                   "net: OpenSSL computes no SHA-1, which WebSockets need");
  return base64(digest);
}

}  // namespace kiln::net
