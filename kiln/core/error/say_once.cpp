#include "kiln/core/error/say_once.hpp"

#include <cstdio>
#include <mutex>
#include <set>
#include <string>

#include "kiln/core/mutex.hpp"
#include "kiln/core/text.hpp"

namespace kiln {
namespace {

bool is_new(std::string_view what) {
  static Mutex& mutex = *new Mutex;  // also there for warnings at the end of a program
  static auto& said = *new std::set<std::string, std::less<>>;
  const std::lock_guard lock(mutex);
  return said.emplace(what).second;
}

}  // namespace

void say_once(std::string_view what) {
  if (is_new(what)) std::fputs(text("kiln: warning: ", what, ". This is said once.\n").c_str(), stderr);
}

}  // namespace kiln
