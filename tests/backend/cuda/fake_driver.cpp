// libcuda.so.1 and NVRTC over the host's memory, so that what talks to them can be tested without a GPU: a thread for each
// stream does what it is asked for, late and in order, while others do theirs: only events keep streams apart, and tests may
// have some take their time. Kernels do nothing but are noted; one that has "guilty" in its name makes an error of the kind
// that stays.
#include "tests/backend/cuda/fake_driver.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace {

constexpr int kSuccess = 0, kInvalidValue = 1, kOutOfMemory = 2, kInvalidContext = 201, kNotFound = 500,
              kNotReady = 600, kIllegalAddress = 700, kUnknown = 999;
constexpr std::size_t kTotal = std::size_t{2} << 30;  // several drivers' libraries have 256 MiB each

std::atomic<int> error_of_all = kSuccess, microseconds_of_first = 50, microseconds_of_side = 50,
                 microseconds_of_second = 50;

std::atomic<bool> copies_refused = false;  // the next

/// What a stream was asked for while it was recorded.
struct Graph {
  void* stream;
  std::vector<std::function<void()>> tasks{};
};

class Worker;
thread_local Worker* asked_last = nullptr;  // by this thread

/// What a stream's handle points to.
class Worker {
 public:
  Worker(bool is_side, bool is_second) : is_side_(is_side), is_second_(is_second) {}
  std::atomic<int> microseconds_of_own = -1;  // negative: those of its kind
  Graph* recording = nullptr;                 // of the thread that uses the stream: others record theirs
  std::uint64_t push(std::function<void()> job) {
    asked_last = this;
    const std::lock_guard lock(mutex_);
    if (!started_) std::thread([this] { run(); }).detach();
    started_ = true;
    jobs_.push_back(std::move(job));
    changed_.notify_all();
    return ++asked_;
  }
  std::uint64_t asked() {
    const std::lock_guard lock(mutex_);
    return asked_;
  }
  bool is_done(std::uint64_t job) {
    const std::lock_guard lock(mutex_);
    return done_ >= job;
  }
  void wait(std::uint64_t job) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return done_ >= job; });
  }

 private:
  void run() {
    for (;;) {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return !jobs_.empty(); });
      const std::function<void()> job = std::move(jobs_.front());
      jobs_.pop_front();
      lock.unlock();
      const int own = microseconds_of_own;
      const std::atomic<int>& kind = is_side_     ? microseconds_of_side
                                     : is_second_ ? microseconds_of_second
                                                  : microseconds_of_first;
      std::this_thread::sleep_for(std::chrono::microseconds(own >= 0 ? own : kind.load()));
      if (error_of_all == kSuccess) job();
      lock.lock();
      ++done_;
      changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> jobs_;
  std::uint64_t asked_ = 0, done_ = 0;
  bool started_ = false;
  const bool is_side_, is_second_;
};

Worker& worker_of(void* stream) { return *static_cast<Worker*>(stream); }

std::mutex mutex;                           // of what follows
auto& workers = *new std::vector<Worker*>;  // never destroyed: their threads outlive main()
void wait_for_all() {
  std::vector<Worker*> all;
  {
    const std::lock_guard lock(mutex);
    all = workers;
  }
  for (Worker* const each : all) each->wait(each->asked());
}
struct Block {
  std::size_t bytes;
  void* context;
};
std::map<unsigned long long, Block> blocks;
/// The context whose memory that is; null if none's is.
void* context_of(unsigned long long address) {
  const std::lock_guard lock(mutex);
  auto after = blocks.upper_bound(address);
  if (after == blocks.begin()) return nullptr;
  const auto& [start, block] = *--after;
  return address < start + block.bytes ? block.context : nullptr;
}
std::size_t taken = 0;
FakeLaunch last_launch{};
std::atomic<int> launches = 0, pinned = 0, programs = 0, peers = 0;

