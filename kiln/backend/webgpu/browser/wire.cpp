#include "kiln/backend/webgpu/browser/wire.hpp"

#include <chrono>
#include <cstdlib>
#include <emscripten/threading.h>

#include "kiln/core/error/error.hpp"

namespace kiln::webgpu::browser {

Wire& wire() {
  static auto& made = *new Wire();
  return made;
}

// ---- commands ------------------------------------------------------------------------------------------------------

void Wire::add(Command command, std::initializer_list<std::uint32_t> arguments, std::span<const std::uint32_t> more) {
  const std::lock_guard lock(commands_);
  words_.push_back(static_cast<std::uint32_t>(command));
  words_.insert(words_.end(), arguments);
  words_.insert(words_.end(), more.begin(), more.end());
  if (words_.size() > kMostWords) play_locked();
}

void Wire::add_and_play(Command command, std::initializer_list<std::uint32_t> arguments) {
  const std::lock_guard lock(commands_);
  words_.push_back(static_cast<std::uint32_t>(command));
  words_.insert(words_.end(), arguments);
  play_locked();
}

void Wire::play() {
  const std::lock_guard lock(commands_);
  play_locked();
}

void Wire::play_locked() {
  if (words_.empty()) return;
  kiln_webgpu_play(words_.data(), static_cast<std::uint32_t>(words_.size()));
  words_.clear();
}

std::uint32_t Wire::object() {
  const std::lock_guard lock(commands_);
  if (free_objects_.empty()) return next_object_++;
  const std::uint32_t number = free_objects_.back();
  free_objects_.pop_back();
  return number;
}

// The number may be another object's at once: its command comes later.
void Wire::release(std::uint32_t object) {
  const std::lock_guard lock(commands_);
  words_.push_back(static_cast<std::uint32_t>(Command::Release));
  words_.push_back(object);
  free_objects_.push_back(object);
}

// ---- answers -------------------------------------------------------------------------------------------------------

std::uint32_t Wire::ticket(Hearing hearing, bool once) {
  const std::lock_guard lock(mutex_);
  const std::uint32_t number = next_ticket_++;
  tickets_.emplace(number, Ticket{std::move(hearing), once});
  return number;
}

void Wire::answer(Answer answer) {
  const std::lock_guard lock(mutex_);
  answers_.push_back(std::move(answer));
  answered_.notify_all();
}

void Wire::hear() {
  play();
  std::unique_lock lock(mutex_);
  while (!answers_.empty()) {
    const Answer answer = std::move(answers_.front());
    answers_.pop_front();
    const auto known = tickets_.find(answer.ticket);
    if (known == tickets_.end()) continue;
    const Hearing hearing = known->second.hearing;
    if (known->second.once) tickets_.erase(known);
    lock.unlock();
    hearing(answer);
    lock.lock();
    ++heard_;
    answered_.notify_all();  // it may be what another thread waits for
  }
}

void Wire::wait() {
  play();
  if (emscripten_is_main_runtime_thread()) {
    require<DeviceError>(kiln_webgpu_may_suspend() != 0,
                         "webgpu: the browser's answer cannot be waited for here: call the module through Kiln.call in "
                         "a browser that has JSPI (WebAssembly.Suspending), or let the work run in a thread of the "
                         "module, for which the page must be cross-origin isolated; or take the device 'cpu'");
    {
      const std::lock_guard lock(mutex_);
      if (!answers_.empty()) return;
    }
    kiln_webgpu_suspend();
    return;
  }
  // Another thread may have heard the answer before this one began to wait: it looks again soon.
  std::unique_lock lock(mutex_);
  const std::uint64_t before = heard_;
  answered_.wait_for(lock, std::chrono::milliseconds(20), [&] { return !answers_.empty() || heard_ != before; });
}

}  // namespace kiln::webgpu::browser

extern "C" [[gnu::used, clang::export_name("kiln_webgpu_answer")]] void kiln_webgpu_answer(
    std::uint32_t ticket, std::uint32_t status, std::uint32_t number, char* words, std::uint32_t bytes) {
  kiln::webgpu::browser::wire().answer({ticket, status, number, std::string(words, bytes)});
  std::free(words);
}
