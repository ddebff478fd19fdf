// y = 2 x + 1, or what ends a launch.
enum {
    GOOD,
    NEVER_ENDS,
    ILLEGAL,    // a store to address 0x10
    MISALIGNED, // a 16-byte load at an odd address
    TOO_LARGE,  // a stack of 500 KiB a thread: more than the memory of the GPU for all that fit on it
};

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
    volatile float stack[128000];
    for (int k = 0; k < 128000; k += 1 + (int)(i % 1000))
        stack[k] = value;
    value = stack[i % 1000 == 0 ? 0 : 1 + (int)(i % 1000)];
#endif
    y[i] = value;
}
