// Asks a training to stop, or to save, from anywhere: a callback, another thread, Ctrl-C.
#pragma once
#include <memory>
#include <string>

namespace kiln {

/// A handle; copies are the same one.
class Interrupter {
 public:
  Interrupter();

  /// The training ends after the step that is under way, and saves. The first reason counts. From any thread.
  void stop(std::string reason);
  bool should_stop() const;
  /// Why; empty where nobody asked.
  std::string reason() const;
  /// Takes back what was asked for so far.
  void reset();

  /// The training writes a checkpoint after the step that is under way.
  void save();
  /// Whether somebody asked since the last call.
  bool take_save();

 private:
  struct State;
  std::shared_ptr<State> state_;
};

/// While it lives, SIGINT (Ctrl-C), SIGTERM and SIGHUP (a terminal that was closed) ask every Interrupter to
/// stop, and SIGUSR1 to save. A second one ends the process at once. A SIGHUP that is ignored stays so: nohup's programs are
/// to outlive the terminal. One scope lives at a time; others do nothing.
class SignalScope {
 public:
  SignalScope();
  ~SignalScope();
  SignalScope(const SignalScope&) = delete;
  SignalScope& operator=(const SignalScope&) = delete;

 private:
  bool active_ = false;
};

/// Called, in a signal handler, before the second signal ends the process: puts a terminal back as it was. Does only what
/// a signal handler may. Null: nothing. Returns the one before.
using LastWish = void (*)();
LastWish set_last_wish(LastWish wish);

}  // namespace kiln
