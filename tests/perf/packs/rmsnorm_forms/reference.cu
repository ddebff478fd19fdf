// The same in plain CUDA C++: one block of 256 threads per row, fp32 throughout.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

constexpr int THREADS = 256;

extern "C" __global__ void rmsnorm_reference(const DTYPE* X, const DTYPE* W, DTYPE* Y, int M, int N,
                                             float EPS)
{
    __shared__ float partial[THREADS];
    const long long base = (long long)blockIdx.x * N;
    float sum = 0.0f;
    for (int i = threadIdx.x; i < N; i += THREADS) {
        float value = float(X[base + i]);
        sum += value * value;
    }
    partial[threadIdx.x] = sum;
    __syncthreads();
    for (int half = THREADS / 2; half > 0; half /= 2) {
        if (threadIdx.x < half)
            partial[threadIdx.x] += partial[threadIdx.x + half];
        __syncthreads();
    }
    const float scale = 1.0f / sqrtf(partial[0] / float(N) + EPS);
    for (int i = threadIdx.x; i < N; i += THREADS)
        Y[base + i] = DTYPE(float(X[base + i]) * scale * float(W[i]));
}
