// The same and with the same arguments in plain CUDA C++: 64 x 64 tiles in shared memory, 4 x 4
// elements per thread, scaled as they are loaded, fp32 accumulation in the order of k.
#include <cuda_bf16.h>
#include <cuda_fp8.h>

constexpr int BLOCK = 128;
constexpr int TILE = 64;
constexpr int STEP = 16;
constexpr int PER_THREAD = 4;
constexpr int SIDE = TILE / PER_THREAD;
constexpr int THREADS = SIDE * SIDE;

__device__ int padded(int n, int elements)
{
    return (n + elements - 1) / elements * elements;
}

extern "C" __global__ void fp8_gemm_reference(const DTYPE *A, const DTYPE *B, const float *A_SCALE,
                                              const float *B_SCALE, __nv_bfloat16 *C, int M, int N,
                                              int K)
{
    __shared__ float a[STEP][TILE + 1];
    __shared__ float b[STEP][TILE + 1];
    const int pitch_k = padded(K, 16);
    const int pitch_n = padded(N, 8);
    const int pitch_m = padded(M, 4); // of A's scales
    const int scales = (K + BLOCK - 1) / BLOCK;
    const int tiles_n = (N + TILE - 1) / TILE;
    const int row0 = blockIdx.x / tiles_n * TILE;
    const int column0 = blockIdx.x % tiles_n * TILE;
    const int x = threadIdx.x % SIDE;
    const int y = threadIdx.x / SIDE;
    float sum[PER_THREAD][PER_THREAD] = {};
    for (int k0 = 0; k0 < K; k0 += STEP) {
        for (int i = threadIdx.x; i < TILE * STEP; i += THREADS) {
            int k = k0 + i % STEP, row = row0 + i / STEP, column = column0 + i / STEP;
            a[i % STEP][i / STEP] = 0.0f;
            b[i % STEP][i / STEP] = 0.0f;
            if (k < K && row < M)
                a[i % STEP][i / STEP] = float(A[(long long)row * pitch_k + k]) *
                                        A_SCALE[(long long)(k / BLOCK) * pitch_m + row];
            if (k < K && column < N)
                b[i % STEP][i / STEP] = float(B[(long long)column * pitch_k + k]) *
                                        B_SCALE[(long long)(column / BLOCK) * scales + k / BLOCK];
        }
        __syncthreads();
        for (int k = 0; k < STEP; ++k) {
            for (int i = 0; i < PER_THREAD; ++i) {
                for (int j = 0; j < PER_THREAD; ++j)
                    sum[i][j] += a[k][y + i * SIDE] * b[k][x + j * SIDE];
            }
        }
        __syncthreads();
    }
    for (int i = 0; i < PER_THREAD; ++i) {
        for (int j = 0; j < PER_THREAD; ++j) {
            int row = row0 + y + i * SIDE, column = column0 + x + j * SIDE;
            if (row < M && column < pitch_n)
                C[(long long)row * pitch_n + column] = __nv_bfloat16(sum[i][j]);
        }
    }
}
