extern "C" __global__ void faults_reference(const float *x, float *y, long long n)
{
    long long i = blockIdx.x * 256LL + threadIdx.x;
    if (i >= n)
        return;
    float sum = 0.0f;
    for (int k = 0; k < 16; k++)
        sum += x[(i + k) % n];
    y[i] = sum;
}
