#include "kiln/ops/scope/asker.hpp"

#include <utility>

namespace kiln {

struct OwnAsker {
  Ref<Asker> asker = make_ref<Asker>();
  ~OwnAsker() { asker->gone_.store(true, std::memory_order_release); }
};

namespace {

thread_local const AskedBy* asked_by = nullptr;

}  // namespace

Ref<Asker> Asker::current() {
  if (asked_by) return asked_by->asker_;
  thread_local const OwnAsker own;
  return own.asker;
}

AskedBy::AskedBy(Ref<Asker> asker) : asker_(std::move(asker)), outer_(asked_by) { asked_by = this; }
AskedBy::~AskedBy() { asked_by = outer_; }

}  // namespace kiln
