#include "kiln/backend/cuda/cudnn.hpp"

namespace kiln::cuda::cudnn {

Api::Api(const SharedLibrary& library) {
  library.find("cudnnGetVersion", get_version);
  library.find("cudnnCreate", create);
  library.find("cudnnDestroy", destroy);
  library.find("cudnnSetStream", set_stream);
  library.find("cudnnGetErrorString", get_error_string);
  library.find("cudnnBackendCreateDescriptor", descriptor_create);
  library.find("cudnnBackendDestroyDescriptor", descriptor_destroy);
  library.find("cudnnBackendFinalize", descriptor_finalize);
  library.find("cudnnBackendSetAttribute", descriptor_set);
  library.find("cudnnBackendGetAttribute", descriptor_get);
  library.find("cudnnBackendExecute", execute);
}

const Api& api() {
  static const SharedLibrary library("cuda", "convolves", {"libcudnn.so.9"}, "install NVIDIA's cuDNN 9");
  static const Api opened(library);
  return opened;
}

}  // namespace kiln::cuda::cudnn
