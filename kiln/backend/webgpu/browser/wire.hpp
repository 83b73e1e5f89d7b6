// Wire: the way of commands to the browser, and of its answers back. Commands wait in the module's memory and are played
// together, since each call from a thread other than the first one costs a message.
#pragma once
#include <condition_variable>
#include <deque>
#include <functional>
#include <initializer_list>
#include <mutex>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "kiln/backend/webgpu/browser/imports.hpp"
#include "kiln/backend/webgpu/interface.hpp"

namespace kiln::webgpu::browser {

/// What the browser says to a ticket.
struct Answer {
  std::uint32_t ticket = 0;
  std::uint32_t status = 0;  // kSuccess, or another
  std::uint32_t number = 0;  // the type of an error, the reason of a loss
  std::string words;
};
using Hearing = std::function<void(const Answer&)>;

/// Thread-safe.
class Wire {
 public:
  static constexpr std::size_t kMostWords = 16 << 10;  // that wait

  /// Adds a command. What it points to stays as it is until it is played.
  void add(Command command, std::initializer_list<std::uint32_t> arguments, std::span<const std::uint32_t> more = {});
  /// Adds a command and plays all.
  void add_and_play(Command command, std::initializer_list<std::uint32_t> arguments);
  void play();

  /// A number for an object.
  std::uint32_t object();
  /// Tells the browser, after what was added before, that the object is needed no longer.
  void release(std::uint32_t object);

  /// A ticket whose answers go to `hearing`: one, or any number of them.
  std::uint32_t ticket(Hearing hearing, bool once = true);
  /// Gives the answers that have come to their hearings.
  void hear();
  /// Waits until there is an answer to hear, or some time has passed. Throws DeviceError where this thread may not.
  void wait();
  /// From the first thread.
  void answer(Answer answer);

 private:
  void play_locked();

  struct Ticket {
    Hearing hearing;
    bool once = true;
  };
  std::mutex commands_;
  std::vector<std::uint32_t> words_;
  std::vector<std::uint32_t> free_objects_;
  std::uint32_t next_object_ = 1;

  std::mutex mutex_;
  std::condition_variable answered_;
  std::deque<Answer> answers_;
  std::unordered_map<std::uint32_t, Ticket> tickets_;
  std::uint32_t next_ticket_ = 1;
  std::uint64_t heard_ = 0;
};

/// The module's. Never destroyed.
Wire& wire();

}  // namespace kiln::webgpu::browser
