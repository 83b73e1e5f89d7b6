// Remote: a device of another program (docs/remote.md). Calls are numbers on their way to a server; results are handles of
// what will be computed there. Autodiff happens here, fusion there.
#pragma once
#include <forward_list>
#include <mutex>
#include <new>
#include <optional>
#include <vector>

#include "kiln/backend/capture/graph.hpp"
#include "kiln/backend/inspect/recorded.hpp"
#include "kiln/backend/remote/call_form.hpp"
#include "kiln/backend/remote/link.hpp"
#include "kiln/core/spare_memory.hpp"
#include "kiln/ops/leaf_backend.hpp"
#include "kiln/ops/move.hpp"

namespace kiln::remote {

/// What a client has sent and received so far.
struct ClientCounters {
  std::int64_t calls = 0, forms = 0, values = 0;
  std::uint64_t bytes_sent = 0, bytes_received = 0;
  int reconnections = 0;
};

class Remote final : public LeafBackend, public RecordsElsewhere {
 public:
  /// Connects, by `dial`, which is called again where the connection is lost. Throws DeviceError where the server refuses.
  explicit Remote(Dial dial, ClientSettings settings = {});
  ~Remote() override;

  std::string name() const override { return name_; }
  void run(const op::Op& op, Call call) override;
  /// A user's own operation runs there if the server knows it; otherwise it is composed here.
  bool has_kernel(const op::Op& op) const override;
  Ref<Node> upload(TensorData data, const Device& device) override;
  TensorData download(const Value& value) override;
  Ref<PendingRead> start_read(Inputs values) override;
  void flush() override;
  void sync() override;
  void run_pending(Inputs values) override;
  MemoryStatistics memory() const override;
  void set_memory_limit(std::int64_t bytes) override;
  void reset_memory_peak() override;
  void release_memory() override;
  std::uint64_t start_recording() override;
  std::vector<ProfileRow> recorded(std::uint64_t recording) override;
  void stop_recording(std::uint64_t recording) noexcept override;

  /// Runs a graph that the server keeps, by its number: it is sent once. Empty where it cannot be sent.
  std::optional<Values> replay(const Graph& graph, Inputs inputs, const ReplayOptions& options);
  /// Starts to send a value from a server to another; null where these cannot.
  static Ref<PendingMove> start_move(const Value& value, const Device& to);

  /// Ends the session: its tensors are lost. For the end of a program, where the device itself is never destroyed.
  void leave() { link_->close(); }
  /// Whether the session has ended, so that its tensors are lost.
  bool is_lost() const { return link_->is_lost(); }

  ClientCounters counters() const;
  /// The server's name for the device that it lends: "cpu".
  const std::string& lent_device() const { return link_->welcome().device; }

 private:
  class Handle;
  class Sent;
  static constexpr std::size_t kFrame = 8 << 10;     // bytes of calls that are sent together
  static constexpr std::size_t kMostPrograms = 256;  // that the server keeps; the oldest goes
  /// Numbers of values. A handle keeps its own in one, so that whoever drops the value needs no memory.
  using Numbers = std::forward_list<std::uint64_t, SpareAllocator<std::uint64_t>>;
  struct SentProgram {
    std::weak_ptr<const void> life;  // of the body, whose constants must not keep this device
    std::uint64_t number;
  };

  std::uint64_t number_of(const Value& value) const;
  /// Calls `write`, which writes entries, with the lock, and returns what it returns. An Error comes before the first of
  /// them; where memory ends, perhaps in the middle of one, so does the session.
  template <class Write>
  auto writing(Write write) {
    const std::lock_guard lock(mutex_);
    link_->check();
    try {
      write_freed();
      write_causes();
      return write();
    } catch (const std::bad_alloc&) { link_->end_without_memory(); }
  }
  void write_freed();
  void drop_program(std::size_t index);
  void write_causes();
  /// Writes an entry that begins with a list of values.
  void begin_list(Entry entry, Inputs values);
  void write_list(Inputs values);
  void write_call(const op::Op& op, const Call& call, const char* function);
  void free_later(Numbers& value) noexcept;
  void hold(Node& node);
  void send_entries();
  void run_on_host(const op::Op& op, Call call);
  /// Sends an entry without an answer.
  template <class... Fields>
  void tell(Entry entry, const Fields&... fields);
  /// The value that another server sends with that ticket.
  Value take(const Desc& desc, const std::string& ticket, const Device& device);
  /// Sends an entry and returns the request for its answer.
  template <class... Fields>
  Ref<Request> ask(Entry entry, Inputs values, const Fields&... fields);
  template <class Answer, class... Fields>
  Answer ask_for(Entry entry, const Fields&... fields);
  /// The number of a program, which is written first where the server does not have it; empty where it cannot be sent.
  std::optional<std::uint64_t> written_program(const Graph& graph);

  std::string name_;
  mutable std::mutex mutex_;  // guards the members up to freeing_now_
  wire::Writer out_;
  FormNumbers forms_;
  std::uint64_t next_ = 0;  // the number of the next value
  std::int64_t calls_ = 0;
  const void* requester_ = nullptr;      // of the last call
  std::uint64_t scope_ = 0;              // the FailsWith that the server knows; 0: none
  bool has_causes_ = false;              // whether that names values
  std::vector<std::uint64_t> operands_;  // of the running call; a member, so that its memory is reused

  std::vector<SentProgram> programs_;
  std::uint64_t last_program_ = 0;
  Numbers freeing_now_;  // those of freed_ whose entries are being written

  std::mutex freeing_;  // values are freed at any time, also while the members above are in use
  Numbers freed_;       // it guards these

  const std::shared_ptr<Link> link_;
};

}  // namespace kiln::remote
