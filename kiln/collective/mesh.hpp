// Processes that are connected each with each, by sockets.
#pragma once
#include <array>
#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "kiln/collective/socket_ranks.hpp"

namespace kiln {

/// What goes to a rank and what comes from it, one part after the other.
struct Transfer {
  int rank;
  std::array<std::span<const std::byte>, 2> out;
  std::array<std::span<std::byte>, 2> in;
};
/// How transfers ended: all are done, or some rank's connection has gone, or was too late.
struct Waited {
  enum End { All, Gone, Late } end = All;
  int rank = -1;
};

class Mesh {
 public:
  /// Meets the others at rank 0. Throws IoError where they do not come within so many seconds, or belong to another launch.
  Mesh(const Launch& launch, double timeout);
  Mesh(const Mesh&) = delete;
  Mesh& operator=(const Mesh&) = delete;
  ~Mesh();

  /// All at once. What was not done when it ends by something else is lost.
  Waited carry(std::vector<Transfer> transfers, double timeout);
  /// The last that a rank gets from here; nothing where it waits for the rest of something.
  void send_last(int rank, std::string_view bytes);
  /// Has it said its last?
  bool has_ended(int rank) const;

 private:
  struct Connection {
    int socket = -1;
    bool cut = false;  // in the middle of what was sent
  };
  Connection& to(int rank) { return connections_[static_cast<std::size_t>(rank)]; }
  void close_all();

  std::vector<Connection> connections_;  // none with itself
};

}  // namespace kiln
