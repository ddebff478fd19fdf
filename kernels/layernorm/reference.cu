// The same in plain CUDA C++: one block of 256 threads per row, fp32 throughout.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

constexpr int THREADS = 256;

// The sum of one value per thread.
__device__ float sum_of(float value)
{
    __shared__ float partial[THREADS];
    partial[threadIdx.x] = value;
    __syncthreads();
    for (int half = THREADS / 2; half > 0; half /= 2) {
        if (threadIdx.x < half)
            partial[threadIdx.x] += partial[threadIdx.x + half];
        __syncthreads();
    }
    float result = partial[0];
    __syncthreads();
    return result;
}

extern "C" __global__ void layernorm_reference(const DTYPE *X, const DTYPE *W, const DTYPE *B,
                                               DTYPE *Y, int M, int length, float EPS)
{
    const long long base = (long long)blockIdx.x * length;
    float sum = 0.0f;
    for (int i = threadIdx.x; i < length; i += THREADS)
        sum += float(X[base + i]);
    const float mean = sum_of(sum) / float(length);
    float squares = 0.0f;
    for (int i = threadIdx.x; i < length; i += THREADS) {
        float centred = float(X[base + i]) - mean;
        squares += centred * centred;
    }
    const float scale = 1.0f / sqrtf(sum_of(squares) / float(length) + EPS);
    for (int i = threadIdx.x; i < length; i += THREADS)
        Y[base + i] = DTYPE((float(X[base + i]) - mean) * scale * float(W[i]) + float(B[i]));
}
