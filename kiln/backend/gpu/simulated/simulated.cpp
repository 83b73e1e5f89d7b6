#include "kiln/backend/gpu/simulated/simulated.hpp"

#include <cstring>
#include <deque>
#include <map>
#include <mutex>

#include "kiln/backend/gpu/kernel/interpret.hpp"
#include "kiln/backend/gpu/kernel/lower/lower.hpp"
#include "kiln/backend/gpu/kernel/refusal.hpp"
#include "kiln/core/error/error.hpp"
#include "kiln/ops/collective/host.hpp"

namespace kiln::gpu {
namespace {

constexpr int kNobodyWrote = 0xff;

struct Interpreted final : Code {
  explicit Interpreted(const Kernel& of) : kernel(of), interpreter(of) {
    for (const Parameter& parameter : of.parameters)
      are_addresses.insert(are_addresses.end(), parameter.words(), parameter.kind != Parameter::Kind::Number);
  }
  /// The kernel for a launch whose parameters share bindings in this way.
  const Interpreted& sharing(const std::vector<std::uint16_t>& sharers) const {
    if (!are_shared(sharers)) return *this;
    const std::lock_guard lock(mutex_);
    Ref<Interpreted>& known = sharing_[sharers];
    if (!known) known = make_ref<Interpreted>(with_shared_bindings(kernel, sharers));
    return *known;
  }
  const Kernel kernel;
  const Interpreter interpreter;
  std::vector<bool> are_addresses;  // by argument

 private:
  mutable std::mutex mutex_;
  mutable std::map<std::vector<std::uint16_t>, Ref<Interpreted>> sharing_;
};

class Arrived final : public Transfer {
 public:
  Arrived(const std::byte* from, std::size_t bytes) : bytes_(from, from + bytes) {}
  bool ready() const override { return true; }
  void wait(std::byte* to) override { std::ranges::copy(bytes_, to); }
  void notify(Wakeup then) override { then(); }

 private:
  const std::vector<std::byte> bytes_;
};

class Simulated final : public Driver, Collectives {
 public:
  explicit Simulated(const Profile& profile) : profile_(profile) {}
  std::string name() const override { return std::string(profile_.name); }
  const Capabilities& capabilities() const override { return profile_.has; }
  BlockSource& memory() override { return system_pages(); }

  void acquired(std::byte* start, std::size_t bytes) override {
    std::memset(start, kNobodyWrote, bytes);
    const std::lock_guard lock(mutex_);
    live_.insert_or_assign(address(start), bytes);
  }
  void released(std::byte* start, std::size_t bytes) override {
    std::memset(start, kNobodyWrote, bytes);
    const std::lock_guard lock(mutex_);
    live_.erase(address(start));
    for (UnderWay& each : under_way_)
      each.lost |= overlap(each.x, {start, bytes}) || overlap(each.result, {start, bytes});
  }

  Ref<Code> compile(const Kernel& kernel) override {
    if (const std::optional<Refusal> refusal = refusal_of(kernel, capabilities(), name())) throw Refused(*refusal);
    return make_ref<Interpreted>(kernel);
  }
  void launch(const Code& code, std::int64_t blocks, std::span<const std::uint64_t> arguments) override {
    const auto& whole = static_cast<const Interpreted&>(code);
    const Interpreted& made = profile_.has.separate_bindings
                                  ? whole.sharing(sharers_of(whole.kernel, arguments,
                                                             [this](std::uint64_t at) { return extent_of(at).begin; }))
                                  : whole;
    LoweredArguments given =
        lowered_arguments(made.kernel, blocks, arguments, [this](std::uint64_t at) { return bound_at(at); });
    const std::vector<Extent> extents = extents_of(made, given, arguments);
    demand_launch(made, blocks, given.arguments, extents);
    made.interpreter.run(blocks, given.arguments, extents);
  }

