// Processes that are all connected with each other by sockets.
#pragma once
#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "kiln/collective/socket_ranks.hpp"
#include "kiln/net/stream.hpp"

namespace kiln {

/// The bytes to send to a rank and to receive from it, one part after the other.
struct Transfer {
  int rank;
  std::array<std::span<const std::byte>, 2> out;
  std::array<std::span<std::byte>, 2> in;
};
/// The end of a set of transfers: all are done, or a rank's connection has ended, or a rank was too late.
struct Waited {
  enum End { All, Gone, Late } end = All;
  int rank = -1;
};

class Mesh {
 public:
  /// Connects all ranks, through rank 0. Throws IoError where ranks do not come within `timeout` seconds, or belong to
  /// another launch, or do not know its secret.
  Mesh(const Launch& launch, double timeout);
  Mesh(const Mesh&) = delete;
  Mesh& operator=(const Mesh&) = delete;
  ~Mesh();

  /// Runs all transfers at once. When it ends early, unfinished transfers are lost.
  Waited carry(std::vector<Transfer> transfers, double timeout);
  /// Sends a rank its last message; sends nothing where the rank still waits for the rest of an earlier one.
  void send_last(int rank, std::string_view bytes);
  /// Whether the rank has closed its connection.
  bool has_ended(int rank) const;

 private:
  struct Connection {
    std::unique_ptr<net::Stream> stream;
    bool cut = false;  // the rank has received only a part of the last transfer
  };
  Connection& to(int rank) { return connections_[static_cast<std::size_t>(rank)]; }

  std::vector<Connection> connections_;  // the own entry is empty
};

}  // namespace kiln
