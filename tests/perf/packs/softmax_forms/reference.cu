// The same in plain CUDA C++: one block of 256 threads per row, fp32 throughout.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

constexpr int THREADS = 256;

// The maximum (or sum) of one value per thread.
template <bool MAXIMUM> __device__ float reduce(float value)
{
    __shared__ float partial[THREADS];
    partial[threadIdx.x] = value;
    __syncthreads();
    for (int half = THREADS / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) {
            float a = partial[threadIdx.x], b = partial[threadIdx.x + half];
            partial[threadIdx.x] = MAXIMUM ? fmaxf(a, b) : a + b;
        }
        __syncthreads();
    }
    float result = partial[0];
    __syncthreads();
    return result;
}

extern "C" __global__ void softmax_reference(const DTYPE *X, DTYPE *Y, int M, int length)
{
    const long long base = (long long)blockIdx.x * length;
    float top = float(X[base]);
    for (int i = threadIdx.x; i < length; i += THREADS)
        top = fmaxf(top, float(X[base + i]));
    top = reduce<true>(top);
    float sum = 0.0f;
    for (int i = threadIdx.x; i < length; i += THREADS)
        sum += expf(float(X[base + i]) - top);
    sum = reduce<false>(sum);
    for (int i = threadIdx.x; i < length; i += THREADS)
        Y[base + i] = DTYPE(expf(float(X[base + i]) - top) / sum);
}