  void upload(std::byte* to, std::span<const std::byte> from) override {
    demand("upload", to, from.size());
    std::ranges::copy(from, to);
  }
  Ref<Transfer> download(const std::byte* from, std::size_t bytes) override {
    demand("download", from, bytes);
    return make_ref<Arrived>(from, bytes);
  }
  void copy(std::byte* to, const std::byte* from, std::size_t bytes) override {
    demand("copy", from, bytes);
    demand("copy", to, bytes);
    std::memmove(to, from, bytes);
  }
  void clear(std::byte* start, std::size_t bytes) override {
    demand("clear", start, bytes);
    std::memset(start, 0, bytes);
  }
  void synchronize() override {}

  Collectives* collectives() override { return this; }
  bool can_start_collectives(Communicator&) override { return true; }
  std::uint64_t start_collective(Communicator& among, const Collective& collective) override {
    using Kind = Collective::Kind;
    const std::size_t ranks = collective.kind == Kind::Gather || collective.kind == Kind::SumParts
                                  ? static_cast<std::size_t>(among.size())
                                  : 1,
                      bytes = static_cast<std::size_t>(collective.count) * size_of(collective.dtype);
    const std::span<const std::byte> x(collective.x, collective.kind == Kind::SumParts ? bytes * ranks : bytes);
    const std::span result(collective.result, collective.kind == Kind::Gather ? bytes * ranks : bytes);
    demand("meet", x.data(), x.size());
    demand("meet", result.data(), result.size());
    UnderWay under_way{.x = x, .result = result, .brought{x.begin(), x.end()}, .arrived{}};
    under_way.arrived.resize(result.size());
    const std::span arrived(under_way.arrived);
    const auto fn = collective.kind == Kind::Mean ? op::ReduceFn::Mean : op::ReduceFn::Sum;
    switch (collective.kind) {
      case Kind::Sum:
      case Kind::Mean: collective::all_reduce(among, name(), fn, collective.dtype, x, arrived); break;
      case Kind::SumParts: collective::reduce_scatter(among, name(), fn, collective.dtype, x, arrived); break;
      case Kind::Gather: collective::all_gather(among, name(), x, arrived); break;
      case Kind::Send: collective::broadcast(among, name(), collective.root, x, arrived); break;
    }
    const std::lock_guard lock(mutex_);
    under_way.number = ++collectives_;
    under_way_.push_back(std::move(under_way));
    return collectives_;
  }
  void wait_for_collective(std::uint64_t collective) override {
    const std::lock_guard lock(mutex_);
    for (; !under_way_.empty() && under_way_.front().number <= collective; under_way_.pop_front()) {
      const UnderWay& each = under_way_.front();
      require<DeviceError>(!each.lost && std::ranges::equal(each.x, each.brought), name(),
                           ": memory was changed or given back while ranks met for it");
      std::ranges::copy(each.arrived, each.result.begin());
    }
  }

 private:
  struct UnderWay {
    std::uint64_t number = 0;
    std::span<const std::byte> x;
    std::span<std::byte> result;
    std::vector<std::byte> brought, arrived;
    bool lost = false;
  };
  static bool overlap(std::span<const std::byte> a, std::span<const std::byte> b) {
    return a.data() < b.data() + b.size() && b.data() < a.data() + a.size();
  }
  static std::uint64_t address(const std::byte* start) { return reinterpret_cast<std::uintptr_t>(start); }

