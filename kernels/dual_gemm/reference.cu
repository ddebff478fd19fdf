// The same and with the same arguments in plain CUDA C++: 64 x 64 tiles in shared memory, 4 x 4
// elements per thread, fp32 accumulation in the order of k.
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

extern "C" __global__ void dual_gemm_reference(const DTYPE *X, const DTYPE *G, const DTYPE *U,
                                               DTYPE *Y, int M, int N, int K)
{
    __shared__ float x_tile[STEP][TILE + 1];
    __shared__ float g_tile[STEP][TILE + 1];
    __shared__ float u_tile[STEP][TILE + 1];
    const int pitch_k = padded(K);
    const int pitch_n = padded(N);
    const int tiles_n = (N + TILE - 1) / TILE;
    const int row0 = blockIdx.x / tiles_n * TILE;
    const int column0 = blockIdx.x % tiles_n * TILE;
    const int x = threadIdx.x % SIDE;
    const int y = threadIdx.x / SIDE;
    float gate[PER_THREAD][PER_THREAD] = {};
    float up[PER_THREAD][PER_THREAD] = {};
    for (int k0 = 0; k0 < K; k0 += STEP) {
        for (int i = threadIdx.x; i < TILE * STEP; i += THREADS) {
            int k = k0 + i % STEP, row = row0 + i / STEP, column = column0 + i / STEP;
            bool there = k < K && column < N;
            x_tile[i % STEP][i / STEP] =
                k < K && row < M ? float(X[(long long)row * pitch_k + k]) : 0.0f;
            g_tile[i % STEP][i / STEP] = there ? float(G[(long long)column * pitch_k + k]) : 0.0f;
            u_tile[i % STEP][i / STEP] = there ? float(U[(long long)column * pitch_k + k]) : 0.0f;
        }
        __syncthreads();
        for (int k = 0; k < STEP; ++k) {
            for (int i = 0; i < PER_THREAD; ++i) {
                for (int j = 0; j < PER_THREAD; ++j) {
                    gate[i][j] += x_tile[k][y + i * SIDE] * g_tile[k][x + j * SIDE];
                    up[i][j] += x_tile[k][y + i * SIDE] * u_tile[k][x + j * SIDE];
                }
            }
        }
        __syncthreads();
    }
    for (int i = 0; i < PER_THREAD; ++i) {
        for (int j = 0; j < PER_THREAD; ++j) {
            int row = row0 + y + i * SIDE, column = column0 + x + j * SIDE;
            if (row < M && column < pitch_n)
                Y[(long long)row * pitch_n + column] =
                    DTYPE(gate[i][j] / (1.0f + expf(-gate[i][j])) * up[i][j]);
        }
    }
}
