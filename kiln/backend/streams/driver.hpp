// StreamDriver: a GPU whose maker's driver has streams, as a gpu::Driver. Everything but collectives of ranks runs in one
// stream, or in that of the thread that asks. A maker adds the printer of its language, its compiler and its libraries.
#pragma once
#include <array>
#include <atomic>
#include <set>

#include "kiln/backend/gpu/driver.hpp"
#include "kiln/backend/gpu/kernel/print/print.hpp"
#include "kiln/backend/gpu/peers.hpp"
#include "kiln/backend/streams/compiler.hpp"
#include "kiln/backend/streams/download.hpp"
#include "kiln/backend/streams/queue.hpp"
#include "kiln/backend/streams/upload.hpp"

namespace kiln::streams {

class StreamDriver : public gpu::Driver,
                     public gpu::TextCompiler,
                     public gpu::Peer,
                     protected gpu::Streams,
                     protected LibraryCalls {
 public:
  std::string name() const override { return stream_->device(); }
  std::string identity() const override;
  const gpu::Capabilities& capabilities() const override { return capabilities_; }
  BlockSource& memory() override { return memory_; }

  Ref<gpu::Code> compile(const gpu::Kernel& kernel) override;
  void launch(const gpu::Code& code, std::int64_t blocks, std::span<const std::uint64_t> arguments) override;
  void upload(std::byte* to, std::span<const std::byte> from) override;
  Ref<gpu::Transfer> download(const std::byte* from, std::size_t bytes) override;
  void copy(std::byte* to, const std::byte* from, std::size_t bytes) override;
  void clear(std::byte* start, std::size_t bytes) override;
  void flush() override { queue().flush(); }
  void synchronize() override;
  gpu::TextCompiler* texts() override { return this; }
  Ref<gpu::Code> compile_text(const gpu::TextKernel& kernel) override;
  gpu::Peer* peer() override { return this; }
  Ref<gpu::Mark> mark() override;
  bool can_copy_from(gpu::Driver& other) override;
  void copy_from(gpu::Driver& other, const gpu::Mark& ready, std::byte* to, const std::byte* from,
                 std::size_t bytes) override;
  gpu::Streams* streams() override { return this; }
  void open_stream(int number) override;
  void wait_for_stream(int number, int other) override;

 protected:
  /// Kernels are printed for `target`, and compiled by `compiler`.
  StreamDriver(Ref<Stream> stream, const gpu::Capabilities& capabilities, const gpu::Target& target, Compiler compiler);

  /// Starts to compile a text that is written in the maker's language. Throws DeviceError if no block can run it.
  Ref<Program> load(Program::ProgramTraits traits, const std::string& text);
  const Ref<Stream>& stream() const { return stream_; }
  /// The commands of this thread's stream, or of a certain one that was opened.
  Queue& queue() { return work().queue; }
  Queue& queue(int number) { return work(number).queue; }
  /// Drops the commands and graphs of all streams, as a driver must whose libraries end.
  void forget();
  /// Called once for each stream beside the first, before a thread works on it: for libraries that have one for each.
  virtual void prepare(const Ref<Stream>&) {}

 private:
  /// The parts that each stream has of its own.
  struct Work {
    Work(const Ref<Stream>& of, LibraryCalls& calls)
        : stream(of), uploads(of), downloads(make_ref<Downloads>(of)), queue(of, calls) {}
    const Ref<Stream> stream;
    Uploads uploads;
    const Ref<Downloads> downloads;
    Queue queue;
  };
  Work& work() { return work(gpu::stream_of(*this)); }
  Work& work(int number) { return *work_[static_cast<std::size_t>(number)]; }
  bool when_done(FunctionRef<void()> f, int first = 0);

  const Ref<Stream> stream_;  // the first
  const gpu::Capabilities capabilities_;
  const gpu::Target& target_;
  const Compiler compiler_;
  DeviceMemory memory_;
  std::array<std::unique_ptr<Work>, gpu::kMostStreams> work_;  // by stream; the first is always there
  std::atomic<int> opened_{1};                                 // all before that one are
  Mutex mutex_;
  std::set<DeviceNumber> accessed_;  // devices whose memory was asked for; under the lock
};

/// Bytes of the device's memory that programs may hold: what is free, but for a part that code and the maker's own
/// libraries take later.
std::int64_t usable_memory(const Stream& stream);

}  // namespace kiln::streams
