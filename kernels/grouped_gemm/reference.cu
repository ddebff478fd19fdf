// The same products and the same arguments in plain CUDA C++, group blockIdx.y: 64 x 64 tiles in
// shared memory, 4 x 4 elements per thread, fp32 accumulation in the order of k.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

constexpr int ROW_ELEMENTS = 16 / sizeof(DTYPE);
constexpr int TILE = 64;
constexpr int STEP = 16;
constexpr int PER_THREAD = 4;
constexpr int SIDE = TILE / PER_THREAD;
constexpr int THREADS = SIDE * SIDE;

__device__ int padded(int n)
{
    return (n + ROW_ELEMENTS - 1) / ROW_ELEMENTS * ROW_ELEMENTS;
}

extern "C" __global__ void grouped_gemm_reference(const DTYPE *A, const DTYPE *B,
                                                  const int *OFFSETS, DTYPE *C, int E, int T, int N,
                                                  int K)
{
    __shared__ float a[STEP][TILE + 1];
    __shared__ float b[STEP][TILE];
    const int pitch_a = padded(K);
    const int pitch_n = padded(N);
    const long long begin = OFFSETS[blockIdx.y];
    const int M = OFFSETS[blockIdx.y + 1] - OFFSETS[blockIdx.y];
    A += begin * pitch_a;
    B += (long long)blockIdx.y * K * pitch_n;
    C += begin * pitch_n;
    const int tiles_n = (N + TILE - 1) / TILE;
    const int row0 = blockIdx.x / tiles_n * TILE;
    const int column0 = blockIdx.x % tiles_n * TILE;
    if (row0 >= M)
        return;
    const int x = threadIdx.x % SIDE;
    const int y = threadIdx.x / SIDE;
    float sum[PER_THREAD][PER_THREAD] = {};
    for (int k0 = 0; k0 < K; k0 += STEP) {
        for (int i = threadIdx.x; i < TILE * STEP; i += THREADS) {
            int k = k0 + i % STEP, row = row0 + i / STEP;
            a[i % STEP][i / STEP] =
                k < K && row < M ? float(A[(long long)row * pitch_a + k]) : 0.0f;
        }
        for (int i = threadIdx.x; i < TILE * STEP; i += THREADS) {
            int k = k0 + i / TILE, column = column0 + i % TILE;
            b[i / TILE][i % TILE] =
                k < K && column < pitch_n ? float(B[(long long)k * pitch_n + column]) : 0.0f;
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
                C[(long long)row * pitch_n + column] = DTYPE(sum[i][j]);
        }
    }
}
