#include "kiln/ops/collective/communicator.hpp"

#include <cstring>
#include <map>
#include <mutex>

#include "kiln/core/error/error.hpp"
#include "kiln/core/error/shown.hpp"
#include "kiln/core/mutex.hpp"

namespace kiln {
namespace {

struct CommunicatorTable {
  Mutex mutex;
  std::map<std::int64_t, Communicator*> communicators;
  std::int64_t made = 0;

  std::int64_t add(Communicator* communicator) {
    const std::lock_guard lock(mutex);
    communicators.emplace(++made, communicator);
    return made;
  }
};

CommunicatorTable& known() {
  static CommunicatorTable& all =
      *new CommunicatorTable;  // never destroyed, as static objects may use it when the program ends
  return all;
}

class Alone final : public Communicator {
 public:
  Alone() : Communicator(0, 1) {}
  void exchange(std::string_view, const Pieces& pieces, const Places& places) override {
    KILN_CHECK(pieces[0].size() == places[0].size());
    if (!pieces[0].empty()) std::memcpy(places[0].data(), pieces[0].data(), pieces[0].size());
  }
  void leave(std::string_view) override {}
};

}  // namespace

Communicator::Communicator(int rank, int size) : rank_(rank), size_(size), number_(known().add(this)) {
  KILN_CHECK(size >= 1 && rank >= 0 && rank < size);
}

Communicator::~Communicator() {
  const std::lock_guard lock(known().mutex);
  known().communicators.erase(number_);
}

Ranks Communicator::find(std::string_view op, std::int64_t number) {
  const auto communicator = [&]() -> Ranks {
    const std::lock_guard lock(known().mutex);
    const auto found = known().communicators.find(number);
    return found == known().communicators.end() ? nullptr : found->second->weak_from_this().lock();
  }();
  require<ArgumentError>(communicator != nullptr, op, ": this process has no communicator ", number,
                         ", or no longer has it");
  return communicator;
}

Ranks alone() {
  static const Ranks one = std::make_shared<Alone>();
  return one;
}

void CommunicatorConfig::check() const {
  require<ArgumentError>(timeout > 0, "communicator: a timeout of ", timeout, " s, it must be positive");
}

namespace collective {

void fail_different_call(std::string_view here, int rank, std::string_view there) {
  fail<ArgumentError>(here, ": rank ", rank, " has reached another call, ", shown(there),
                      ": all ranks make the same calls, on tensors of the same shapes and types, in the same order");
}
std::string leaving_text(int rank, std::string_view reason) {
  return text("rank ", rank, " has left: ", escaped(reason));
}
void fail_left(std::string_view here, int rank, std::string_view reason) {
  fail<IoError>(here, ": ", leaving_text(rank, reason));
}
void fail_timeout(std::string_view here, int rank, double seconds) {
  fail<IoError>(here, ": rank ", rank, " has not arrived within ", seconds, " s");
}

}  // namespace collective
}  // namespace kiln
