// A scope in which nothing is recorded.
#pragma once

namespace kiln {

/// While it lives, operations on this thread leave no tape: `NoGrad pause; ...`. Scopes nest.
class NoGrad {
 public:
  explicit NoGrad(bool off = true);
  ~NoGrad();
  NoGrad(const NoGrad&) = delete;
  NoGrad& operator=(const NoGrad&) = delete;

 private:
  bool before_;
};

/// Are operations on this thread recorded?
bool grad_enabled();

}  // namespace kiln
