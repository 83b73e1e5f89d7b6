// A scope in which nothing is recorded.
#pragma once

namespace kiln {

/// While this object lives, operations on this thread are not recorded: `NoGrad pause; ...`. Scopes nest.
class NoGrad {
 public:
  explicit NoGrad(bool off = true);
  ~NoGrad();
  NoGrad(const NoGrad&) = delete;
  NoGrad& operator=(const NoGrad&) = delete;

 private:
  bool before_;
};

/// Whether operations on this thread are recorded.
bool grad_enabled();

}  // namespace kiln
