// Session is what a server keeps for a client. It applies the client's frames in order to a device, holds the client's values
// by their numbers, and outlives a lost connection.
//
// An error of one call is the failure of its results or the answer to its request, and the session goes on. A frame that
// cannot be read further (an unknown entry, a length that lies, a number that is out of turn) ends it, as nobody knows what
// the bytes behind it mean.
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
#include "kiln/backend/inspect/recorded.hpp"
#include "kiln/backend/remote/arrival.hpp"
#include "kiln/backend/remote/call_form.hpp"
#include "kiln/backend/remote/exchange.hpp"
#include "kiln/backend/remote/outbox.hpp"
#include "kiln/backend/remote/protocol.hpp"
#include "kiln/ops/failure.hpp"
#include "kiln/ops/scope/fails_with.hpp"
#include "kiln/ops/scope/requester.hpp"

namespace kiln::remote {

/// SessionLimits say what a session may take; 0 is no limit.
struct SessionLimits {
  std::int64_t memory = 0;      // bytes of all its tensors
  double seconds = 0;           // of computing
  double bytes_per_second = 0;  // on the link from the client, packed or not; a client that is faster waits
  std::size_t tensors = 1 << 20;
  std::size_t programs = 1024;
};

/// SessionCounters are numbers that any thread may read. The host counts bytes: those of messages as they are on the link,
/// so that packed ones count what they were packed to; `bytes_out` of the connections before the one that there is.
struct SessionCounters {
  std::atomic<std::int64_t> frames{0}, calls{0}, bytes_in{0}, bytes_out{0}, tensors{0}, bytes_held{0}, microseconds{0};
  std::atomic<bool> connected{false};
};

class Session {
 public:
  using Post = FunctionRef<void(Outgoing)>;

  /// The number is the host's; tickets of `exchange` are this session's by it. Kernels are recorded on a recordable() device.
  Session(std::uint64_t number, Device device, const std::string& peer, const SessionLimits& limits,
          Exchange& exchange);
  ~Session();

  /// Returns where the end of a long message goes, if it is a piece of an upload.
  std::span<std::byte> place_in(std::span<const std::byte> begin, std::size_t length) const;
  /// Applies a Work frame, without its first byte and the last ones that are `placed`, and posts what the client is to be
  /// told. Throws DataError where the frame cannot be read to its end, and DeviceError where the session has computed for
  /// too long: it has to end then; IoError where frames are missing before this one, so that the connection has to. One
  /// thread at a time.
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
  struct KnownProgram {
    std::optional<Graph> graph;
    Ref<Failure> refused;     // why there is no graph
    std::vector<Desc> gives;  // as the client says; a graph gives the same
  };
  struct Arriving {
    std::size_t left = 0;       // bytes that have not come
    std::optional<Arrival> to;  // none: they are dropped
  };
  struct ToldRoot {
    Ref<Failure> failure;
    std::uint64_t id;
    bool told;
  };

  void apply_entry(std::uint64_t entry);
  void apply_order(Entry entry);
  void apply_request(Entry entry);
  /// The body answers the request, or throws what is answered in its place.
  void answer_by(std::uint64_t request, FunctionRef<void()> body);
  void receive_form();
  void synchronize(std::uint64_t request);
  void call(const KnownForm& known);
  /// Reads the operands to their end. The failure is that of a call that is none for this form.
  Ref<Failure> read_operands(const CallForm& form, bool& of_view);
  /// Runs a call whose results take so many bytes; where that throws, its results fail.
  void run(const op::Op& op, Call call, std::int64_t bytes);
  void receive_upload();
  void receive_piece(std::size_t count);
  void define_program();
  void replay();
  void send_values(std::uint64_t request, const Values& values);
  void take();
  void record(std::uint64_t number);
  std::vector<ProfileRow> recorded(std::uint64_t number) const;

  /// Returns the value with that number, or one that has failed where there is none.
  const Held& held_of(std::uint64_t number);
  const Held& held_by_distance() { return held_of(next_ - reader_.whole()); }
  Values list_of_values();
  Value failed_value(const Desc& desc, Ref<Failure> failure) const;
  /// Gives the value the next number. One that has failed counts no bytes.
  void hold(Value value, std::int64_t bytes, bool is_view = false);
  void free_value(std::uint64_t number);
  /// The failure of those that have failed. The device may be computing the others now, for the thread of another session.
  Ref<Failure> known_failure(Inputs values) const;
  /// Returns null, or the failure of results that would take more than the session may have.
  Ref<Failure> over_limit(std::int64_t bytes) const;
  void require_readable(const Values& values) const;
  void set_causes(Values causes);

  /// Tells the client which values have become failures.
  void settle();
  std::uint64_t settled() const { return unsettled_.empty() ? next_ : unsettled_.front(); }
  /// Returns the beginning of the next message.
  template <class... Fields>
  wire::Writer reply(Frame frame, const Fields&... fields) {
    wire::Writer out;
    write(out, frame, Progress{++sequence_, applied(), settled()}, fields...);
    return out;
  }
  void post(Outgoing message);
  void send(wire::Writer out) { post({.head = out.take()}); }
  template <class... Fields>
  void answer(std::uint64_t request, const Fields&... fields) {
    send(reply(Frame::Answer, request, fields...));
  }
  void answer_failed(std::uint64_t request, const Failure& failure);
  void write_roots(wire::Writer& out, const Failure& failure);

  const std::uint64_t number_;
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
  std::uint64_t next_ = 0, sequence_ = 0;  // the number of the next value, and of the last message
  std::unordered_map<std::uint64_t, Held> values_;
  Held missing_;  // in place of a value that is not there
  std::int64_t memory_limit_;
  std::deque<KnownForm> forms_;
  std::optional<Arriving> arriving_;
  std::map<std::uint64_t, KnownProgram> programs_;
  Values causes_;
  std::optional<FailsWith> scope_;
  std::deque<std::uint64_t> unsettled_;  // values that may still become failures
  std::deque<ToldRoot> roots_;
  std::uint64_t last_root_ = 0;
  std::deque<std::pair<std::uint64_t, Ref<Failure>>> failed_syncs_;  // the last ones, by their requests
  std::vector<std::uint64_t> recordings_;                            // the client's numbers, and their logs
  std::vector<std::shared_ptr<ProfileLog>> logs_;
  std::optional<RecordsHere> records_;  // while a frame is applied
  Values operands_, results_;           // of the running call; members, so that their memory is reused
};

}  // namespace kiln::remote
