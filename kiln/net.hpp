// Includes networks: a server, connections, WebSockets, server-sent events and TLS.
#pragma once
#include "kiln/net/connection.hpp"
#include "kiln/net/events.hpp"
#include "kiln/net/http.hpp"
#include "kiln/net/options.hpp"
#include "kiln/net/server.hpp"
#include "kiln/net/stream.hpp"
#include "kiln/net/tls.hpp"
#include "kiln/net/websocket.hpp"
