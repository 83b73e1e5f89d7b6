#include "kiln/net/browser/socket.hpp"

#include <emscripten/eventloop.h>
#include <emscripten/proxying.h>
#include <emscripten/threading.h>
#include <pthread.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <functional>
#include <future>
#include <map>
#include <new>
#include <system_error>
#include <thread>
#include <utility>

#include "kiln/core/error/error.hpp"
#include "kiln/core/error/shown.hpp"
#include "kiln/net/browser/imports.hpp"

namespace kiln::net::browser {
namespace {

constexpr std::size_t kMostWaiting = 8 << 20;    // bytes of messages that the browser has not taken
constexpr double kMostBuffered = 8 << 20;        // bytes that it has taken and not sent
constexpr std::size_t kMostUntaken = 256 << 20;  // bytes that have come and nobody has received; or one message more
constexpr std::size_t kMostMessages = 1 << 20;   // of them: even one without bytes takes memory

/// The thread of the sockets; it lives as long as the module.
class SocketThread {
 public:
  static SocketThread& get() {
    static auto& only = *new SocketThread;
    return only;
  }
  void post(std::function<void()> task) {
    if (!queue_.proxyAsync(thread_, std::move(task))) throw std::bad_alloc();
  }

 private:
  SocketThread() {
    std::promise<pthread_t> begins;
    std::future<pthread_t> begun = begins.get_future();
    std::thread([begins = std::move(begins)]() mutable {
      emscripten_runtime_keepalive_push();  // so that the event loop goes on after this function
      begins.set_value(pthread_self());
    }).detach();
    thread_ = begun.get();
  }
  emscripten::ProxyingQueue queue_;
  pthread_t thread_;
};

/// All sockets that JavaScript may name.
struct Open {
  std::mutex mutex;
  std::map<int, std::shared_ptr<Socket>> sockets;
  int last = 0;

