// The function that a user called, for errors of what it is made of.
#pragma once
#include <string>
#include <string_view>

namespace kiln {

/// While it lives, errors about operands on this thread name `function`, not what it calls: `take: index 6 ...` where
/// the op is ravel_index. Of scopes within each other the outermost counts; `nullptr` begins anew, for work that somebody
/// else asked for.
class CalledAs {
 public:
  explicit CalledAs(const char* function);
  ~CalledAs();
  CalledAs(const CalledAs&) = delete;
  CalledAs& operator=(const CalledAs&) = delete;

  /// Null outside of any scope.
  static const char* function();
  /// The sentence as `function` says it: in place of the name that it begins with, or before it if it has none.
  static std::string rename(const char* function, std::string_view sentence);

 private:
  const char* before_;
};

}  // namespace kiln
