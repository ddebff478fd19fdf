// The same in plain CUDA C++: one block of 128 threads per head, fp32 throughout. Y may be X.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

constexpr int HALF = DIM_D / 2;
constexpr int THREADS = 128;

extern "C" __global__ void rope_reference(const DTYPE* X, DTYPE* Y, const float* COS,
                                          const float* SIN, int S, int H)
{
    const long long head = (long long)blockIdx.x * DIM_D;
    const long long angle = (long long)(blockIdx.x / H) * HALF;
    for (int i = threadIdx.x; i < HALF; i += THREADS) {
        float a = float(X[head + i]);
        float b = float(X[head + HALF + i]);
        float c = COS[angle + i];
        float s = SIN[angle + i];
        Y[head + i] = DTYPE(a * c - b * s);
        Y[head + HALF + i] = DTYPE(b * c + a * s);
    }
}
