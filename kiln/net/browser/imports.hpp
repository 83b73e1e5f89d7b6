// Functions that the browser's sockets import from JavaScript (sockets.js), and those that JavaScript calls. Numbers of sockets are chosen here.
#pragma once
#include <cstddef>

namespace kiln::net::browser {
extern "C" {

/// Returns whether this thread's browser has what sockets take: 0, 1: it has no WebSocket, 2: no Atomics.waitAsync.
int kiln_socket_lacks();
/// Writes the origin of this page, with a zero behind it.
void kiln_socket_origin(char* to, std::size_t room);

// These are called in the thread of the sockets alone.
void kiln_socket_open(int socket, const char* url);
/// The bytes are the caller's again afterwards.
void kiln_socket_send(int socket, const std::byte* bytes, std::size_t count);
/// Returns the bytes that the browser has not handed to the network.
double kiln_socket_buffered(int socket);
/// Sends what is buffered first. Ends, like a connection that is lost, in kiln_socket_closed.
void kiln_socket_close(int socket);
/// Calls kiln_socket_pump after some milliseconds.
void kiln_socket_later(int socket);

// Exported.
void kiln_socket_opened(int socket);
/// Returns memory for a message; null where it must not come, and the socket is to be closed.
std::byte* kiln_socket_place(int socket, std::size_t bytes);
/// The message is in its place.
void kiln_socket_received(int socket);
void kiln_socket_pump(int socket);
/// The socket is no more. `why` is null where both ends are content; otherwise a reason, perhaps an empty one.
void kiln_socket_closed(int socket, const char* why);
}
}  // namespace kiln::net::browser
