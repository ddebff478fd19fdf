extern "C" __global__ void neighbours_reference(const float *x, float *y, long long n)
{
    long long i = blockIdx.x * 256LL + threadIdx.x;
    if (i < n)
        y[i] = 2.0f * x[i] + 1.0f;
}
