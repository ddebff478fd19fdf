// C = A B in fp32 on the CUDA cores, in plain CUDA C++: a block makes a TILE_M x TILE_N tile, a
// thread THREAD_M x THREAD_N elements of it in registers. Steps of TILE_K go through two buffers in
// shared memory, so that loading the next step overlaps the products of this one.
//
// Occupancy is a launch bound; NUM_CTAS neighbouring blocks form a cluster (sm_90 and later).

constexpr int GROUP = 8; // rows of tiles that share the columns of B while these are in L2
constexpr int THREADS_M = TILE_M / THREAD_M;
constexpr int THREADS_N = TILE_N / THREAD_N;
constexpr int THREADS = THREADS_M * THREADS_N;
constexpr int PAD = 4; // keeps rows 16-byte aligned and spreads the transposed stores over banks
constexpr int LOADS_A = TILE_M * TILE_K / THREADS;
constexpr int LOADS_B = TILE_N * TILE_K / THREADS;

static_assert(LOADS_A * THREADS == TILE_M * TILE_K && THREADS % TILE_K == 0, "whole loads of A");
static_assert(LOADS_B * THREADS == TILE_N * TILE_K && THREADS % TILE_N == 0, "whole loads of B");
static_assert(THREAD_M % 4 == 0 && THREAD_N % 4 == 0, "a thread's elements come in vectors of 4");

struct Step {
    float a[LOADS_A];
    float b[LOADS_B];
};

struct Tile {
    float a[TILE_K][TILE_M + PAD]; // transposed: a column of A is a row here
    float b[TILE_K][TILE_N];
};

// What a thread loads of A or of B: COUNT elements, one per ROWS rows, of a matrix of height x width.
// Offsets fit in 32 bits (max_elements of the pack).
template <int COUNT, int ROWS>
__device__ __forceinline__ void fetch(const float* matrix, int height, int width, int row,
                                      int column, float (&out)[COUNT])
{
    const float* at = matrix + row * width + column;
#pragma unroll
    for (int i = 0; i < COUNT; ++i)
        out[i] = row + i * ROWS < height && column < width ? at[i * ROWS * width] : 0.0f;
}

__device__ __forceinline__ void keep(const Step& step, Tile& tile)
{
#pragma unroll
    for (int i = 0; i < LOADS_A; ++i) {
        int at = threadIdx.x + i * THREADS;
        tile.a[at % TILE_K][at / TILE_K] = step.a[i];
    }
#pragma unroll
    for (int i = 0; i < LOADS_B; ++i) {
        int at = threadIdx.x + i * THREADS;
        tile.b[at / TILE_N][at % TILE_N] = step.b[i];
    }
}

// COUNT values of a row: vectors of 4, SIDE vectors apart, so that a warp reads without conflicts.
template <int COUNT, int SIDE>
__device__ __forceinline__ void pick(const float* row, int thread, float (&out)[COUNT])
{
#pragma unroll
    for (int i = 0; i < COUNT; i += 4) {
        float4 v = *reinterpret_cast<const float4*>(row + (i / 4 * SIDE + thread) * 4);
        out[i] = v.x, out[i + 1] = v.y, out[i + 2] = v.z, out[i + 3] = v.w;
    }
}

__device__ __forceinline__ void multiply(const Tile& tile, int y, int x,
                                         float (&sum)[THREAD_M][THREAD_N])
{
#pragma unroll
    for (int k = 0; k < TILE_K; ++k) {
        float a[THREAD_M], b[THREAD_N];
        pick<THREAD_M, THREADS_M>(tile.a[k], y, a);
        pick<THREAD_N, THREADS_N>(tile.b[k], x, b);
#pragma unroll
        for (int i = 0; i < THREAD_M; ++i) {
#pragma unroll
            for (int j = 0; j < THREAD_N; ++j)
                sum[i][j] += a[i] * b[j];
        }
    }
}

#if NUM_CTAS > 1
#define CLUSTER __cluster_dims__(NUM_CTAS, 1, 1)
#else
#define CLUSTER
#endif

extern "C" __global__ CLUSTER __launch_bounds__(THREADS, OCCUPANCY)
void sgemm(const float* __restrict__ A, const float* __restrict__ B, float* __restrict__ C, int M,
           int N, int K)
{
    __shared__ alignas(16) Tile tiles[2];
    const int tiles_m = (M + TILE_M - 1) / TILE_M;
    const int tiles_n = (N + TILE_N - 1) / TILE_N;
    const int group_size = GROUP * tiles_n;
    const int id = blockIdx.x;
    const int first = id / group_size * GROUP;
    const int height = min(tiles_m - first, GROUP);
    if (id >= tiles_m * tiles_n) // the grid is rounded up to whole clusters
        return;
    const int row0 = (first + id % group_size % height) * TILE_M;
    const int column0 = id % group_size / height * TILE_N;
    const int row_a = row0 + threadIdx.x / TILE_K, k_a = threadIdx.x % TILE_K;
    const int column_b = column0 + threadIdx.x % TILE_N, k_b = threadIdx.x / TILE_N;
    const int x = threadIdx.x % THREADS_N;
    const int y = threadIdx.x / THREADS_N;

    float sum[THREAD_M][THREAD_N] = {};
    Step step;
    fetch<LOADS_A, THREADS / TILE_K>(A, M, K, row_a, k_a, step.a);
    fetch<LOADS_B, THREADS / TILE_N>(B, K, N, k_b, column_b, step.b);
    keep(step, tiles[0]);
    __syncthreads();
    int current = 0;
#pragma unroll 1
    for (int k = TILE_K; k < K + TILE_K; k += TILE_K) { // the last step fetches zeros
        fetch<LOADS_A, THREADS / TILE_K>(A, M, K, row_a, k + k_a, step.a);
        fetch<LOADS_B, THREADS / TILE_N>(B, K, N, k + k_b, column_b, step.b);
        multiply(tiles[current], y, x, sum);
        current ^= 1;
        keep(step, tiles[current]);
        __syncthreads();
    }

#pragma unroll
    for (int i = 0; i < THREAD_M; ++i) {
        const int row = row0 + (i / 4 * THREADS_M + y) * 4 + i % 4;
#pragma unroll
        for (int j = 0; j < THREAD_N; ++j) {
            const int column = column0 + (j / 4 * THREADS_N + x) * 4 + j % 4;
            if (row < M && column < N)
                C[row * N + column] = sum[i][j];
        }
    }
}
