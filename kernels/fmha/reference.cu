// The same in plain CUDA C++, fp32 throughout: a block has 16 queries of one head and walks over
// the keys, 16 at a time, with a running maximum and sum. Thread (r, c) has the score of query r
// and key c, and every 16th element of query r's output.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

constexpr int D = DIM_D;
constexpr int SIDE = 16;

extern "C" __global__ void fmha_reference(const DTYPE *Q, const DTYPE *K, const DTYPE *V, DTYPE *O,
                                          int B, int H, int HK, int S, int group, float scale)
{
    __shared__ float query[SIDE][D + 1];
    __shared__ DTYPE key[SIDE][D + 2];
    __shared__ DTYPE value[SIDE][D + 2];
    const int tiles = (S + SIDE - 1) / SIDE;
    const int head = blockIdx.x / tiles;
    const int first = blockIdx.x % tiles * SIDE;
    const int c = threadIdx.x % SIDE;
    const int r = threadIdx.x / SIDE;
    const int row = first + r;
    const DTYPE *q = Q + (long long)head * S * D;
    const long long shared_head = head / H * HK + head % H / group;
    const DTYPE *k = K + shared_head * S * D;
    const DTYPE *v = V + shared_head * S * D;

    for (int i = c; i < D; i += SIDE)
        query[r][i] = row < S ? float(q[(long long)row * D + i]) * scale : 0.0f;
    float top = -1e30f;
    float total = 0.0f;
    float output[D / SIDE] = {};
    const int end = FLAG_CAUSAL && first + SIDE < S ? first + SIDE : S;
    for (int k0 = 0; k0 < end; k0 += SIDE) {
        __syncthreads();
        for (int i = c; i < D; i += SIDE) {
            bool there = k0 + r < S;
            key[r][i] = there ? k[(long long)(k0 + r) * D + i] : DTYPE(0.0f);
            value[r][i] = there ? v[(long long)(k0 + r) * D + i] : DTYPE(0.0f);
        }
        __syncthreads();
        float score = 0.0f;
        for (int i = 0; i < D; ++i)
            score += query[r][i] * float(key[c][i]);
        if (k0 + c >= S || (FLAG_CAUSAL && k0 + c > row))
            score = -1e30f;
        float higher = fmaxf(top, score);
        for (int step = SIDE / 2; step > 0; step /= 2)
            higher = fmaxf(higher, __shfl_xor_sync(0xffffffff, higher, step));
        const float weight = expf(score - higher);
        float sum = weight;
        for (int step = SIDE / 2; step > 0; step /= 2)
            sum += __shfl_xor_sync(0xffffffff, sum, step);
        const float correction = expf(top - higher);
        total = total * correction + sum;
        top = higher;
        for (int j = 0; j < D / SIDE; ++j)
            output[j] *= correction;
        for (int n = 0; n < SIDE; ++n) {
            const float w = __shfl_sync(0xffffffff, weight, n, SIDE);
            for (int j = 0; j < D / SIDE; ++j)
                output[j] += w * float(value[n][c + j * SIDE]);
        }
    }
    if (row < S) {
        for (int j = 0; j < D / SIDE; ++j)
            O[((long long)head * S + row) * D + c + j * SIDE] = DTYPE(output[j] / total);
    }
}
