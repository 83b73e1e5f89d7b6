// The timing decorator.
#include "kiln/backend/inspect/profile.hpp"

#include <algorithm>
#include <cstdio>

#include "kiln/backend/inspect/profiled.hpp"

namespace kiln {
namespace {

// The time of calls nested in the current one on this thread: a custom op's kernel may call functions.
thread_local ProfileClock::duration within{};

class Stopwatch {
 public:
  Stopwatch() : before_(std::exchange(within, {})), start_(ProfileClock::now()) {}
  ~Stopwatch() { within = before_ + (stopped_ == ProfileClock::duration{} ? elapsed() : stopped_); }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

  ProfileLog::Timing stop() {
    stopped_ = elapsed();
    return {.start = start_, .took = stopped_, .own = stopped_ - within};
  }

 private:
  ProfileClock::duration elapsed() const { return ProfileClock::now() - start_; }

  const ProfileClock::duration before_;
  const ProfileClock::time_point start_;
  ProfileClock::duration stopped_{};
};

}  // namespace

void Profiled::run(const op::Op& op, Call call) {
  if (runs_elsewhere_ || logs().empty()) return inner_->run(op, call);
  Stopwatch watch;
  inner_->run(op, call);
  inner_->sync();
  const ProfileLog::Timing timing = watch.stop();
  for (const auto& log : logs()) log->add(op, call, timing, inner_->memory());
}

void Profiled::add_copy(std::string_view name, const Desc& desc, const ProfileLog::Timing& timing) {
  for (const auto& log : logs()) log->add_copy(name, desc, timing, memory_now());
}

Ref<Node> Profiled::upload(TensorData data, const Device& device) {
  if (logs().empty()) return inner_->upload(std::move(data), device);
  Stopwatch watch;
  Ref<Node> node = inner_->upload(std::move(data), device);
  add_copy("upload", node->desc, watch.stop());
  return node;
}

TensorData Profiled::download(const Value& value) {
  if (logs().empty()) return inner_->download(value);
  Stopwatch watch;
  TensorData data = inner_->download(value);
  add_copy("read", value.node()->desc, watch.stop());
  return data;
}

namespace {

class TimedRead final : public PendingRead {
 public:
  TimedRead(Ref<PendingRead> inner, std::vector<Desc> descs, RecordsHere::Logs logs, Ref<Backend> device)
      : inner_(std::move(inner)),
        descs_(std::move(descs)),
        logs_(logs.begin(), logs.end()),
        device_(std::move(device)) {}
  bool ready() const override { return inner_->ready(); }
  void notify(Wakeup then) override { inner_->notify(then); }
  std::vector<TensorData> wait() override {
    Stopwatch watch;
    std::vector<TensorData> data = inner_->wait();
    ProfileLog::Timing each = watch.stop();
    const auto count = static_cast<int>(std::max<std::size_t>(1, descs_.size()));
    each.took /= count;
    each.own /= count;
    const MemoryStatistics memory = device_ ? device_->memory() : MemoryStatistics{};
    for (const auto& log : logs_)
      for (const Desc& desc : descs_) log->add_copy("read", desc, each, memory);
    return data;
  }

 private:
  const Ref<PendingRead> inner_;
  const std::vector<Desc> descs_;
  const std::vector<std::shared_ptr<ProfileLog>> logs_;
  const Ref<Backend> device_;  // null where its memory is another program's
};

}  // namespace

Ref<PendingRead> Profiled::start_read(Inputs values) {
  if (logs().empty()) return inner_->start_read(values);
  std::vector<Desc> descs;
  for (const Value& value : values) descs.push_back(value.node()->desc);
  return make_ref<TimedRead>(inner_->start_read(values), std::move(descs), logs(),
                             runs_elsewhere_ ? Ref<Backend>() : inner_);
}

namespace {
thread_local RecordsHere::Logs thread_logs{};
}

RecordsHere::RecordsHere(Logs logs) : outer_(std::exchange(thread_logs, logs)) {}
RecordsHere::~RecordsHere() { thread_logs = outer_; }
RecordsHere::Logs RecordsHere::logs() { return thread_logs; }

Device recordable(const Device& device) {
  const auto wrap = [](const Ref<Backend>& core) -> Ref<Backend> { return make_ref<Profiled>(core, nullptr); };
  return Device(device.backend().with_core(wrap), device.is_autodiff());
}

/// Kernels that other programs record for a Profile, until that ends.
class Profile::Elsewhere {
 public:
  ~Elsewhere() {
    for (const auto& [core, number] : all_) there(core).stop_recording(number);
  }
  void start(const Ref<Backend>& core) { all_.emplace_back(core, there(core).start_recording()); }
  bool empty() const { return all_.empty(); }
  void restart() {
    for (auto& [core, number] : all_) {
      there(core).stop_recording(number);
      number = there(core).start_recording();
    }
  }
  void append_to(std::vector<ProfileRow>& rows) const {
    for (const auto& [core, number] : all_)
      for (ProfileRow& row : there(core).recorded(number)) {
        row.device = core->name();
        rows.push_back(std::move(row));
      }
  }

 private:
  static RecordsElsewhere& there(const Ref<Backend>& core) { return dynamic_cast<RecordsElsewhere&>(*core); }
  std::vector<std::pair<Ref<Backend>, std::uint64_t>> all_;
};

Profile::Profile(const Device& device, const ProfileOptions& options)
    : log_(std::make_shared<ProfileLog>(options)), elsewhere_(std::make_shared<Elsewhere>()) {
  log_->set_device(device.name());
  device_ = Device(device.backend().with_core([&](const Ref<Backend>& core) -> Ref<Backend> {
    if (dynamic_cast<const RecordsElsewhere*>(core.get())) elsewhere_->start(core);
    return make_ref<Profiled>(core, log_);
  }),
                   device.is_autodiff());
}

ProfileContents Profile::contents() const {
  device_.flush();
  ProfileContents contents = log_->contents();
  if (elsewhere_->empty()) return contents;
  elsewhere_->append_to(contents.rows);
  contents.memory = device_.memory();
  return contents;
}

std::vector<ProfileRow> Profile::rows() const { return slowest_first(contents().rows); }
std::string Profile::table(std::size_t most_rows) const { return profile_table(contents(), most_rows); }
void Profile::print() const { std::fputs(table().c_str(), stdout); }
void Profile::reset() {
  log_->reset();
  elsewhere_->restart();
}

void Profile::write_trace(const std::string& file) const { profile_trace(contents(), file); }

}  // namespace kiln
