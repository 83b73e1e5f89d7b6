// Queue: the commands for the device, until they are started. A list that recurs, such as a training step, becomes a
// graph, which the driver starts at once: 1 us of the device for each of its nodes and 2 to 3 of the host in all, where
// launches take 4 each. Where the driver says so (DriverApi::fewest_launches), so does a single launch that recurs, such as
// an operation that is flushed by itself.
#pragma once
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "kiln/backend/gpu/product.hpp"
#include "kiln/backend/streams/program.hpp"
#include "kiln/core/function_ref.hpp"

namespace kiln::streams {

/// The calls that a driver's libraries submit to one of its streams. A plan is theirs, and that stream's: calls with the
/// same plan differ by their words alone.
class LibraryCalls {
 public:
  virtual ~LibraryCalls() = default;
  virtual void multiply(const Stream& stream, const void* plan, const gpu::Product& product) = 0;
  /// `words` are addresses: those of the operands, and the workspace's.
  virtual void run(const Stream& stream, const void* plan, std::span<const std::uint64_t> words) = 0;
};

/// A command. Its words may differ each time: arguments, addresses.
struct Command {
  enum class Kind : std::uint8_t { Launch, Copy, Clear, Multiply, Plan } kind;
  Ref<const Program> program{};           // for Launch
  std::int64_t blocks = 0;                // for Launch
  std::size_t bytes = 0;                  // for Copy and Clear
  const void* plan = nullptr;             // for Multiply and Plan
  gpu::Product product{};                 // for Multiply
  std::size_t first_word = 0, words = 0;  // for Launch, its arguments; else addresses

  /// Are they equal except for their words?
  bool is_like(const Command& other) const {
    return kind == other.kind && program == other.program && blocks == other.blocks && bytes == other.bytes &&
           plan == other.plan && words == other.words;
  }
};

/// Commands that were recorded as a graph, with the words in it.
class Graph {
 public:
  Graph(Ref<Stream> stream, std::vector<std::uint64_t> words) : stream_(std::move(stream)), words_(std::move(words)) {}
  ~Graph();
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  /// Records what `run` submits to the stream, command by command. Returns false if the driver cannot.
  bool record(std::span<const Command> commands, FunctionRef<void(const Command&)> run);
  /// How many commands have other words than the graph; none if one of them cannot be changed.
  std::optional<std::size_t> differing(std::span<const Command> commands, std::span<const std::uint64_t> words) const;
  /// Changes the words, and starts the graph.
  void launch(std::span<const Command> commands, std::span<const std::uint64_t> words);

 private:
  bool differs(const Command& command, std::span<const std::uint64_t> words) const;

  const Ref<Stream> stream_;
  std::vector<std::uint64_t> words_;
  std::vector<NodeHandle> nodes_;  // by command
  GraphHandle graph_ = nullptr;
  ExecutableHandle executable_ = nullptr;
};

/// Thread-safe.
class Queue {
 public:
  Queue(Ref<Stream> stream, LibraryCalls& calls);

  void launch(Ref<const Program> program, std::int64_t blocks, std::span<const std::uint64_t> arguments);
  void copy(std::byte* to, const std::byte* from, std::size_t bytes);
  void clear(std::byte* start, std::size_t bytes);
  void multiply(const void* plan, const gpu::Product& product);
  void run(const void* plan, std::span<const std::uint64_t> words);
  /// Starts all commands. If one fails, those behind it are dropped: its error is thrown, and later reads from the device
  /// throw it, too (Stream::lose).
  void flush();
  /// Drops all commands, and the graphs that were recorded: their plans are the libraries', which must outlive them.
  void forget();
  /// Starts all commands, and then calls f(), which may submit work to the stream directly: no graph is recorded
  /// meanwhile, which would otherwise include that work.
  template <class F>
  decltype(auto) flush_and(F f) {
    const std::lock_guard lock(mutex_);
    flush_locked();
    return f();
  }

 private:
  /// A list of commands that has occurred before.
  struct CachedGraph {
    std::vector<Command> commands;
    int times = 0;     // times that it occurred
    int recorded = 0;  // graphs recorded so far
    bool refused = false;
    std::vector<std::unique_ptr<Graph>> graphs;  // most recent first
  };
  void add(Command command, std::span<const std::uint64_t> words);
  using KnownLists = std::unordered_map<std::size_t, CachedGraph>;  // by hash() of the commands
  void flush_locked();
  void run(const Command& command);
  bool may_be_graph() const;
  CachedGraph& find();
  bool run_as_graph();

  const Ref<Stream> stream_;
  LibraryCalls& calls_;
  const bool logs_;
  std::mutex mutex_;
  std::vector<Command> commands_;
  std::vector<std::uint64_t> words_;
  KnownLists known_, known_short_;
};

}  // namespace kiln::streams
