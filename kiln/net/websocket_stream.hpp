// A WebSocket over a stream whose handshake is done.
#pragma once
#include <memory>
#include <span>

#include "kiln/net/connection.hpp"
#include "kiln/net/options.hpp"
#include "kiln/net/stream.hpp"

namespace kiln::net {

/// ClientHere: a client whose masks are 0, since nobody is between the two ends.
enum class End { Client, ClientHere, Server };

/// `received` has come after the handshake. The connection keeps `kept` while it lives.
///
/// Frames are our own and not Boost.Beast's, whose calls that wait let no thread send while another receives.
std::unique_ptr<Connection> websocket_over(std::unique_ptr<Stream> stream, End end, std::span<const std::byte> received,
                                           const Limits& limits, std::shared_ptr<void> kept = {});

}  // namespace kiln::net
