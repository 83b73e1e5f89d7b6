// A server in a process of its own, which a test may kill.
#pragma once
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <vector>

namespace kiln::test {

class ServerProcess {
 public:
  /// Runs remote_peer (peer.cpp).
  explicit ServerProcess(int port = 0, const std::vector<std::string>& ops = {}) {
    int ends[2] = {-1, -1};
    EXPECT_EQ(::pipe(ends), 0);
    std::vector<std::string> words{KILN_REMOTE_PEER, std::to_string(port)};
    words.insert(words.end(), ops.begin(), ops.end());
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    child_ = ::fork();
    if (child_ == 0) {
      ::dup2(ends[1], STDOUT_FILENO);
      ::close(ends[0]), ::close(ends[1]);
      ::execv(arguments[0], arguments.data());
      ::_exit(127);
    }
    ::close(ends[1]);
    std::string said;
    for (char letter = 0; ::read(ends[0], &letter, 1) == 1 && letter != '\n';) said += letter;
    ::close(ends[0]);
    EXPECT_FALSE(said.empty()) << "the server did not start";
    port_ = said.empty() ? 0 : std::stoi(said);
  }
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;
  ~ServerProcess() { kill(); }

  int port() const { return port_; }
  void kill() {
    if (child_ <= 0) return;
    ::kill(child_, SIGKILL);
    ::waitpid(child_, nullptr, 0);
    child_ = -1;
  }

 private:
  pid_t child_ = -1;
  int port_ = 0;
};

}  // namespace kiln::test
