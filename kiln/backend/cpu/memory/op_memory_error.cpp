#include "kiln/backend/cpu/memory/op_memory_error.hpp"

#include <new>

#include "kiln/backend/cpu/memory/memory.hpp"
#include "kiln/backend/cpu/memory/packed.hpp"

namespace kiln::cpu {

void with_op_in_memory_error(FunctionRef<std::string()> name, FunctionRef<void()> body) {
  try {
    body();
  } catch (const MemoryError& error) {
    fail<MemoryError>(name(), ": ", error.message());
  } catch (const std::bad_alloc&) {
    forget_packed();
    release_memory();
    fail<MemoryError>(name(), ": cpu: the system gives no more memory: ", memory_report());
  }
}

}  // namespace kiln::cpu
