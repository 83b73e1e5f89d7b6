#include "kiln/train/interrupter.hpp"

#include <array>
#include <atomic>
#include <csignal>
#include <mutex>
#include <utility>

namespace kiln {
namespace {

constexpr std::array kStopping = {SIGINT, SIGTERM, SIGHUP};

std::atomic<int> stop_signal{0};
std::atomic<bool> save_signal{false}, listening{false};
std::atomic<EmergencyRestore> emergency_restore{nullptr};
std::array<struct sigaction, kStopping.size() + 1> before;

void on_signal(int number) {
  if (number == SIGUSR1) {
    save_signal = true;
    return;
  }
  int none = 0;
  if (stop_signal.compare_exchange_strong(none, number)) return;
  if (const EmergencyRestore wish = emergency_restore) wish();
  std::signal(number, SIG_DFL);
  std::raise(number);
}

}  // namespace

struct Interrupter::State {
  mutable std::mutex mutex;
  bool stop = false, save = false, saves_end = true;
  std::string reason;
};

Interrupter::Interrupter() : state_(std::make_shared<State>()) {}

void Interrupter::stop(std::string reason, bool saves) {
  if (reason.empty()) reason = "it was stopped";
  const std::lock_guard lock(state_->mutex);
  if (state_->stop || (listening && stop_signal != 0)) {
    if (state_->saves_end || !saves) return;
    state_->saves_end = true;  // the reason may say that nothing is saved
    state_->reason = std::move(reason);
    return;
  }
  state_->stop = true;
  state_->saves_end = saves;
  state_->reason = std::move(reason);
}

bool Interrupter::saves_end() const {
  const std::lock_guard lock(state_->mutex);
  return state_->saves_end;
}

bool Interrupter::should_stop() const {
  const std::lock_guard lock(state_->mutex);
  return state_->stop || (listening && stop_signal != 0);
}

std::string Interrupter::reason() const {
  const std::lock_guard lock(state_->mutex);
  if (state_->stop) return state_->reason;
  if (!listening) return "";
  switch (stop_signal) {
    case 0: return "";
    case SIGINT: return "interrupted";
    case SIGHUP: return "the terminal was closed";
    default: return "terminated";
  }
}

void Interrupter::reset() {
  const std::lock_guard lock(state_->mutex);
  state_->stop = state_->save = false;
  state_->saves_end = true;
  state_->reason.clear();
  stop_signal = 0;
}

void Interrupter::save() {
  const std::lock_guard lock(state_->mutex);
  state_->save = true;
}

bool Interrupter::take_save() {
  const std::lock_guard lock(state_->mutex);
  const bool asked = std::exchange(state_->save, false);
  return (listening && save_signal.exchange(false)) || asked;
}

SignalScope::SignalScope() {
  active_ = !listening.exchange(true);
  if (!active_) return;
  stop_signal = 0;
  save_signal = false;
  struct sigaction action = {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  for (std::size_t i = 0; i < kStopping.size(); ++i) {
    sigaction(kStopping[i], nullptr, &before[i]);
    // The program was started by nohup.
    const bool outlives = kStopping[i] == SIGHUP && before[i].sa_handler == SIG_IGN;
    if (!outlives) sigaction(kStopping[i], &action, nullptr);
  }
  sigaction(SIGUSR1, &action, &before.back());
}

SignalScope::~SignalScope() {
  if (!active_) return;
  for (std::size_t i = 0; i < kStopping.size(); ++i) sigaction(kStopping[i], &before[i], nullptr);
  sigaction(SIGUSR1, &before.back(), nullptr);
  listening = false;
}

EmergencyRestore set_emergency_restore(EmergencyRestore wish) { return emergency_restore.exchange(wish); }

}  // namespace kiln
