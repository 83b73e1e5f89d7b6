// Where a server is: "HOST:PORT", or "tls:HOST:PORT" for one that speaks TLS.
#pragma once
#include <string>
#include <string_view>

#include "kiln/backend/remote/link.hpp"

namespace kiln::remote {

inline constexpr int kPort = 3000;
inline constexpr std::string_view kPath = "/session";

/// Returns what connects with the server at that address. KILN_REMOTE_AUTHORITY names a file of certificates to trust.
/// Throws ArgumentError for what is no address.
Dial dial_of(std::string_view address);

}  // namespace kiln::remote
