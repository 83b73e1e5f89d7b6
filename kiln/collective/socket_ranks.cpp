#include "kiln/collective/socket_ranks.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "kiln/collective/mesh.hpp"
#include "kiln/core/error/error.hpp"

namespace kiln {
namespace {

// A rank sends all others a message before each exchange, and a last one when it leaves: a letter, the length, and the
// call's text or the reason for leaving. Data begin with a letter as well, since a rank may leave when others have
// started to send.
constexpr char kEnters = 'c', kLeaves = 'l', kBrings = 'b';
constexpr std::size_t kMaxMessage = 1000, kHead = 5;
constexpr double kStart = 10;  // seconds: programs do not start at the same time

std::string frame(char kind, std::string_view message) {
  const auto length = static_cast<std::uint32_t>(message.size());
  std::string bytes(kHead, kind);
  std::memcpy(bytes.data() + 1, &length, sizeof length);
  return bytes += message;
}

std::size_t length_of(const std::array<char, kHead>& head) {
  std::uint32_t length = 0;
  std::memcpy(&length, head.data() + 1, sizeof length);
  return std::min<std::size_t>(length, kMaxMessage + 1);
}

class SocketRank final : public Communicator {
 public:
  SocketRank(const Launch& launch, double timeout)
      : Communicator(launch.rank, launch.size),
        timeout_(timeout),
        mesh_(launch, std::max(timeout, kStart)),
        left_(static_cast<std::size_t>(launch.size)) {}
  ~SocketRank() override { leave_with("its program has ended"); }

  void exchange(std::string_view what, const Pieces& pieces, const Places& places) override {
    const std::lock_guard lock(mutex_);
    if (gone_) fail<IoError>(what, ": this rank has left: ", *gone_);
    what = what.substr(0, kMaxMessage);
    meet(what);
    carry(what, pieces, places);
  }
  void leave(std::string_view reason) override {
    const std::lock_guard lock(mutex_);
    leave_with(reason);
  }
  std::optional<std::string> missing() override {
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock) return std::nullopt;  // a running exchange reports it itself
    for (int other = 0; other < size(); ++other)
      if (other != rank() && (left_[at(other)] || mesh_.has_ended(other)))
        return collective::leaving_text(other, left_[at(other)].value_or("it sends nothing any more"));
    return std::nullopt;
  }

 private:
  std::size_t at(int rank) const { return static_cast<std::size_t>(rank); }

  void leave_with(std::string_view reason) {
    if (gone_) return;
    gone_ = reason;
    const std::string message = frame(kLeaves, reason.substr(0, kMaxMessage));
    for (int other = 0; other < size(); ++other)
      if (other != rank()) mesh_.send_last(other, message);
  }

  /// Throws where transfers failed, and tells the other ranks.
  void require_all(std::string_view what, const Waited& waited) {
    const int other = waited.rank;
    switch (waited.end) {
      case Waited::All: return;
      case Waited::Gone: fail_of(what, other, left_[at(other)].value_or(std::string(collective::kNoMessage)));
      case Waited::Late:
        leave_with(text("it was in ", what, ", to which rank ", other, " arrived too late"));
        collective::fail_timeout(what, other, timeout_);
    }
  }

  /// Sends the text of this rank's call to all other ranks, and receives and compares theirs.
  void meet(std::string_view what) {
    const std::string message = frame(kEnters, what);
    std::vector<std::array<char, kHead>> heads(at(size()));
    std::vector<std::string> words(at(size()));
    std::vector<Transfer> transfers;
    for (int other = 0; other < size(); ++other) {
      if (other == rank()) continue;
      transfers.push_back(
          {other, {std::as_bytes(std::span(message))}, {std::as_writable_bytes(std::span(heads[at(other)]))}});
    }
    require_all(what, mesh_.carry(std::exchange(transfers, {}), timeout_));
    for (int other = 0; other < size(); ++other) {
      if (other == rank()) continue;
      const std::size_t length = length_of(heads[at(other)]);
      require<IoError>(length <= kMaxMessage, what, ": rank ", other, " has sent something that no rank sends");
      words[at(other)].resize(length);
      transfers.push_back({other, {}, {std::as_writable_bytes(std::span(words[at(other)]))}});
    }
    require_all(what, mesh_.carry(std::move(transfers), timeout_));
    for (int other = 0; other < size(); ++other)
      if (other != rank() && heads[at(other)][0] == kLeaves) fail_of(what, other, words[at(other)]);
    for (int other = 0; other < size(); ++other)
      if (other != rank() && words[at(other)] != what) collective::fail_different_call(what, other, words[at(other)]);
  }

  void carry(std::string_view what, const Pieces& pieces, const Places& places) {
    const auto own = pieces[at(rank())];
    const auto place = places[at(rank())];
    KILN_CHECK(own.size() == place.size());
    if (!own.empty()) std::memcpy(place.data(), own.data(), own.size());
    const std::string head = frame(kBrings, "");
    std::vector<std::array<char, kHead>> heads(at(size()));
    std::vector<Transfer> transfers;
    for (int other = 0; other < size(); ++other)
      if (other != rank())
        transfers.push_back({other,
                             {std::as_bytes(std::span(head)), pieces[at(other)]},
                             {std::as_writable_bytes(std::span(heads[at(other)])), places[at(other)]}});
    const Waited waited = mesh_.carry(transfers, timeout_);
    for (int other = 0; other < size(); ++other)
      if (other != rank() && heads[at(other)][0] == kLeaves)
        fail_with(what, other, heads[at(other)], places[at(other)]);
    require_all(what, waited);
  }

  /// A rank left where its piece was expected: the first part of its reason is in `place`, the rest is still to be
  /// received.
  [[noreturn]] void fail_with(std::string_view what, int other, const std::array<char, kHead>& head,
                              std::span<const std::byte> place) {
    const std::size_t length = length_of(head), here = std::min(length, place.size());
    std::string reason(reinterpret_cast<const char*>(place.data()), here);
    reason.resize(length);
    mesh_.carry({{other, {}, {std::as_writable_bytes(std::span(reason).subspan(here))}}}, timeout_);
    fail_of(what, other, reason);
  }
  [[noreturn]] void fail_of(std::string_view what, int other, const std::string& reason) {
    left_[at(other)] = reason;
    leave_with(text("it was in ", what, ", to which rank ", other, " did not arrive"));
    collective::fail_left(what, other, reason);
  }

  const double timeout_;
  std::mutex mutex_;
  Mesh mesh_;
  std::vector<std::optional<std::string>> left_;
  std::optional<std::string> gone_;
};

}  // namespace

Ranks socket_ranks(const Launch& launch, const CommunicatorConfig& config) {
  config.check();
  if (launch.size == 1) return alone();
  return std::make_shared<SocketRank>(launch, config.timeout);
}

}  // namespace kiln
