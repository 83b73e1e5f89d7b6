// A device of another program (kiln host), on which the page computes while it is connected.
#pragma once
#include <cstdint>
#include <memory>
#include <string>

#include "kiln/backend/remote/remote.hpp"

namespace page {

struct Traffic {
  double calls = 0, sent = 0, received = 0;  // operations, bytes
  int reconnections = 0;
  bool lost = false;  // the session has ended, with all tensors there
};

class Server {
 public:
  /// Connects, and makes the server's device the default of this page. Throws what says why there is no connection.
  Server(const std::string& address, const std::string& token);
  /// Leaves, if leave() did not.
  ~Server() { leave(); }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  /// Ends the session; the page computes on its own processor again.
  void leave();
  /// Returns "cpu at 127.0.0.1:3000".
  std::string name() const;
  Traffic traffic() const;

 private:
  kiln::remote::Remote& remote() const;
  kiln::Device device_;
  bool left_ = false;
};

}  // namespace page
