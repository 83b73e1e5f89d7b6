// Session: what a server keeps for a client. It applies the client's frames in order to a device, holds the client's values
// by their numbers, and outlives a lost connection.
#pragma once
#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>

#include "kiln/backend/capture/graph.hpp"
#include "kiln/backend/remote/arrival.hpp"
#include "kiln/backend/remote/call_form.hpp"
#include "kiln/backend/remote/outbox.hpp"
#include "kiln/backend/remote/protocol.hpp"
#include "kiln/ops/failure.hpp"
#include "kiln/ops/scope/fails_with.hpp"
#include "kiln/ops/scope/requester.hpp"

namespace kiln::remote {

/// What a session may take; 0: no limit.
struct SessionLimits {
  std::int64_t memory = 0;      // bytes of all its tensors
  double seconds = 0;           // of computing
  double bytes_per_second = 0;  // from the client; a client that is faster waits
  std::size_t tensors = 1 << 20;
  std::size_t programs = 1024;
};

std::int64_t bytes_of(const Desc& desc);
/// The bytes of all, or the largest number where they are more than that.
std::int64_t bytes_of(std::span<const Desc> all);

/// Numbers that any thread may read.
struct SessionCounters {
  std::atomic<std::int64_t> frames{0}, calls{0}, bytes_in{0}, bytes_out{0}, tensors{0}, bytes_held{0}, microseconds{0};
  std::atomic<bool> connected{false};
};

/// Moves values between the servers of a program's clients (host.hpp).
class Exchange {
 public:
  virtual ~Exchange() = default;
  /// Sends the elements to the server at `address`, under `ticket`.
  virtual void give(const std::string& address, const std::string& ticket, TensorData data) = 0;
  /// Waits for what another server sends under `ticket`.
  virtual TensorData take(const std::string& ticket) = 0;
};

class Session {
 public:
  using Post = FunctionRef<void(Outgoing)>;

  Session(Device device, std::string peer, const SessionLimits& limits, Exchange& exchange);
  ~Session();

  /// Where the end of a long message goes, if it is a piece of an upload.
  std::span<std::byte> place_in(std::span<const std::byte> begin, std::size_t length) const;
  /// Applies a Work frame, without its first byte and the last ones that are `placed`, and posts what the client is to be told.
  /// Throws DataError or the error of an operation's own check where the frame is not one that a client of Kiln sends: the
  /// session has to end then. One thread at a time.
  void apply(std::span<const std::byte> frame, std::size_t placed, Post post);
  /// Runs what waits, for the thread that applied frames and ends: nobody else runs it in time.
  void leave();
  /// The client has lost its connection: it is told again what it may have missed.
  void forget_told();

  std::uint64_t applied() const { return applied_; }
  /// Whether the client takes messages in fewer bytes.
  bool packs() const { return packs_; }
  const Device& device() const { return device_; }
  const SessionCounters& counters() const { return counters_; }
  SessionCounters& counters() { return counters_; }

 private:
  struct Held {
    Value value;
    std::int64_t bytes = 0;  // that count for the limit
    bool is_view = false;    // its elements may lie in another order than a copy's, so that a reshape copies them
  };
  struct KnownForm {
    CallForm form;
    const char* function;  // null where the form names none
  };
  struct Arriving {
    std::size_t left = 0;       // bytes that have not come
    std::optional<Arrival> to;  // none: they are dropped
  };

  void apply_entry(std::uint64_t entry);
  void apply_ask(Entry entry);
  void synchronize(std::uint64_t request);
  void call(const KnownForm& known);
  /// Runs a call whose results take so many bytes; where that throws, its results fail.
  void run(const op::Op& op, Call call, std::int64_t bytes);
  void receive_upload();
  void receive_piece(std::size_t count);
  void define_program();
  void replay();
  void read_values(std::uint64_t request, const Values& values);
  void give(std::uint64_t request);
  void take();

  const Held& held_of(std::uint64_t number) const;
  const Value& value_of(std::uint64_t number) const { return held_of(number).value; }
  const Held& held_by_distance() { return held_of(next_ - reader_.whole()); }
  Values list_of_values();
  /// Gives the value the next number. One that has failed counts no bytes.
  void hold(Value value, std::int64_t bytes, bool is_view = false);
  void free_value(std::uint64_t number);
  /// Null, or the failure of results that would take more memory than the session may have.
  Ref<Failure> over_limit(std::int64_t bytes) const;
  /// Null, or why these values cannot be read at once.
  Ref<Failure> too_much_to_read(const Values& values) const;
  void set_causes(Values causes);

  /// Tells the client which values have become failures.
  void settle();
  std::uint64_t settled() const { return unsettled_.empty() ? next_ : unsettled_.front(); }
  wire::Writer reply(Frame frame) const;
  void send(wire::Writer& out);
  void answer(std::uint64_t request, const std::function<void(wire::Writer&)>& body = {});
  void answer_failed(std::uint64_t request, const Failure& failure);
  void write_roots(wire::Writer& out, const Failure& failure);

  const Device device_;
  const Ref<Requester> requester_ = make_ref<Requester>();  // errors that come late are this client's
  const SessionLimits limits_;
  Exchange& exchange_;
  SessionCounters counters_;

  wire::Reader reader_;
  const Post* post_ = nullptr;             // of the frame that is being applied
  std::size_t placed_ = 0;                 // its last bytes, which are where they belong
  std::atomic<std::uint64_t> applied_{0};  // any thread may read it
  bool packs_ = false;
  std::uint64_t next_ = 0;
  std::unordered_map<std::uint64_t, Held> values_;
  std::int64_t memory_limit_;
  std::deque<KnownForm> forms_;
  std::optional<Arriving> arriving_;
  std::map<std::uint64_t, Graph> programs_;
  Values causes_;
  std::optional<FailsWith> scope_;
  std::deque<std::uint64_t> unsettled_;  // values that may still become failures
  struct ToldRoot {
    Ref<Failure> failure;
    std::uint64_t id;
    bool told;
  };
  std::deque<ToldRoot> roots_;
  std::uint64_t last_root_ = 0;
  std::deque<std::pair<std::uint64_t, Ref<Failure>>> failed_syncs_;  // the last ones, by their requests
  Values operands_, results_;  // of the running call; members, so that their memory is reused
};

}  // namespace kiln::remote