  static Open& all() {
    static auto& only = *new Open;
    return only;
  }
  void forget(int number) {
    const std::lock_guard lock(mutex);
    sockets.erase(number);
  }
  std::shared_ptr<Socket> at(int number) {
    const std::lock_guard lock(mutex);
    const auto found = sockets.find(number);
    return found == sockets.end() ? nullptr : found->second;
  }
};

SocketThread& thread_of_sockets() {
  require<IoError>(
      emscripten_has_threading_support(),
      "net: a connection takes threads, and this module of WebAssembly has none: load NAME.threads.js in a "
      "page that is isolated from other origins (docs/browser.md)");
  const int lacks = kiln_socket_lacks();
  require<IoError>(lacks != 1, "net: there are no WebSockets here: run this in a browser, or in node 22");
  require<IoError>(lacks == 0,
                   "net: this browser has no Atomics.waitAsync, by which threads reach sockets: use a newer one");
  try {
    return SocketThread::get();
  } catch (const std::system_error&) {
    fail<IoError>("net: no thread is left for sockets: let the module start with more (-sPTHREAD_POOL_SIZE)");
  }
}

std::string origin_of_page() {
  std::array<char, 256> name{};
  kiln_socket_origin(name.data(), name.size());
  return name.data();
}

}  // namespace

std::shared_ptr<Socket> Socket::open(const std::string& url, std::string peer, const Limits& limits) {
  SocketThread& thread = thread_of_sockets();
  const std::shared_ptr<Socket> socket(new Socket(url, std::move(peer), limits));
  {
    const std::lock_guard lock(Open::all().mutex);
    socket->number_ = ++Open::all().last;
    Open::all().sockets.emplace(socket->number_, socket);
  }
  try {
    thread.post([socket] { kiln_socket_open(socket->number_, socket->url_.c_str()); });
  } catch (const std::bad_alloc&) {
    Open::all().forget(socket->number_);
    throw;
  }
  return socket;
}

void Socket::wait_until_open(double seconds) {
  std::unique_lock lock(mutex_);
  const bool in_time = changed_.wait_for(lock, std::chrono::duration<double>(seconds),
                                         [&] { return state_ != State::Opening || closing_; });
  if (state_ == State::Open) return;
  const std::string why = in_time && why_ ? *why_ : "";
  lock.unlock();
  close();
  require<IoError>(in_time, "net: ", url_, " has not answered within ", seconds, " seconds");
  // A browser tells a page nothing about servers that it may not ask.
  fail<IoError>("net: ", url_, " gives no WebSocket", why.empty() ? "" : text(" (", shown(why), ")"),
                ": nobody listens there, what listens is no such server, ",
                url_.starts_with("wss:") ? "its certificate is none that this browser trusts, " : "",
                "or it takes no pages of ", origin_of_page(), ", which it has to be told to do");
}

void Socket::send(Message message) {
  std::unique_lock lock(mutex_);
  const auto is_open = [&] { return state_ == State::Open && !closing_; };
  changed_.wait(lock,
                [&] { return !is_open() || outgoing_.empty() || outgoing_bytes_ + message.size() <= kMostWaiting; });
  require<IoError>(is_open(), "net: the connection with ", peer_, " is closed: nothing more can be sent");
  outgoing_bytes_ += message.size();
  outgoing_.push_back(std::move(message));
  if (!pumping_) post_pump();
}

std::optional<Message> Socket::receive() {
  std::unique_lock lock(mutex_);
  const auto comes = [&] { return !received_.empty() || state_ == State::Closed || closing_; };
  if (silence_ == 0) {
    changed_.wait(lock, comes);
  } else if (!changed_.wait_for(lock, std::chrono::duration<double>(silence_), comes)) {
    refuse(text("it has sent nothing for ", silence_, " seconds"));
    post_pump();  // which closes it
  }
  if (!received_.empty()) {
    Message message = std::move(received_.front());
    received_.pop_front();
    received_bytes_ -= message.size();
    return message;
  }
  if (why_)
    fail<IoError>("net: the connection with ", peer_, " is lost", why_->empty() ? "" : text(": ", shown(*why_)));
  return std::nullopt;
}

void Socket::take_at_most(std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  most_ = std::min(most_, bytes);
}

void Socket::close() noexcept {
  const std::lock_guard lock(mutex_);
  if (std::exchange(closing_, true) || state_ == State::Closed) return;
  changed_.notify_all();
  try {
    post_pump();
  } catch (const std::bad_alloc&) {}  // the browser closes it with the page
}

void Socket::post_pump() {
  SocketThread::get().post([number = number_] { kiln_socket_pump(number); });
  pumping_ = true;
}

void Socket::pump() {
  std::unique_lock lock(mutex_);
  while (state_ == State::Open && !outgoing_.empty()) {
    if (!closing_ && kiln_socket_buffered(number_) > kMostBuffered) return kiln_socket_later(number_);
    const Message message = std::move(outgoing_.front());
    outgoing_.pop_front();
    lock.unlock();
    kiln_socket_send(number_, message.data(), message.size());
    lock.lock();
    outgoing_bytes_ -= message.size();
    changed_.notify_all();
  }
  pumping_ = false;
  if (closing_) kiln_socket_close(number_);
}

void Socket::opened() {
  const std::lock_guard lock(mutex_);
  state_ = State::Open;
  changed_.notify_all();
}

std::byte* Socket::place(std::size_t bytes) {
  static std::byte none;
  const std::lock_guard lock(mutex_);
  if (bytes > most_) {
    refuse(text("it has sent a message of ", bytes, " bytes, and at most ", most_, " are taken here"));
    return nullptr;
  }
  // A browser reads on whatever a page does with it, so that no other end ever waits.
  if (const std::size_t most = std::max(kMostUntaken, most_); !received_.empty() && received_bytes_ + bytes > most) {
    refuse(text("it sends more than is received here: more than ", most, " bytes wait"));
    return nullptr;
  }
  if (received_.size() == kMostMessages) {
    refuse(text("it sends more than is received here: ", kMostMessages, " messages wait"));
    return nullptr;
  }
  try {
    arriving_.resize(bytes);
  } catch (const std::bad_alloc&) {
    refuse(text("the memory of this page has no room for a message of ", bytes, " bytes"));
    return nullptr;
  }
  return bytes > 0 ? arriving_.data() : &none;
}

/// Messages that come from now on are dropped.
void Socket::refuse(std::string why) {
  why_ = std::move(why);
  closing_ = true;
  changed_.notify_all();
}

void Socket::received() {
  const std::lock_guard lock(mutex_);
  const std::size_t bytes = arriving_.size();
  try {
    received_.push_back(std::move(arriving_));
  } catch (const std::bad_alloc&) {
    why_.emplace();  // it is lost, and was not closed in an orderly way
    throw;
  }
  received_bytes_ += bytes;
  arriving_ = {};
  changed_.notify_all();
}

void Socket::closed(std::optional<std::string> why) {
  const std::lock_guard lock(mutex_);
  state_ = State::Closed;
  if (!why_ && !closing_) why_ = std::move(why);
  outgoing_.clear();
  changed_.notify_all();
}

// Nothing may be thrown into JavaScript. Where even a sentence has no memory, the socket ends all the same.
extern "C" {

[[gnu::used, clang::export_name("kiln_socket_opened")]] void kiln_socket_opened(int number) {
  if (const auto socket = Open::all().at(number)) socket->opened();
}

[[gnu::used, clang::export_name("kiln_socket_place")]] std::byte* kiln_socket_place(int number, std::size_t bytes) {
  const auto socket = Open::all().at(number);
  try {
    return socket ? socket->place(bytes) : nullptr;
  } catch (const std::exception&) {
    socket->closed(std::string());
    return nullptr;
  }
}

[[gnu::used, clang::export_name("kiln_socket_received")]] void kiln_socket_received(int number) {
  const auto socket = Open::all().at(number);
  if (!socket) return;
  try {
    socket->received();
  } catch (const std::exception&) { socket->close(); }
}

[[gnu::used, clang::export_name("kiln_socket_pump")]] void kiln_socket_pump(int number) {
  if (const auto socket = Open::all().at(number)) socket->pump();
}

[[gnu::used, clang::export_name("kiln_socket_closed")]] void kiln_socket_closed(int number, const char* why) {
  std::shared_ptr<Socket> socket = Open::all().at(number);
  if (!socket) return;
  try {
    socket->closed(why ? std::optional<std::string>(why) : std::nullopt);
  } catch (const std::exception&) { socket->closed(std::string()); }
  Open::all().forget(number);
}
}

}  // namespace kiln::net::browser
