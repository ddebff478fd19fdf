// The same in plain CUDA C++: one thread per element, fp32 throughout.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

extern "C" __global__ void swiglu_reference(const DTYPE *X, DTYPE *Y, int M, int N)
{
    const long long i = blockIdx.x * 256ll + threadIdx.x;
    if (i >= (long long)M * N)
        return;
    const long long row = i / N * 2 * N;
    const float g = float(X[row + i % N]);
    const float u = float(X[row + N + i % N]);
    Y[i] = DTYPE(g / (1.0f + expf(-g)) * u);
}