std::atomic<double> now = 0;  // ms
struct Event {
  /// Where it was recorded last.
  struct Mark {
    Worker* worker = nullptr;
    std::uint64_t job = 0;
    bool is_done() const { return !worker || worker->is_done(job); }
    void wait() const {
      if (worker) worker->wait(job);
    }
  };
  Mark mark() {
    const std::lock_guard lock(mutex);
    return last;
  }
  std::mutex mutex;
  Mark last;
  // Outlives the event, as its stream may come to it later.
  const std::shared_ptr<std::atomic<double>> when = std::make_shared<std::atomic<double>>(0);
};

int contexts[2];  // their addresses are the handles of the devices' contexts
thread_local void* current = nullptr;

bool is_context(const void* handle) { return handle == &contexts[0] || handle == &contexts[1]; }
int state() { return is_context(current) ? error_of_all.load() : kInvalidContext; }

std::atomic<int> graphs = 0;  // that were started

int at_once_or_recorded(void* stream, std::function<void()> task) {
  if (const int problem = state()) return problem;
  if (Graph* const graph = worker_of(stream).recording) graph->tasks.push_back(std::move(task));
  else task();
  return kSuccess;
}
int later(void* stream, std::function<void()> job) {
  return at_once_or_recorded(stream, [stream, job = std::move(job)] { worker_of(stream).push(job); });
}

struct Function {
  std::string name;
  int most_shared_bytes = 48 << 10;
  std::size_t parameters = 0;
};
struct Module {
  std::string text;
  std::list<Function> functions{};
};

struct Source {
  std::string text, log;
};

FakeLaunch launch_of(const Function& launched, unsigned blocks, unsigned threads, unsigned shared_bytes,
                     std::uint64_t first) {
  FakeLaunch launch{{}, blocks, threads, shared_bytes, first};
  std::copy_n(launched.name.c_str(), std::min(launched.name.size(), sizeof(launch.name) - 1), launch.name);
  return launch;
}
void note_launch(void* stream, const FakeLaunch& launch) {
  {
    const std::lock_guard lock(mutex);
    last_launch = launch;
    ++launches;
  }
  worker_of(stream).push([is_guilty = std::string_view(launch.name).find("guilty") != std::string_view::npos] {
    if (is_guilty) error_of_all = kIllegalAddress;
  });
}

/// CUDA_KERNEL_NODE_PARAMS_v2
struct FakeKernelNode {
  void* function;
  unsigned grid[3], block[3], shared_bytes;
  void** parameters;
};

}  // namespace

