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
  Stopwatch watch;
  inner_->run(op, call);
  inner_->sync();
  const ProfileLog::Timing timing = watch.stop();
  log_->add(op, call, timing, inner_->memory());
}

Ref<Node> Profiled::upload(TensorData data, const Device& device) {
  Stopwatch watch;
  Ref<Node> node = inner_->upload(std::move(data), device);
  log_->add_copy("upload", node->desc, watch.stop(), inner_->memory());
  return node;
}

TensorData Profiled::download(const Value& value) {
  Stopwatch watch;
  TensorData data = inner_->download(value);
  log_->add_copy("read", value.node()->desc, watch.stop(), inner_->memory());
  return data;
}

namespace {

class TimedRead final : public PendingRead {
 public:
  TimedRead(Ref<PendingRead> inner, std::vector<Desc> descs, std::shared_ptr<ProfileLog> log, Ref<Backend> device)
      : inner_(std::move(inner)), descs_(std::move(descs)), log_(std::move(log)), device_(std::move(device)) {}
  bool ready() const override { return inner_->ready(); }
  void notify(Wakeup then) override { inner_->notify(then); }
  std::vector<TensorData> wait() override {
    Stopwatch watch;
    std::vector<TensorData> data = inner_->wait();
    ProfileLog::Timing each = watch.stop();
    const auto count = static_cast<int>(std::max<std::size_t>(1, descs_.size()));
    each.took /= count;
    each.own /= count;
    for (const Desc& desc : descs_) log_->add_copy("read", desc, each, device_->memory());
    return data;
  }

 private:
  const Ref<PendingRead> inner_;
  const std::vector<Desc> descs_;
  const std::shared_ptr<ProfileLog> log_;
  const Ref<Backend> device_;
};

}  // namespace

Ref<PendingRead> Profiled::start_read(Inputs values) {
  std::vector<Desc> descs;
  for (const Value& value : values) descs.push_back(value.node()->desc);
  return make_ref<TimedRead>(inner_->start_read(values), std::move(descs), log_, inner_);
}

Profile::Profile(const Device& device, const ProfileOptions& options) : log_(std::make_shared<ProfileLog>(options)) {
  log_->set_device(device.name());
  device_ = Device(device.backend().with_core(
                       [&](const Ref<Backend>& core) -> Ref<Backend> { return make_ref<Profiled>(core, log_); }),
                   device.is_autodiff());
}

ProfileContents Profile::contents() const {
  device_.flush();
  return log_->contents();
}

std::vector<ProfileRow> Profile::rows() const { return slowest_first(contents().rows); }
std::string Profile::table(std::size_t most_rows) const { return profile_table(contents(), most_rows); }
void Profile::print() const { std::fputs(table().c_str(), stdout); }
void Profile::reset() { log_->reset(); }

void Profile::write_trace(const std::string& file) const { profile_trace(contents(), file); }

}  // namespace kiln
