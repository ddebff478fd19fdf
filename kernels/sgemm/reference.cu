// The same product, one element per thread through 32 x 32 tiles in shared memory.
constexpr int TILE = 32;

extern "C" __global__ void sgemm_reference(const float* A, const float* B, float* C, int M, int N,
                                           int K)
{
    __shared__ float a[TILE][TILE];
    __shared__ float b[TILE][TILE];
    const int x = threadIdx.x, y = threadIdx.y;
    const int tiles_n = (N + TILE - 1) / TILE;
    const long long row = (long long)(blockIdx.x / tiles_n) * TILE + y;
    const long long column = (long long)(blockIdx.x % tiles_n) * TILE + x;
    float sum = 0.0f;
    for (int k0 = 0; k0 < K; k0 += TILE) {
        a[y][x] = row < M && k0 + x < K ? A[row * K + k0 + x] : 0.0f;
        b[y][x] = k0 + y < K && column < N ? B[(k0 + y) * (long long)N + column] : 0.0f;
        __syncthreads();
        for (int k = 0; k < TILE; ++k)
            sum += a[y][k] * b[k][x];
        __syncthreads();
    }
    if (row < M && column < N)
        C[row * N + column] = sum;
}