extern "C" {

int cuInit(unsigned) { return kSuccess; }
int cuGetExportTable(const void**, const void*) { return kNotFound; }  // which a real NVRTC looks for
int cuGetErrorName(int error, const char** name) {
  *name = error == kOutOfMemory      ? "CUDA_ERROR_OUT_OF_MEMORY"
          : error == kIllegalAddress ? "CUDA_ERROR_ILLEGAL_ADDRESS"
                                     : "CUDA_ERROR_OTHER";
  return kSuccess;
}
int cuGetErrorString(int error, const char** words) {
  *words = error == kIllegalAddress ? "an illegal memory access was encountered" : "something else";
  return kSuccess;
}
int cuDriverGetVersion(int* version) {
  *version = 12040;
  return kSuccess;
}
int cuDeviceGetCount(int* count) {
  *count = 2;
  return kSuccess;
}
int cuDeviceGet(int* device, int ordinal) {
  *device = ordinal;
  return kSuccess;
}
int cuDeviceGetAttribute(int* value, int attribute, int) {
  *value = attribute == 16 ? 132 : attribute == 75 ? 9 : attribute == 95 ? 1 : attribute == 97 ? 232448 : 0;
  return kSuccess;
}
int cuDeviceGetName(char* name, int bytes, int) {
  std::strncpy(name, "a GPU that is none", static_cast<std::size_t>(bytes));
  return kSuccess;
}
int cuDeviceGetUuid_v2(char* id, int device) {
  std::memset(id, 0, 16);
  id[0] = static_cast<char>(device);
  return kSuccess;
}
int cuDevicePrimaryCtxRetain(void** made, int device) {
  *made = &contexts[device];
  return kSuccess;
}
int cuDevicePrimaryCtxRelease_v2(int) { return kSuccess; }
int cuCtxGetCurrent(void** found) {
  *found = current;
  return kSuccess;
}
int cuCtxSetCurrent(void* wanted) {
  current = wanted;
  return kSuccess;
}

int cuCtxGetStreamPriorityRange(int* least, int* greatest) {
  *least = 0;
  *greatest = -5;
  return state();
}
int cuStreamCreateWithPriority(void** stream, unsigned, int priority) {
  const std::lock_guard lock(mutex);
  workers.push_back(new Worker(priority < 0, current == &contexts[1]));
  *stream = workers.back();
  return state();
}
int cuStreamDestroy_v2(void*) { return kSuccess; }
int cuStreamSynchronize(void* stream) {
  worker_of(stream).wait(worker_of(stream).asked());
  return state();
}
int cuStreamWaitEvent(void* stream, void* event, unsigned) {
  worker_of(stream).push([mark = static_cast<Event*>(event)->mark()] { mark.wait(); });
  return state();
}
int cuEventCreate(void** event, unsigned) {
  *event = new Event;
  return state();
}
int cuEventDestroy_v2(void* event) {
  delete static_cast<Event*>(event);
  return kSuccess;
}
int cuEventRecord(void* event, void* stream) {
  auto& recorded = *static_cast<Event*>(event);
  const std::lock_guard lock(recorded.mutex);
  recorded.last = {&worker_of(stream), worker_of(stream).push([when = recorded.when] { *when = now.load(); })};
  return state();
}
int cuEventQuery(void* event) { return !static_cast<Event*>(event)->mark().is_done() ? kNotReady : state(); }
int cuEventSynchronize(void* event) {
  static_cast<Event*>(event)->mark().wait();
  return state();
}
int cuEventElapsedTime(float* milliseconds, void* from, void* to) {
  *milliseconds = static_cast<float>(*static_cast<Event*>(to)->when - *static_cast<Event*>(from)->when);
  return state();
}

int cuMemGetInfo_v2(std::size_t* free, std::size_t* total) {
  const std::lock_guard lock(mutex);
  *free = kTotal - taken;
  *total = kTotal;
  return state();
}
int cuMemAlloc_v2(unsigned long long* address, std::size_t bytes) {
  if (const int problem = state()) return problem;
  const std::lock_guard lock(mutex);
  if (bytes > kTotal - taken) return kOutOfMemory;
  *address = reinterpret_cast<unsigned long long>(std::aligned_alloc(256, (bytes + 255) / 256 * 256));
  blocks[*address] = {bytes, current};
  taken += bytes;
  return kSuccess;
}
int cuMemFree_v2(unsigned long long address) {
  wait_for_all();
  const std::lock_guard lock(mutex);
  const auto block = blocks.find(address);
  if (block == blocks.end()) return kInvalidValue;
  taken -= block->second.bytes;
  blocks.erase(block);
  std::free(reinterpret_cast<void*>(address));
  return kSuccess;
}
int cuMemHostAlloc(void** memory, std::size_t bytes, unsigned) {
  *memory = std::malloc(bytes);
  ++pinned;
  return state();
}
int cuMemFreeHost(void* memory) {
  std::free(memory);
  --pinned;
  return state();
}
int cuMemcpyHtoDAsync_v2(unsigned long long to, const void* from, std::size_t bytes, void* stream) {
  return later(stream, [=] { std::memcpy(reinterpret_cast<void*>(to), from, bytes); });
}
int cuMemcpyDtoHAsync_v2(void* to, unsigned long long from, std::size_t bytes, void* stream) {
  return later(stream, [=] { std::memcpy(to, reinterpret_cast<void*>(from), bytes); });
}
int cuMemcpyDtoDAsync_v2(unsigned long long to, unsigned long long from, std::size_t bytes, void* stream) {
  if (copies_refused.exchange(false)) return kUnknown;
  if (context_of(to) != context_of(from)) return kInvalidValue;
  return later(stream, [=] { std::memmove(reinterpret_cast<void*>(to), reinterpret_cast<void*>(from), bytes); });
}
int cuDeviceCanAccessPeer(int* can, int device, int other) {
  *can = device != other;
  return kSuccess;
}
int cuCtxEnablePeerAccess(void* other, unsigned) {
  return is_context(other) && other != current ? state() : kInvalidContext;
}
int cuMemcpyPeerAsync(unsigned long long to, void* to_context, unsigned long long from, void* from_context,
                      std::size_t bytes, void* stream) {
  if (context_of(to) != to_context || context_of(from) != from_context || to_context == from_context)
    return kInvalidValue;
  ++peers;
  return later(stream, [=] { std::memcpy(reinterpret_cast<void*>(to), reinterpret_cast<void*>(from), bytes); });
}
int cuMemsetD8Async(unsigned long long start, unsigned char value, std::size_t bytes, void* stream) {
  return later(stream, [=] { std::memset(reinterpret_cast<void*>(start), value, bytes); });
}

int cuModuleLoadData(void** module, const void* image) {
  *module = new Module{.text = static_cast<const char*>(image)};
  return state();
}
int cuModuleUnload(void* module) {
  delete static_cast<Module*>(module);
  return kSuccess;
}
int cuModuleGetFunction(void** function, void* module, const char* name) {
  const std::string& text = static_cast<Module*>(module)->text;
  const bool is_code = text.starts_with("\177ELF");  // of a real compiler
  if (!is_code && text.find(std::string(" ") + name + "(") == std::string::npos) return kNotFound;
  *function = &static_cast<Module*>(module)->functions.emplace_back(Function{name});
  const std::size_t begin = text.find(std::string(" ") + name + "("), end = text.find(')', begin);
  if (begin != std::string::npos && text[end - 1] != '(')
    static_cast<Function*>(*function)->parameters =
        1 + static_cast<std::size_t>(std::count(&text[begin], &text[end], ','));
  return state();
}
int cuFuncSetAttribute(void* function, int attribute, int value) {
  if (attribute != 8) return kInvalidValue;
  static_cast<Function*>(function)->most_shared_bytes = value;
  return state();
}
int cuFuncGetParamInfo(void* function, std::size_t index, std::size_t* offset, std::size_t* bytes) {
  *offset = 8 * index;
  *bytes = 8;
  return index < static_cast<Function*>(function)->parameters ? kSuccess : kInvalidValue;
}
int cuLaunchKernel(void* function, unsigned grid, unsigned, unsigned, unsigned block, unsigned, unsigned,
                   unsigned shared_bytes, void* stream, void** parameters, void**) {
  const auto& launched = *static_cast<Function*>(function);
  if (static_cast<int>(shared_bytes) > launched.most_shared_bytes) return kInvalidValue;
  std::uint64_t first = 0;
  std::memcpy(&first, parameters[0], sizeof(first));
  return at_once_or_recorded(stream, [stream, launch = launch_of(launched, grid, block, shared_bytes, first)] {
    note_launch(stream, launch);
  });
}

int cuLaunchCooperativeKernel(void* function, unsigned grid, unsigned y, unsigned z, unsigned block, unsigned block_y,
                              unsigned block_z, unsigned shared_bytes, void* stream, void** parameters) {
  return cuLaunchKernel(function, grid, y, z, block, block_y, block_z, shared_bytes, stream, parameters, nullptr);
}

int cuLaunchHostFunc(void* stream, void (*function)(void*), void* data) {
  return later(stream, [=] { function(data); });
}

// ---- graphs: lists of launches ---------------------------------------------------------------------------------------

int cuStreamBeginCapture_v2(void* stream, int) {
  if (worker_of(stream).recording) return kInvalidValue;
  worker_of(stream).recording = new Graph{.stream = stream};
  return state();
}
int cuStreamGetCaptureInfo_v2(void* stream, int* status, std::uint64_t*, void**, const void* const** last,
                              std::size_t* count) {
  static thread_local const void* node;
  const auto& tasks = worker_of(stream).recording->tasks;
  node = reinterpret_cast<const void*>(tasks.size());  // counted from 1
  *status = 1;
  *last = &node;
  *count = tasks.empty() ? 0 : 1;
  return kSuccess;
}
int cuStreamEndCapture(void* stream, void** graph) {
  *graph = std::exchange(worker_of(stream).recording, nullptr);
  return state();
}
int cuGraphInstantiateWithFlags(void** executable, void* graph, unsigned long long) {
  *executable = new Graph(*static_cast<Graph*>(graph));
  return state();
}
int cuGraphExecKernelNodeSetParams_v2(void* executable, void* node, const FakeKernelNode* kernel) {
  void* const stream = static_cast<Graph*>(executable)->stream;
  auto& task = static_cast<Graph*>(executable)->tasks.at(reinterpret_cast<std::size_t>(node) - 1);
  const auto& launched = *static_cast<Function*>(kernel->function);
  std::uint64_t first = 0;
  std::memcpy(&first, kernel->parameters[0], sizeof(first));
  task = [stream, launch = launch_of(launched, kernel->grid[0], kernel->block[0], kernel->shared_bytes, first)] {
    note_launch(stream, launch);
  };
  return state();
}
int cuGraphLaunch(void* executable, void*) {
  for (const auto& task : static_cast<Graph*>(executable)->tasks) task();
  ++graphs;
  return state();
}
int cuGraphDestroy(void* graph) {
  delete static_cast<Graph*>(graph);
  return kSuccess;
}
int cuGraphExecDestroy(void* executable) {
  delete static_cast<Graph*>(executable);
  return kSuccess;
}

// ---- NVRTC: text is its own code ------------------------------------------------------------------------------------

int nvrtcVersion(int* major, int* minor) {
  *major = 99;
  *minor = 1;
  return kSuccess;
}
const char* nvrtcGetErrorString(int result) { return result == 6 ? "NVRTC_ERROR_COMPILATION" : "NVRTC_SUCCESS"; }
int nvrtcCreateProgram(void** program, const char* text, const char*, int, const char* const*, const char* const*) {
  *program = new Source{text, ""};
  return kSuccess;
}
int nvrtcDestroyProgram(void** program) {
  delete static_cast<Source*>(*program);
  *program = nullptr;
  return kSuccess;
}
int nvrtcCompileProgram(void* program, int, const char* const*) {
  ++programs;
  auto& source = *static_cast<Source*>(program);
  if (source.text.find("#error") == std::string::npos) return kSuccess;
  source.log = "an #error in line 1\n";
  return 6;
}
int nvrtcGetProgramLogSize(void* program, std::size_t* size) {
  *size = static_cast<Source*>(program)->log.size() + 1;
  return kSuccess;
}
int nvrtcGetProgramLog(void* program, char* log) {
  std::strcpy(log, static_cast<Source*>(program)->log.c_str());
  return kSuccess;
}
int nvrtcGetCUBINSize(void* program, std::size_t* size) {
  *size = static_cast<Source*>(program)->text.size() + 1;
  return kSuccess;
}
int nvrtcGetCUBIN(void* program, char* code) {
  std::strcpy(code, static_cast<Source*>(program)->text.c_str());
  return kSuccess;
}

// ---- for tests ------------------------------------------------------------------------------------------------------

/// Lets the device's clock go on, which stands still by itself.
void kiln_fake_spend(double milliseconds) { now = now + milliseconds; }

/// How long each thing takes, of the stream that a device has first and of those beside it.
void kiln_fake_pace(int microseconds, int microseconds_beside) {
  microseconds_of_first = microseconds_of_second = microseconds;
  microseconds_of_side = microseconds_beside;
}

/// How long each thing takes on the first device and on the second.
void kiln_fake_paces(int microseconds, int microseconds_on_second) {
  microseconds_of_first = microseconds;
  microseconds_of_second = microseconds_on_second;
}

/// How long each thing takes of the stream that this thread has asked last; negative: what it takes without that.
void kiln_fake_pace_mine(int microseconds) {
  if (asked_last) asked_last->microseconds_of_own = microseconds;
}

/// The next copy on a device cannot be started.
void kiln_fake_refuse_copy() { copies_refused = true; }

FakeState kiln_fake_state() {
  const std::lock_guard lock(mutex);
  return {last_launch, launches, graphs, pinned, programs, peers, taken};
}

}  // extern "C"
