#include "tests/train/show/browser.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <thread>

#include <gtest/gtest.h>

#include "kiln/core/error/error.hpp"
#include "kiln/train/log/line_log.hpp"

namespace kiln::test {
namespace {

namespace fs = std::filesystem;
constexpr int kPatience = 60;  // seconds

/// A member of an object, or null.
Json member(const Json& json, std::string_view key) {
  if (const auto* const object = std::get_if<Json::Object>(&json.is))
    for (const auto& [name, value] : *object)
      if (name == key) return value;
  return {};
}
std::string text_in(const Json& json) {
  const auto* const text = std::get_if<std::string>(&json.is);
  return text ? *text : "";
}

}  // namespace

std::optional<std::string> Browser::program() {
  if (const char* const said = std::getenv("KILN_CHROMIUM"))
    return *said ? std::optional<std::string>(said) : std::nullopt;
  const char* const path = std::getenv("PATH");
  std::istringstream directories(path ? path : "");
  for (std::string directory; std::getline(directories, directory, ':');)
    for (const char* const name : {"chromium", "chromium-browser", "google-chrome"})
      if (const fs::path file = fs::path(directory) / name; ::access(file.c_str(), X_OK) == 0) return file.string();
  return std::nullopt;
}

Browser::Browser(const std::string& program, const std::string& address)
    : profile_((fs::temp_directory_path() / "kiln-browser-XXXXXX").string()) {
  KILN_CHECK(::mkdtemp(profile_.data()) != nullptr);
  int commands[2], answers[2];
  KILN_CHECK(::pipe2(commands, O_CLOEXEC) == 0 && ::pipe2(answers, O_CLOEXEC) == 0);
  const std::string profile = "--user-data-dir=" + profile_;
  const char* const words[] = {program.c_str(),        "--headless",
                               "--no-sandbox",         "--disable-gpu",
                               "--disable-quic",       "--no-first-run",
                               "--disable-sync",       "--disable-background-networking",
                               "--disable-extensions", "--disable-component-update",
                               profile.c_str(),        "--remote-debugging-pipe",
                               "about:blank",          nullptr};
  process_ = ::fork();
  KILN_CHECK(process_ >= 0);
  if (process_ == 0) {
    ::setpgid(0, 0);
    // Chromium reads commands from 3 and writes answers to 4. Ends that lie there already move away first.
    const int in = ::fcntl(commands[0], F_DUPFD, 10), out = ::fcntl(answers[1], F_DUPFD, 10);
    const int nowhere = ::open("/dev/null", O_RDWR);
    ::dup2(in, 3);
    ::dup2(out, 4);
    ::dup2(nowhere, 1);
    ::dup2(nowhere, 2);
    ::execv(words[0], const_cast<char* const*>(words));
    ::_exit(127);
  }
  ::close(commands[0]);
  ::close(answers[1]);
  to_ = commands[1];
  from_ = answers[0];
  std::signal(SIGPIPE, SIG_IGN);
  const std::string target = text_in(member(call("Target.createTarget", "{\"url\":\"about:blank\"}"), "targetId"));
  session_ = text_in(member(
      call("Target.attachToTarget", text("{\"flatten\":true,\"targetId\":", json_text(target), '}')), "sessionId"));
  call("Page.navigate", text("{\"url\":", json_text(address), '}'));
}

Browser::~Browser() {
  session_.clear();
  call("Browser.close", "{}");
  for (int i = 0; i < 50 && ::waitpid(process_, nullptr, WNOHANG) == 0; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  ::kill(-process_, SIGKILL);  // its group: what it has started, and itself where it does not go
  ::waitpid(process_, nullptr, 0);
  ::close(to_);
  ::close(from_);
  std::error_code ignored;
  fs::remove_all(profile_, ignored);
}

std::string Browser::read_message() {
  for (;;) {
    if (const std::size_t end = received_.find('\0'); end != std::string::npos) {
      const std::string message = received_.substr(0, end);
      received_.erase(0, end + 1);
      return message;
    }
    pollfd wait{from_, POLLIN, 0};
    char buffer[4096];
    const bool came = ::poll(&wait, 1, kPatience * 1000) > 0;
    const ssize_t got = came ? ::read(from_, buffer, sizeof buffer) : 0;
    if (got <= 0) return "";
    received_.append(buffer, static_cast<std::size_t>(got));
  }
}

Json Browser::call(const std::string& method, const std::string& parameters) {
  const std::int64_t number = ++calls_;
  const std::string session = session_.empty() ? "" : ",\"sessionId\":" + json_text(session_);
  const std::string message =
      text("{\"id\":", number, ",\"method\":", json_text(method), session, ",\"params\":", parameters, '}');
  if (::write(to_, message.c_str(), message.size() + 1) < 0) {
    ADD_FAILURE() << "the browser has gone before " << method;
    return {};
  }
  for (;;) {
    const std::string answer = read_message();
    if (answer.empty()) {
      ADD_FAILURE() << "the browser does not answer " << method;
      return {};
    }
    const Json json = parse_json(answer, "the browser");
    const Json id = member(json, "id");
    const auto* const of = std::get_if<std::int64_t>(&id.is);  // null: an event
    if (!of || *of != number) continue;
    EXPECT_EQ(text_in(member(member(json, "error"), "message")), "") << method;
    return member(json, "result");
  }
}

Json Browser::evaluate(const std::string& expression) {
  const Json answer =
      call("Runtime.evaluate", text("{\"returnByValue\":true,\"expression\":", json_text(expression), '}'));
  EXPECT_EQ(text_in(member(member(answer, "exceptionDetails"), "text")), "") << expression;
  return member(member(answer, "result"), "value");
}

bool Browser::becomes(const std::string& condition) {
  const auto begin = std::chrono::steady_clock::now();
  do {
    // Before the page is there, what is asked for is not.
    const Json json = evaluate("(() => { try { return " + condition + "; } catch { return false; } })()");
    if (const auto* const truth = std::get_if<bool>(&json.is); truth && *truth) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  } while (std::chrono::steady_clock::now() - begin < std::chrono::seconds(kPatience));
  return false;
}

}  // namespace kiln::test
