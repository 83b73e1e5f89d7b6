// Requests to stop or save training, from anywhere: a callback, another thread, Ctrl-C.
#pragma once
#include <memory>
#include <string>

namespace kiln {

/// A handle; copies refer to the same state.
class Interrupter {
 public:
  Interrupter();

  /// Ends training after the current step, and saves unless `saves` says otherwise. The first call or signal counts,
  /// but for the first that saves after one that does not. Thread-safe.
  void stop(std::string reason, bool saves = true);
  /// Should the end of training be saved?
  bool saves_end() const;
  bool should_stop() const;
  /// The reason; empty if no stop was requested.
  std::string reason() const;
  /// Withdraws all requests.
  void reset();

  /// Writes a checkpoint after the current step.
  void save();
  /// Was a save requested since the last call?
  bool take_save();

 private:
  struct State;
  std::shared_ptr<State> state_;
};

/// While it lives, SIGINT (Ctrl-C), SIGTERM and SIGHUP (a terminal that was closed) make every Interrupter stop, and
/// SIGUSR1 makes it save. A second one ends the process at once. A SIGHUP that was ignored stays so: programs under
/// nohup survive the terminal. Only one scope is active at a time; others do nothing.
class SignalScope {
 public:
  SignalScope();
  ~SignalScope();
  SignalScope(const SignalScope&) = delete;
  SignalScope& operator=(const SignalScope&) = delete;

 private:
  bool active_ = false;
};

/// Called in a signal handler before the second signal ends the process, to restore a terminal. It may only do what a
/// signal handler may do. Null: nothing. Returns the previous one.
using EmergencyRestore = void (*)();
EmergencyRestore set_emergency_restore(EmergencyRestore wish);

}  // namespace kiln
