// Kernels for gpu_device: some that behave, some that do not.

// Writes count bytes of value from base + offset.
extern "C" __global__ void poke(unsigned char *base, long long offset, long long count, int value)
{
    for (long long i = blockIdx.x * 256LL + threadIdx.x; i < count; i += 256LL * gridDim.x)
        base[offset + i] = (unsigned char)value;
}

extern "C" __global__ void copy(const uint4 *in, uint4 *out, long long count)
{
    for (long long i = blockIdx.x * 256LL + threadIdx.x; i < count; i += 256LL * gridDim.x)
        out[i] = in[i];
}

// Keeps one block busy for about so many ns.
extern "C" __global__ void spin(long long ns)
{
    unsigned long long start, now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(start));
    do
        asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    while (now - start < (unsigned long long)ns);
}

// As clusters, where there are such.
#if __CUDA_ARCH__ >= 900
#define IN_PAIRS __cluster_dims__(2)
#else
#define IN_PAIRS
#endif

// Launches, one after the other.
extern "C" __global__ void IN_PAIRS count_up(int *counter)
{
    extern __shared__ int numbers[];
    numbers[threadIdx.x] = counter[0];
    __syncthreads();
    if (blockIdx.x == 0 && threadIdx.x == 0)
        counter[0] = numbers[0] + 1;
}

extern "C" __global__ void nothing()
{
}

extern "C" __global__ void endless(volatile int *flag)
{
    while (*flag != 12345)
        ;
}

extern "C" __global__ void trap()
{
    __trap();
}

extern "C" __global__ void illegal()
{
    *(volatile int *)0x10 = 1;
}

extern "C" __global__ void misaligned(unsigned char *bytes)
{
    *(volatile int *)(bytes + 1) = 1;
}

extern "C" __global__ void shared_memory(int *out)
{
    extern __shared__ int numbers[];
    numbers[threadIdx.x] = (int)threadIdx.x;
    __syncthreads();
    out[threadIdx.x] = numbers[blockDim.x - 1 - threadIdx.x];
}

// Bounds of 128 threads leave each 255 registers: 1,024 threads do not fit.
extern "C" __global__ void __launch_bounds__(128) wide(float *out, const float *in)
{
    float kept[200];
#pragma unroll
    for (int i = 0; i < 200; i++)
        kept[i] = in[i * 128 + threadIdx.x];
    __syncthreads();
    float sum = 0;
#pragma unroll
    for (int i = 0; i < 200; i++)
        sum += kept[i] * kept[(i * 7 + 3) % 200];
    out[threadIdx.x] = sum;
}

// 32 KiB of local memory per thread: the driver makes room at the first launch.
extern "C" __global__ void stack(int *out, int seed)
{
    int kept[8192];
    for (int i = 0; i < 8192; i++)
        kept[(i * 37 + seed) & 8191] = i;
    int sum = 0;
    for (int i = 0; i < 8192; i++)
        sum += kept[(i * 101 + sum) & 8191];
    out[threadIdx.x] = sum;
}
