#include "kiln/backend/cuda/cublas.hpp"

namespace kiln::cuda::cublas {

Api::Api(const SharedLibrary& library) {
  library.find("cublasLtCreate", create);
  library.find("cublasLtDestroy", destroy);
  library.find("cublasLtGetVersion", get_version);
  library.find("cublasLtGetStatusString", get_status_string);
  library.find("cublasLtMatrixLayoutCreate", layout_create);
  library.find("cublasLtMatrixLayoutDestroy", layout_destroy);
  library.find("cublasLtMatrixLayoutSetAttribute", layout_set);
  library.find("cublasLtMatmulDescCreate", description_create);
  library.find("cublasLtMatmulDescDestroy", description_destroy);
  library.find("cublasLtMatmulDescSetAttribute", description_set);
  library.find("cublasLtMatmulPreferenceCreate", preference_create);
  library.find("cublasLtMatmulPreferenceDestroy", preference_destroy);
  library.find("cublasLtMatmulPreferenceSetAttribute", preference_set);
  library.find("cublasLtMatmulAlgoGetHeuristic", get_heuristic);
  library.find("cublasLtMatmulAlgoCheck", check);
  library.find("cublasLtMatmul", matmul);
}

const Api& api() {
  static const SharedLibrary library("cuda", "multiplies matrices", {"libcublasLt.so.13", "libcublasLt.so.12"},
                                     "install NVIDIA's CUDA toolkit (Debian: libcublaslt12)");
  static const Api opened(library);
  return opened;
}

}  // namespace kiln::cuda::cublas
