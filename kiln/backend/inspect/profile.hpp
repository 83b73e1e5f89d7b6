// Profile: where a program's time and memory go, by operation and by fused kernel.
//
//   Profile profile(Device::best());
//   const Device device = profile.device().autodiff();   // run on this one
//   ...
//   profile.print();
//   profile.write_trace("trace.json");                   // for ui.perfetto.dev or chrome://tracing
//
// Any program can be profiled as it stands: KILN_PROFILE=1 in its environment prints the table when it ends, and
// KILN_PROFILE=trace.json writes the trace, too.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "kiln/ops/device.hpp"

namespace kiln {

struct ProfileOptions {
  std::size_t most_events = 1'000'000;  // that the trace keeps, 48 bytes each; later ones are in the table alone
};

/// All calls of one operation with operands of the same shapes and types.
struct ProfileRow {
  std::string name;    // "matmul", "mul+add+gelu"
  std::string shapes;  // "[64, 784] x [784, 512] -> [64, 512]"; types other than float32 are named
  std::int64_t calls = 0;
  double seconds = 0;  // without those of operations that were called from within
  double bytes = 0;    // that the operands and results take up, each counted once; nothing for a view
  double flops = 0;    // multiplications and additions of matmul, convolution and attention; 0 for others
};

class ProfileLog;
struct ProfileContents;

/// A device that times what runs on it, and reports. It waits for each operation, so that a device which computes
/// while the program goes on is slower under it. On a device that fuses, fused kernels are what is timed.
class Profile {
 public:
  explicit Profile(const Device& device, const ProfileOptions& options = {});

  /// Computes what the device does that it was made from. Tensors of that one may stand beside this one's if it does
  /// not fuse; to_device() moves them in any case.
  const Device& device() const { return device_; }

  /// The slowest first. Copies from and to the host are the rows "upload" and "read".
  std::vector<ProfileRow> rows() const;
  /// The rows with their rates, and what the machine could do (Ceiling; measured when first asked for), as text.
  std::string table(std::size_t most_rows = 40) const;
  /// Writes the table to the standard output.
  void print() const;
  /// One event for each call, and the memory in use, in the Trace Event Format. Throws IoError.
  void write_trace(const std::string& file) const;
  /// Forgets what has been recorded.
  void reset();

 private:
  ProfileContents contents() const;

  std::shared_ptr<ProfileLog> log_;
  Device device_;
};

}  // namespace kiln
