// Ranks that work on one thing together: threads of a process with a device each, or processes, of one machine or many. All
// run the same program and come to the same calls in the same order.
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

/// One rank's end of it. It carries bytes between the ranks' memories; a device with something quicker of its own may use
/// it to meet. Where a rank leaves, does not come in time, or comes to another call, all others are told by an error.
class Communicator : public std::enable_shared_from_this<Communicator> {
 public:
  Communicator(int rank, int size);
  virtual ~Communicator();
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }
  /// What ops have in its place, as they are data: no other communicator of the process ever has it.
  std::int64_t number() const { return number_; }
  /// The one of that number. Throws ArgumentError where there is none, or no longer.
  static std::shared_ptr<Communicator> find(std::string_view op, std::int64_t number);

  using Pieces = std::vector<std::span<const std::byte>>;
  using Places = std::vector<std::span<std::byte>>;
  /// Sends piece i to rank i, and fills place i with what rank i sends here, this rank's own among them. A collective call:
  /// all ranks come to it with the same `what`, which says what it is and how large, so that pieces fit their places. Throws
  /// ArgumentError where ranks come with different ones, IoError where one has left or does not come in time.
  virtual void exchange(std::string_view what, const Pieces& pieces, const Places& places) = 0;
  /// The others need not wait for this rank any more: whoever meets it is told why.
  virtual void leave(std::string_view reason) = 0;
  /// Which of the others has left and will meet nobody any more, as far as it is known without waiting: "rank 1 has left: its
  /// program has ended". By MPI, of ranks on this machine alone.
  virtual std::optional<std::string> missing() { return std::nullopt; }

 private:
  const int rank_, size_;
  const std::int64_t number_;
};

using Ranks = std::shared_ptr<Communicator>;

/// A rank by itself.
Ranks alone();

struct CommunicatorConfig {
  double timeout = 600;  // seconds that a rank waits for others
  /// Throws ArgumentError for a time that is none.
  void check() const;
};

namespace collective {

/// Why a rank has left that was heard of no more.
inline constexpr std::string_view kWithoutAWord =
    "it was killed, or ended without a word (a machine without memory kills, which dmesg tells). All ranks end; "
    "started "
    "again, a training goes on from its last checkpoint";

/// For transports: what a rank says of another one that came to something else, or went.
[[noreturn]] void fail_of_difference(std::string_view here, int rank, std::string_view there);
std::string words_of_leaving(int rank, std::string_view reason);
[[noreturn]] void fail_of_leaving(std::string_view here, int rank, std::string_view reason);
[[noreturn]] void fail_of_waiting(std::string_view here, int rank, double seconds);

}  // namespace collective

}  // namespace kiln
