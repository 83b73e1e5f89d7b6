// Loggers that write on a thread of their own, so that no slow disk keeps the training waiting:
//
//   learner.add(Asynchronous(JsonLinesLog("run.jsonl"))).add(Asynchronous(TensorBoard("run")));
#pragma once
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <utility>
#include <variant>
#include <vector>

#include "kiln/train/events.hpp"

namespace kiln {

namespace training {

/// Throws `first`; its message says how many `more` there are, if any.
[[noreturn]] void throw_counted(const std::exception_ptr& first, std::size_t more);

/// Events that a thread hands to a function, in the order in which they came.
class EventThread {
 public:
  /// Throws ArgumentError unless `most` is at least 1.
  EventThread(std::function<void(const Event&)> handle, std::int64_t most);
  EventThread(EventThread&&) noexcept;
  EventThread& operator=(EventThread&&) = delete;
  /// Waits until all events are handled. Errors that nobody has been told of by then are written to standard error.
  ~EventThread();

  /// Waits while `most` events wait. Then throws an error of an earlier event, each once; or waits and throws as flush().
  void add(Event event, bool flushes = false);
  /// Waits until all events are handled. Throws as add(); if there are more errors, the message says how many.
  void flush();
  /// Waits until all events are handled. Returns the errors that nobody has been told of, one for each lost event.
  std::vector<std::exception_ptr> take_errors();

 private:
  struct Shared;
  std::unique_ptr<Shared> shared_;
};

}  // namespace training

/// A logger (a callback without `state`, whose on() takes no model) on a thread of its own. It sees all of its events in
/// their order. An error that it throws comes out of the next event here, or of the last one: after RunEnd everything is
/// written. Begin waits until the logger has taken it, so that a log that cannot be opened ends the training before its
/// first step. At most `most` events wait; a training that is faster waits for its log. Events are copied.
template <class Logger>
class Asynchronous {
 public:
  static constexpr bool kIsALog = requires { requires Logger::kIsALog; };
  static_assert(
      !requires(Logger& logger) { logger.state; } && !requires(Logger& logger) { logger.seen; },
      "checkpoints keep what this callback knows, which has to be in step with the training");

  explicit Asynchronous(Logger logger, std::int64_t most = 4096)
      : logger_(std::make_shared<Logger>(std::move(logger))),
        thread_(
            [held = logger_, control = Interrupter()](const training::Event& event) mutable {
              if (const auto* const begin = std::get_if<training::Begin>(&event)) control = begin->control;
              training::notify(*held, event, control);
            },
            most) {}

  void check() {
    if constexpr (requires { logger_->check(); }) logger_->check();
  }

  template <class E>
  requires training::kReceives<Logger, E> void on(const E& event) {
    thread_.add(event, std::same_as<E, training::Begin> || std::same_as<E, training::RunEnd>);
  }

  /// Waits until everything is written. Throws an error of the logger that nobody has been told of.
  void flush() { thread_.flush(); }
  /// Waits as flush(), and returns all errors that nobody has been told of.
  std::vector<std::exception_ptr> take_errors() { return thread_.take_errors(); }

 private:
  std::shared_ptr<Logger> logger_;
  training::EventThread thread_;
};

}  // namespace kiln
