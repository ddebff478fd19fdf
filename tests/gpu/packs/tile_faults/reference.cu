#include <cuda_fp16.h>

extern "C" __global__ void tile_faults_reference(const DTYPE *a, const DTYPE *b, DTYPE *c, int M,
                                                 int N, int K)
{
    int j = blockIdx.x * 32 + threadIdx.x;
    int i = blockIdx.y * 32 + threadIdx.y;
    if (i >= M || j >= N)
        return;
    float sum = 0.0f;
    for (int t = 0; t < K; t++)
        sum += __half2float(a[(long long)i * K + t]) * __half2float(b[(long long)t * N + j]);
    c[(long long)i * N + j] = __float2half(sum);
}
