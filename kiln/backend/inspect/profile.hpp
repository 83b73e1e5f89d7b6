// Profile: the time and memory of a program, by operation and by fused kernel.
//
//   Profile profile(Device::best());
//   const Device device = profile.device().autodiff();   // run on this one
//   ...
//   profile.print();
//   profile.write_trace("trace.json");                   // for ui.perfetto.dev or chrome://tracing
//
// Any program can be profiled unchanged: KILN_PROFILE=1 in its environment prints the table when it ends, and
// KILN_PROFILE=trace.json also writes the trace.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "kiln/ops/device.hpp"

namespace kiln {

struct ProfileOptions {
  std::size_t most_events = 1'000'000;  // kept by the trace, 48 bytes each; later ones are only in the table
  std::size_t most_rows = 100'000;      // operations with the same shapes are a row; later ones are in the row "others"
};

/// All calls of one operation with operands of equal shapes and types.
struct ProfileRow {
  std::string name;    // "matmul", "mul+add+gelu"
  std::string shapes;  // "[64, 784] x [784, 512] -> [64, 512]"; types other than float32 are named
  std::int64_t calls = 0;
  double seconds = 0;    // without those of nested operations
  double bytes = 0;      // of the operands and results, each counted once; 0 for a view
  double flops = 0;      // multiplications and additions of matmul, convolution and attention; 0 for others
  std::string device{};  // that ran them in another program, such as "remote:gpu-box:3000"; empty: this program
};

class ProfileLog;
struct ProfileContents;

/// A device that measures the time of each operation, and reports. It waits for each operation, so that an asynchronous
/// device is slower under it. On a device that fuses, it times the fused kernels. On a remote device, the server times its
/// kernels (those of all that this program runs there meanwhile), and the copies are timed on both sides.
class Profile {
 public:
  explicit Profile(const Device& device, const ProfileOptions& options = {});

  /// Computes the same as the device that it was created from. Tensors of that device may be used together with its own
  /// if it does not fuse; to_device() moves them in any case.
  const Device& device() const { return device_; }

  /// The rows, the slowest first. Copies from and to the host are the rows "upload" and "read".
  std::vector<ProfileRow> rows() const;
  /// The rows as text, with their rates and the machine's (Ceiling; measured when first asked for).
  std::string table(std::size_t most_rows = 40) const;
  /// Writes the table to the standard output.
  void print() const;
  /// Writes one event for each call, and the memory in use, in the Trace Event Format. Throws IoError.
  void write_trace(const std::string& file) const;
  /// Deletes all recorded data.
  void reset();

 private:
  class Elsewhere;
  ProfileContents contents() const;

  std::shared_ptr<ProfileLog> log_;
  std::shared_ptr<Elsewhere> elsewhere_;
  Device device_;
};

}  // namespace kiln
