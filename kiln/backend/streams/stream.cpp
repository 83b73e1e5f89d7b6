#include "kiln/backend/streams/stream.hpp"

#include <algorithm>
#include <chrono>
#include <new>
#include <thread>

#include "kiln/core/threads/wait.hpp"

namespace kiln::streams {

Stream::Stream(const DriverApi& api, int index)
    : api_(api), device_(index ? text(api.device, ":", index) : api.device), of_device_(std::make_shared<OfDevice>()) {
  const int count = device_count(api);
  require<DeviceError>(0 <= index && index < count, "no device '", device_, "': this machine has ", count,
                       count == 1 ? " GPU" : " GPUs", " that ", api.own_name, " sees");
  check(api_.device_get(&number_, index), "finding the device");
  make_stream();
}

Stream::Stream(const Stream& first, int number)
    : api_(first.api_),
      device_(first.device_),
      number_(first.number_),
      number_of_stream_(number),
      of_device_(first.of_device_) {
  make_stream();
}

void Stream::make_stream() {
  check(api_.primary_context_retain(&context_, number_), "making a context");
  Result made = enter();
  if (made == kSuccess) made = api_.stream_create(&stream_, kStreamNonBlocking, 0);
  if (made != kSuccess) {
    api_.primary_context_release(number_);
    check(made, "making a stream");
  }
  const std::lock_guard lock(of_device_->mutex);
  of_device_->streams.push_back(this);
}

Stream::~Stream() {
  {
    const std::lock_guard lock(of_device_->mutex);
    std::erase(of_device_->streams, this);
  }
  last_api().stream_destroy(stream_);
  api_.primary_context_release(number_);
}

int Stream::attribute(int attribute) const {
  int value = 0;
  check(api_.device_get_attribute(&value, attribute, number_), "asking for attribute ", attribute);
  return value;
}

std::string Stream::model() const {
  char name[256] = {};
  check(api_.device_get_name(name, sizeof(name) - 1, number_), "asking for the device's name");
  return name;
}

int Stream::driver_version() const {
  int version = 0;
  if (api_.driver_get_version) check(api_.driver_get_version(&version), "asking for the driver's version");
  return version;
}

DeviceId Stream::id() const {
  DeviceId id{};
  check(api_.device_get_id(&id, number_), "asking which device it is");
  return id;
}

// ---- errors --------------------------------------------------------------------------------------------------------

namespace {

/// Errors of kernels, after which the context accepts no more work: they are returned by any later call.
bool is_of_earlier_work(Result error) {
  return error == 214 || error == 220 || error == 226 || error == 700 || error == 702 ||
         (error >= 709 && error <= 710) || (error >= 714 && error <= 719);
}

}  // namespace

void Stream::raise_error(Result result, const std::string& doing) const {
  const std::string said = text(device_, ": ", doing, ": ", words_of(api_, result));
  if (result == kOutOfMemory) fail<MemoryError>(said);
  if (!is_of_earlier_work(result)) fail<DeviceError>(said);
  fail<DeviceError>(said, doubtful(), "; the device does nothing more for this process");
}

std::string Stream::doubtful() const {
  const std::lock_guard lock(of_device_->mutex);
  std::string all;
  for (const Stream* const each : of_device_->streams)
    if (const std::string own = each->own_doubtful(); !own.empty()) all += text(all.empty() ? "" : ", ", own);
  const char* const words = "; it comes from one of the kernels that ran since the device was last waited for: ";
  return all.empty() ? all : words + all;
}

std::string Stream::own_doubtful() const {
  const std::lock_guard lock(mutex_);
  if (launched_ == settled_) return "";
  const std::uint64_t first = std::max(settled_, launched_ < kNoted ? 0 : launched_ - kNoted);
  std::string out;
  if (first > settled_) out += text(first - settled_, " others, then ");
  for (std::uint64_t i = first; i < launched_;) {
    const std::string& name = noted_[i % kNoted];
    std::uint64_t next = i + 1;
    while (next < launched_ && noted_[next % kNoted] == name) ++next;
    out += text(i > first ? ", " : "", name);
    if (next - i > 1) out += text(" (", next - i, " times)");
    i = next;
  }
  return out;
}

void Stream::note(const std::string& name) {
  const std::lock_guard lock(mutex_);
  noted_[launched_++ % kNoted] = name;
}

std::uint64_t Stream::place() const {
  const std::lock_guard lock(mutex_);
  return launched_;
}

void Stream::settled(std::uint64_t place) {
  const std::lock_guard lock(mutex_);
  settled_ = std::max(settled_, place);
}

// ---- waiting -------------------------------------------------------------------------------------------------------

void Stream::wait_for(EventHandle event) const {
  const DriverApi& api = this->api();
  const auto look = [&] {
    const std::lock_guard lock(of_device_->mutex);
    return of_device_->look;
  }();
  Result reached = kSuccess;
  if (look && *look) {
    Wait wait;
    while ((reached = api.event_query(event)) == kNotReady) {
      if (wait.pause()) continue;
      (*look)();
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
  } else {
    reached = api.event_synchronize(event);
  }
  check(reached, "waiting for the device");
  const std::lock_guard lock(of_device_->mutex);
  if (of_device_->lost)
    fail<DeviceError>(device_, ": ", *of_device_->lost, "; the device does nothing more for this process");
}

void Stream::watch(std::function<void()> look) {
  const std::lock_guard lock(of_device_->mutex);
  of_device_->look = std::make_shared<const std::function<void()>>(std::move(look));
}

void Stream::lose(std::string reason) {
  const std::lock_guard lock(of_device_->mutex);
  if (!of_device_->lost) of_device_->lost = std::move(reason);
}

void Stream::or_lose(std::string_view what, FunctionRef<void()> work) {
  constexpr const char* kNoMemory = "no host memory";  // a string so short needs none
  try {
    work();
  } catch (const Error& error) {
    try {
      lose(text(what, ": ", error.message()));
    } catch (const std::bad_alloc&) { lose(kNoMemory); }
    throw;
  } catch (const std::bad_alloc&) {
    lose(kNoMemory);
    throw;
  }
}

// ---- events --------------------------------------------------------------------------------------------------------

Event::Event(Ref<Stream> stream) : stream_(std::move(stream)) {
  stream_->check(stream_->api().event_create(&event_, kEventDisableTiming), "making an event");
}

Event::~Event() { stream_->last_api().event_destroy(event_); }

void Event::record(StreamHandle stream) {
  place_ = stream_->place();
  stream_->check(stream_->api().event_record(event_, stream), "recording an event");
}

void Event::wait_in(StreamHandle stream) const {
  stream_->check(stream_->api().stream_wait_event(stream, event_, 0), "having a stream wait");
}

void Event::wait_in(const Stream& other) const {
  other.check(other.api().stream_wait_event(other.handle(), event_, 0), "waiting for ", stream_->device());
}

bool Event::ready() const { return stream_->api().event_query(event_) != kNotReady; }

void Event::wait() const {
  stream_->wait_for(event_);
  stream_->settled(place_);
}

// ---- beside the stream ---------------------------------------------------------------------------------------------

SideStream::SideStream(Ref<Stream> stream) : stream_(std::move(stream)) {
  int least = 0, greatest = 0;
  const DriverApi& api = stream_->api();
  stream_->check(api.context_get_priorities(&least, &greatest), "asking for priorities");
  stream_->check(api.stream_create(&side_, kStreamNonBlocking, greatest), "making a stream");
}

SideStream::~SideStream() { stream_->last_api().stream_destroy(side_); }

}  // namespace kiln::streams
