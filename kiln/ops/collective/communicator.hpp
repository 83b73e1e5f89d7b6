// Ranks that work on one task together: threads of a process with a device each, or processes, on one machine or many.
// All run the same program and reach the same collective calls in the same order.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace kiln {

/// One rank's end of the communication. It moves bytes between the ranks' memories; a device with a faster connection
/// of its own may use it to set that up. Where a rank leaves, is late, or makes a different call, all other ranks get
/// an error.
class Communicator : public std::enable_shared_from_this<Communicator> {
 public:
  Communicator(int rank, int size);
  virtual ~Communicator();
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }
  /// The number by which ops, which are plain data, refer to it: no other communicator of the process ever has this
  /// number.
  std::int64_t number() const { return number_; }
  /// Returns the communicator with that number. Throws ArgumentError where there is none, or no longer.
  static std::shared_ptr<Communicator> find(std::string_view op, std::int64_t number);

  using Pieces = std::vector<std::span<const std::byte>>;
  using Places = std::vector<std::span<std::byte>>;
  /// Sends piece i to rank i, and fills place i with the bytes that rank i sends here; this rank is one of them. A
  /// collective call: all ranks make it with the same `what`, which names the call and its size, so that pieces fit
  /// their places. Throws ArgumentError where the ranks' texts differ, IoError where a rank has left or is late.
  virtual void exchange(std::string_view what, const Pieces& pieces, const Places& places) = 0;
  /// Tells the other ranks that this one makes no more calls: their calls fail with `reason`.
  virtual void leave(std::string_view reason) = 0;
  /// Returns a rank that has left and will make no more calls, as far as known without waiting:
  /// "rank 1 has left: its program has ended". With MPI it knows only of ranks on this machine.
  virtual std::optional<std::string> missing() { return std::nullopt; }

 private:
  const int rank_, size_;
  const std::int64_t number_;
};

using Ranks = std::shared_ptr<Communicator>;

/// A communicator of one rank.
Ranks alone();

struct CommunicatorConfig {
  double timeout = 600;  // how many seconds a rank waits for others
  /// Throws ArgumentError for a time that is not positive.
  void check() const;
};

namespace collective {

/// The reason given for a rank that disappeared without a message.
inline constexpr std::string_view kNoMessage =
    "it was killed, or ended without a message (a machine that runs out of memory kills programs, see dmesg). All "
    "ranks end; "
    "started "
    "again, training continues from its last checkpoint";

/// Transports throw these errors about another rank that made a different call, left, or is late.
[[noreturn]] void fail_different_call(std::string_view here, int rank, std::string_view there);
std::string leaving_text(int rank, std::string_view reason);
[[noreturn]] void fail_left(std::string_view here, int rank, std::string_view reason);
[[noreturn]] void fail_timeout(std::string_view here, int rank, double seconds);

}  // namespace collective

}  // namespace kiln
