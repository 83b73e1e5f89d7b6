// The data that a Profile has recorded. Any thread writes; reports use a copy.
#pragma once
#include <chrono>
#include <mutex>
#include <unordered_map>

#include "kiln/backend/inspect/profile.hpp"
#include "kiln/ops/op.hpp"

namespace kiln {

using ProfileClock = std::chrono::steady_clock;

/// One call, to be drawn on a timeline.
struct ProfileEvent {
  std::size_t row;
  ProfileClock::time_point start;
  ProfileClock::duration took;
  int thread;
  std::int64_t memory_in_use;  // after the call
};

struct ProfileContents {
  std::string device;
  std::vector<ProfileRow> rows;  // in the order of their first calls
  std::vector<ProfileEvent> events;
  std::int64_t events_left_out = 0;
  ProfileClock::time_point first{}, last{};  // when the first event began and the last one ended
  MemoryStatistics memory;
};

class ProfileLog {
 public:
  explicit ProfileLog(const ProfileOptions& options) : options_(options) {}

  /// The timing of one call. `own` is its time without that of nested calls.
  struct Timing {
    ProfileClock::time_point start;
    ProfileClock::duration took, own;
  };
  void add(const op::Op& op, const Call& call, const Timing& timing, const MemoryStatistics& memory);
  /// A copy from or to the host.
  void add_copy(std::string_view name, const Desc& desc, const Timing& timing, const MemoryStatistics& memory);

  void set_device(std::string name);
  ProfileContents contents() const;
  void reset();

 private:
  /// Everything that distinguishes rows.
  struct Key {
    op::Op op;
    std::vector<Desc> in;  // numbers and absent operands have no dimensions
    std::vector<Desc> out;
    friend bool operator==(const Key&, const Key&) = default;
  };
  std::size_t row_of(const op::Op& op, const Call& call);
  std::size_t row_of(const std::string& name, const std::string& shapes);
  void note(std::size_t row, double bytes, double flops, const Timing& timing, const MemoryStatistics& memory);

  const ProfileOptions options_;
  mutable std::mutex mutex_;
  std::unordered_multimap<std::size_t, std::pair<Key, std::size_t>> by_hash_;
  std::unordered_map<std::string, std::size_t> by_text_;
  ProfileContents contents_;
};

std::vector<ProfileRow> slowest_first(std::vector<ProfileRow> rows);
/// Implements Profile::table().
std::string profile_table(ProfileContents contents, std::size_t most_rows);
/// Implements Profile::write_trace().
void profile_trace(const ProfileContents& contents, const std::string& file);

}  // namespace kiln
