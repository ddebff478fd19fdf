// y = 2 x + 1, or what ends a launch.
enum {
    GOOD,
    NEVER_ENDS,
    ILLEGAL,    // a store to address 0x10
    MISALIGNED, // a 16-byte load at an odd address
    TOO_LARGE,  // a global array that no GPU has room for
};

#if BAD == 4
__device__ float hog[1ull << 37];
#endif

extern "C" __global__ void __launch_bounds__(THREADS) neighbours(float *x, float *y, long long n)
{
    long long i = blockIdx.x * (long long)THREADS + threadIdx.x;
    if (i >= n)
        return;
    float value = 2.0f * x[i] + 1.0f;
    if (BAD == NEVER_ENDS) {
        volatile float *never = x;
        while (never[i] != 12345.0f)
            ;
    }
    if (BAD == ILLEGAL && i == 0)
        *(volatile float *)0x10 = value;
    if (BAD == MISALIGNED && i == 0) {
        float4 load;
        asm volatile("ld.global.v4.f32 {%0, %1, %2, %3}, [%4];"
                     : "=f"(load.x), "=f"(load.y), "=f"(load.z), "=f"(load.w)
                     : "l"((const char *)x + 4)
                     : "memory");
        value += load.x + load.y + load.z + load.w;
    }
#if BAD == 4
    value += hog[i];
#endif
    y[i] = value;
}
