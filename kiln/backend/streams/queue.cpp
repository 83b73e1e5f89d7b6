#include "kiln/backend/streams/queue.hpp"

#include <algorithm>
#include <cstdio>

#include "kiln/core/reflect/reflect_values.hpp"
#include "kiln/core/setting/setting.hpp"

namespace kiln::streams {
namespace {

constexpr std::size_t kFewest = 4;       // shorter lists become a graph if all are launches, and the driver says so
constexpr std::size_t kMost = 4096;      // commands that wait to be started
constexpr std::size_t kMostKnown = 256;  // lists that are remembered
constexpr std::size_t kMostGraphs = 4;   // per list; a short one has one
constexpr int kTimesBefore = 2;          // times that a list must occur before it is recorded
constexpr int kTimesBeforeShort = 8;     // likewise of a short one: recording takes as long as some launches
constexpr int kMostInVain = 16;          // graphs of a list whose addresses never recur

std::size_t hash(std::span<const Command> commands) {
  std::uint64_t hash = commands.size();
  for (const Command& command : commands) {
    const auto number = [](const void* address) { return reinterpret_cast<std::uintptr_t>(address); };
    for (const std::uint64_t word :
         {std::uint64_t(command.kind), std::uint64_t(number(command.program.get())), std::uint64_t(command.blocks),
          std::uint64_t(command.bytes), std::uint64_t(number(command.plan))})
      hash = reflect::detail::mix(hash, word);
  }
  return static_cast<std::size_t>(hash);
}

/// Pointers to a launch's arguments, as the driver takes them.
struct NodeOffsets {
  NodeOffsets(const Program& program, std::span<const std::uint64_t> words) {
    for (std::size_t i = 0; i + 1 < program.words.size(); ++i)
      all[i] = const_cast<std::uint64_t*>(&words[program.words[i]]);
  }
  void* all[gpu::kMostArguments];
};

}  // namespace

// ---- graphs --------------------------------------------------------------------------------------------------------

Graph::~Graph() {
  const DriverApi& api = stream_->last_api();
  if (executable_) api.graph_destroy_executable(executable_);
  if (graph_) api.graph_destroy(graph_);
}

bool Graph::record(std::span<const Command> commands, FunctionRef<void(const Command&)> run) {
  const DriverApi& api = stream_->api();
  if (!api.begin_capture || api.begin_capture(stream_->handle(), kCaptureRelaxed) != kSuccess) return false;
  bool whole = true;
  try {
    for (const Command& command : commands) {
      run(command);
      int status = 0;
      const NodeHandle* last = nullptr;
      std::size_t count = 0;
      whole &= api.get_capture_info(stream_->handle(), &status, nullptr, nullptr, &last, &count) == kSuccess;
      nodes_.push_back(whole && count == 1 ? *last : nullptr);
    }
  } catch (...) { whole = false; }  // also without memory: a stream that goes on recording would start nothing
  whole &= api.end_capture(stream_->handle(), &graph_) == kSuccess && graph_;
  return whole && api.graph_instantiate(&executable_, graph_, 0) == kSuccess;
}

bool Graph::differs(const Command& command, std::span<const std::uint64_t> words) const {
  const auto own = std::span(words_).subspan(command.first_word, command.words);
  return !std::ranges::equal(own, words.subspan(command.first_word, command.words));
}

std::optional<std::size_t> Graph::differing(std::span<const Command> commands,
                                            std::span<const std::uint64_t> words) const {
  std::size_t count = 0;
  for (std::size_t i = 0; i < commands.size(); ++i) {
    if (!differs(commands[i], words)) continue;
    if (commands[i].kind != Command::Kind::Launch || !nodes_[i]) return std::nullopt;
    ++count;
  }
  return count;
}

void Graph::launch(std::span<const Command> commands, std::span<const std::uint64_t> words) {
  const DriverApi& api = stream_->api();
  for (std::size_t i = 0; i < commands.size(); ++i) {
    const Command& command = commands[i];
    if (!differs(command, words)) continue;
    const Program& program = *command.program;
    NodeOffsets places(program, words.subspan(command.first_word, command.words));
    const KernelNode kernel{.function = program.function(),
                            .grid_x = static_cast<unsigned>(command.blocks),
                            .grid_y = 1,
                            .grid_z = 1,
                            .block_x = program.threads,
                            .block_y = 1,
                            .block_z = 1,
                            .shared_bytes = program.shared_bytes,
                            .parameters = places.all};
    stream_->check(api.graph_set_kernel(executable_, nodes_[i], &kernel), "changing kernel ", program.name);
  }
  words_.assign(words.begin(), words.end());
  for (const Command& command : commands)
    if (command.program) stream_->note(command.program->name);
  stream_->check(api.graph_launch(executable_, stream_->handle()), "starting a graph of ", commands.size(), " kernels");
}

// ---- the queue -----------------------------------------------------------------------------------------------------

Queue::Queue(Ref<Stream> stream, LibraryCalls& calls)
    : stream_(std::move(stream)), calls_(calls), logs_(is_logged(stream_->driver())) {}

void Queue::add(Command command, std::span<const std::uint64_t> words) {
  const std::lock_guard lock(mutex_);
  command.first_word = words_.size();
  command.words = words.size();
  words_.insert(words_.end(), words.begin(), words.end());
  commands_.push_back(std::move(command));
  if (commands_.size() >= kMost) flush_locked();
}

void Queue::launch(Ref<const Program> program, std::int64_t blocks, std::span<const std::uint64_t> arguments) {
  add({.kind = Command::Kind::Launch, .program = std::move(program), .blocks = blocks}, arguments);
}
void Queue::copy(std::byte* to, const std::byte* from, std::size_t bytes) {
  const std::uint64_t words[] = {address_of(to), address_of(from)};
  add({.kind = Command::Kind::Copy, .bytes = bytes}, words);
}
void Queue::clear(std::byte* start, std::size_t bytes) {
  const std::uint64_t words[] = {address_of(start)};
  add({.kind = Command::Kind::Clear, .bytes = bytes}, words);
}
void Queue::multiply(const void* plan, const gpu::Product& product) {
  const std::uint64_t words[] = {address_of(product.a.data), address_of(product.b.data), address_of(product.c),
                                 address_of(product.bias)};
  add({.kind = Command::Kind::Multiply, .plan = plan, .product = product}, words);
}

void Queue::run(const void* plan, std::span<const std::uint64_t> words) {
  add({.kind = Command::Kind::Plan, .plan = plan}, words);
}

void Queue::run(const Command& command) {
  const auto words = std::span(words_).subspan(command.first_word, command.words);
  const DriverApi& api = stream_->api();
  switch (command.kind) {
    case Command::Kind::Launch: {
      const Program& program = *command.program;
      if (logs_)
        std::fprintf(stderr, "kiln: %s: %s, %lld blocks of %u\n", stream_->device().c_str(), program.name.c_str(),
                     static_cast<long long>(command.blocks), program.threads);
      NodeOffsets places(program, words);
      stream_->note(program.name);
      const auto blocks = static_cast<unsigned>(command.blocks);
      stream_->check(program.together ? api.launch_together(program.function(), blocks, 1, 1, program.threads, 1, 1,
                                                            program.shared_bytes, stream_->handle(), places.all)
                                      : api.launch_kernel(program.function(), blocks, 1, 1, program.threads, 1, 1,
                                                          program.shared_bytes, stream_->handle(), places.all, nullptr),
                     "launching kernel ", program.name);
      break;
    }
    case Command::Kind::Copy:
      stream_->check(api.copy_on_device(words[0], words[1], command.bytes, stream_->handle()), "copying ",
                     command.bytes, " bytes");
      break;
    case Command::Kind::Clear:
      stream_->check(api.fill(words[0], 0, command.bytes, stream_->handle()), "clearing ", command.bytes, " bytes");
      break;
    case Command::Kind::Multiply: calls_.multiply(*stream_, command.plan, command.product); break;
    case Command::Kind::Plan: calls_.run(*stream_, command.plan, words); break;
  }
}

void Queue::forget() {
  const std::lock_guard lock(mutex_);
  commands_.clear();
  words_.clear();
  known_.clear();
  known_short_.clear();
}

void Queue::flush() {
  const std::lock_guard lock(mutex_);
  flush_locked();
}

// The commands are dropped even if one throws: the caller that gets the error does not submit them again. What reads the
// results of any of them must not take for numbers what lies in their memory.
void Queue::flush_locked() {
  if (commands_.empty()) return;
  struct Emptied {
    Queue& queue;
    ~Emptied() {
      queue.commands_.clear();
      queue.words_.clear();
    }
  } emptied{*this};
  stream_->or_lose("a command could not be started, and what was queued behind it was dropped", [&] {
    if (may_be_graph() && run_as_graph()) return;
    for (const Command& command : commands_) run(command);
  });
}

bool Queue::may_be_graph() const {
  if (commands_.size() >= kFewest) return true;
  return commands_.size() >= stream_->api().fewest_launches &&
         std::ranges::all_of(commands_, [](const Command& each) { return each.kind == Command::Kind::Launch; });
}

/// Short lists, of which a program may have many, push no long ones out.
Queue::CachedGraph& Queue::find() {
  KnownLists& lists = commands_.size() < kFewest ? known_short_ : known_;
  if (lists.size() >= kMostKnown) lists.clear();
  CachedGraph& known = lists[hash(commands_)];
  const bool same =
      std::ranges::equal(known.commands, commands_, [](const Command& a, const Command& b) { return a.is_like(b); });
  if (!same) {
    known = {};
    known.commands = commands_;
  }
  return known;
}

bool Queue::run_as_graph() {
  CachedGraph& known = find();
  const bool is_short = commands_.size() < kFewest;
  if (known.refused || known.times++ < (is_short ? kTimesBeforeShort : kTimesBefore)) return false;
  auto& graphs = known.graphs;
  auto best = graphs.end();
  std::size_t changes = SIZE_MAX;
  for (auto each = graphs.begin(); each != graphs.end(); ++each)
    if (const auto count = (*each)->differing(commands_, words_); count && *count < changes) {
      best = each;
      changes = *count;
    }
  // Changing a node costs a third of a microsecond: if many addresses of a long list change, and recur, each set of
  // addresses gets a graph.
  const std::size_t most = is_short ? 1 : kMostGraphs;
  if (changes > (graphs.size() < most ? commands_.size() / 4 : commands_.size())) {
    // Recording costs more than launching.
    ++known.recorded;
    known.refused = known.recorded > kMostInVain && known.recorded > known.times / 4;
    if (known.refused) return false;
    if (graphs.size() == most) graphs.pop_back();
    auto graph = std::make_unique<Graph>(stream_, words_);
    if (!graph->record(commands_, [&](const Command& command) { run(command); })) {
      known.refused = true;
      return false;
    }
    graphs.insert(graphs.begin(), std::move(graph));
    changes = 0;
  } else {
    std::rotate(graphs.begin(), best, best + 1);
  }
  if (logs_)
    std::fprintf(stderr, "kiln: %s: a graph of %zu, with %zu changes\n", stream_->device().c_str(), commands_.size(),
                 changes);
  graphs.front()->launch(commands_, words_);
  return true;
}

}  // namespace kiln::streams
