// The same and with the same arguments in plain CUDA C++: a block of threads per row and 128
// elements.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

constexpr int BLOCK = 128;
constexpr float LEAST = 0x1p-80f; // maximum of a piece that is not taken for zero

extern "C" __global__ void fp8_quantize_reference(const DTYPE *X, __nv_fp8_e4m3 *Q, float *S, int M,
                                                  int K)
{
    __shared__ float top[BLOCK];
    const int blocks = (K + BLOCK - 1) / BLOCK;
    const long long row = blockIdx.x / blocks;
    const int block = blockIdx.x % blocks;
    const int k = block * BLOCK + threadIdx.x;
    const int pitch = (K + 15) / 16 * 16;
    const float value = k < K ? float(X[row * ((K + 7) / 8 * 8) + k]) : 0.0f;
    top[threadIdx.x] = fabsf(value);
    __syncthreads();
    for (int step = BLOCK / 2; step > 0; step /= 2) {
        if (threadIdx.x < step)
            top[threadIdx.x] = fmaxf(top[threadIdx.x], top[threadIdx.x + step]);
        __syncthreads();
    }
    const float scale = top[0] >= LEAST ? __fdiv_rn(top[0], 448.0f) : 1.0f;
    if (k < pitch)
        Q[row * pitch + k] = __nv_fp8_e4m3(__fdiv_rn(value, scale));
    if (threadIdx.x == 0)
        S[row * blocks + block] = scale;
}
