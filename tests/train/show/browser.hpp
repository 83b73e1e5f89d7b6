// A headless Chromium that a test looks at a page with.
#pragma once
#include <optional>
#include <string>

#include <sys/types.h>

#include "kiln/core/config/json.hpp"

namespace kiln::test {

/// Speaks Chromium's DevTools protocol over a pipe: each message is JSON and ends with a zero byte.
class Browser {
 public:
  /// The program: KILN_CHROMIUM, or the first that PATH has; nothing where there is none.
  static std::optional<std::string> program();

  /// Starts it on a page, in a profile of its own.
  Browser(const std::string& program, const std::string& address);
  Browser(const Browser&) = delete;
  Browser& operator=(const Browser&) = delete;
  ~Browser();

  /// What an expression comes to on the page. Where it fails, or the browser does not answer, the test does.
  Json evaluate(const std::string& expression);
  /// Whether an expression becomes true within a minute; it is asked for again and again.
  bool becomes(const std::string& condition);

 private:
  /// The result of a method.
  Json call(const std::string& method, const std::string& parameters);
  std::string read_message();

  std::string profile_, session_, received_;
  pid_t process_ = -1;
  int to_ = -1, from_ = -1;
  int calls_ = 0;
};

}  // namespace kiln::test
