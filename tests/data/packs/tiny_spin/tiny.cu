// As tiny_cuda, but the fake NVRTC of the tests never ends on one config.
// FAKE: nvrtc_spin when THREADS=256
#ifdef THREADS
extern "C" __global__ void __launch_bounds__(THREADS) tiny_spin(const float* X, float* Y, int N)
{
    long long i = (long long)blockIdx.x * THREADS + threadIdx.x;
    if (i < N)
        Y[i] = 2.0f * X[i];
}
#endif
extern "C" __global__ void tiny_reference(const float* X, float* Y, int N)
{
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < N)
        Y[i] = 2.0f * X[i];
}
