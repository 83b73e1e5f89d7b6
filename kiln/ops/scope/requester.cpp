#include "kiln/ops/scope/requester.hpp"

#include <utility>

namespace kiln {

struct OwnRequester {
  Ref<Requester> requester = make_ref<Requester>();
  ~OwnRequester() { requester->gone_.store(true, std::memory_order_release); }
};

namespace {

thread_local const RequestedBy* requested_by = nullptr;

}  // namespace

Ref<Requester> Requester::current() {
  if (requested_by) return requested_by->requester_;
  thread_local const OwnRequester own;
  return own.requester;
}

RequestedBy::RequestedBy(Ref<Requester> requester) : requester_(std::move(requester)), outer_(requested_by) {
  requested_by = this;
}
RequestedBy::~RequestedBy() { requested_by = outer_; }

}  // namespace kiln