  /// The allocated range that contains an address; empty if there is none.
  Extent extent_of(std::uint64_t at) const {
    const std::lock_guard lock(mutex_);
    auto next = live_.upper_bound(at);
    if (next == live_.begin()) return {at, at};
    const auto& [start, bytes] = *--next;
    return at <= start + bytes ? Extent{start, start + bytes} : Extent{at, at};
  }
  /// The place at which the tensor at that address is bound: its beginning, since strides may be negative.
  /// Packed elements are parts of whole words.
  std::uint64_t bound_at(std::uint64_t at) const {
    const auto step = static_cast<std::uint64_t>(std::max<std::int64_t>(profile_.has.binding_alignment, 4));
    return extent_of(at).begin / step * step;
  }
  /// What a kernel may touch, by argument. Sets the argument that is a uniform block.
  std::vector<Extent> extents_of(const Interpreted& code, LoweredArguments& given,
                                 std::span<const std::uint64_t> arguments) const {
    const std::vector<Origin>& origins = code.kernel.origins;
    std::vector<Extent> extents(given.arguments.size());
    for (std::size_t i = 0; i < std::min(extents.size(), code.are_addresses.size()); ++i) {
      if (!code.are_addresses[i]) continue;
      if (!origins.empty() && origins[i].kind == Origin::Kind::Uniform) {
        given.arguments[i] = reinterpret_cast<std::uintptr_t>(given.uniform.data());
        extents[i] = {given.arguments[i], given.arguments[i] + given.uniform.size() * sizeof(std::uint32_t)};
        continue;
      }
      extents[i] = extent_of(origins.empty() ? arguments[i] : arguments[origins[i].of]);
      if (origins.empty()) continue;
      extents[i].end = (extents[i].end + 3) / 4 * 4;  // the pool hands out whole words
      if (origins[i].kind == Origin::Kind::Base) extents[i].begin = std::max(extents[i].begin, given.arguments[i]);
    }
    return extents;
  }
  /// What only a launch decides: the grid, and the buffers that are bound.
  void demand_launch(const Interpreted& code, std::int64_t blocks, std::span<const std::uint64_t> arguments,
                     std::span<const Extent> extents) const {
    const Capabilities& has = profile_.has;
    require<DeviceError>(!code.kernel.together || blocks <= has.together, name(), ": ", blocks,
                         " blocks cannot wait for each other, at most ", has.together);
    // Drivers fold a long line of blocks into two directions.
    require<DeviceError>(blocks <= has.most_blocks[0] || blocks / has.most_blocks[0] < has.most_blocks[1], name(),
                         ": kernel ", code.kernel.name, ": a launch of ", blocks, " blocks, the grid has ",
                         has.most_blocks[0], " by ", has.most_blocks[1]);
    if (has.addressing == Addressing::Addresses) return;
    for (std::size_t i = 0; i < std::min(arguments.size(), code.are_addresses.size()); ++i) {
      const std::uint64_t bytes = code.are_addresses[i] ? extents[i].end - arguments[i] : 0;
      require<DeviceError>(bytes <= static_cast<std::uint64_t>(has.binding_bytes), name(), ": kernel ",
                           code.kernel.name, ": parameter ", i, " is a buffer of ", bytes, " bytes, the device binds ",
                           has.binding_bytes);
    }
    if (has.separate_bindings) demand_separate(code, arguments, extents);
  }
  void demand_separate(const Interpreted& code, std::span<const std::uint64_t> arguments,
                       std::span<const Extent> extents) const {
    for (std::size_t i = 0; i < std::min(arguments.size(), code.are_addresses.size()); ++i)
      for (std::size_t j = 0; j < i; ++j)
        require<DeviceError>(!code.are_addresses[i] || !code.are_addresses[j] || arguments[i] >= extents[j].end ||
                                 arguments[j] >= extents[i].end,
                             name(), ": kernel ", code.kernel.name, ": parameters ", j, " and ", i,
                             " are bound to the same memory");
  }
  void demand(std::string_view what, const std::byte* start, std::size_t bytes) const {
    const Extent extent = extent_of(address(start));
    require<DeviceError>(bytes <= extent.end - address(start), name(), ": ", what, " of ", bytes, " bytes where ",
                         extent.end - address(start), " are somebody's");
  }

  const Profile profile_;
  mutable std::mutex mutex_;
  std::map<std::uint64_t, std::size_t> live_;  // allocated memory: bytes by address
  std::deque<UnderWay> under_way_;
  std::uint64_t collectives_ = 0;
};

}  // namespace

Ref<Driver> make_simulated(const Profile& profile) { return make_ref<Simulated>(profile); }

}  // namespace kiln::gpu
