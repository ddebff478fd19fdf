// y = sum of 16 neighbours of x, with one planted fault per value of FAULT. FAULT 0 is right.
#include <cuda_fp16.h>

enum {
    GOOD,
    PAST_ONE,      // a store one element past the output
    PAST_4K,       // 4 KiB past
    PAST_1M,       // 1 MiB past
    BEFORE,        // one element before the output
    HALF_WRITTEN,  // the second half is never written
    YIELDS_NAN,
    WRONG_SUM,     // one of the 16 terms is left out
    TRAPS,
    NEVER_ENDS,
    ILLEGAL,       // address 0x10
    MISALIGNED,    // a 16-byte load at an odd address
    WRITES_INPUT,
    GOOD_TOO,      // as GOOD, other code: the good configs must stay unharmed
};

extern "C" __global__ void __launch_bounds__(256) faults(float *x, float *y, long long n)
{
    long long i = blockIdx.x * 256LL + threadIdx.x;
    if (i >= n)
        return;
    float sum = 0.0f;
#pragma unroll(FAULT == GOOD_TOO ? 1 : 16)
    for (int k = 0; k < 16; k++) {
        if (FAULT == WRONG_SUM && k == 7)
            continue;
        sum += x[(i + k) % n];
    }
    if (FAULT == YIELDS_NAN && i == n / 3)
        sum = __int_as_float(0x7fc00000);
    if (FAULT == TRAPS && i == 0)
        __trap();
    if (FAULT == NEVER_ENDS) {
        volatile float *never = x;
        while (never[i] != 12345.0f)
            ;
    }
    if (FAULT == ILLEGAL && i == 0)
        *(volatile float *)0x10 = sum;
    if (FAULT == MISALIGNED && i == 0) {
        float4 load; // in PTX: of C++ the compiler would keep the 4 bytes that are used
        asm volatile("ld.global.v4.f32 {%0, %1, %2, %3}, [%4];"
                     : "=f"(load.x), "=f"(load.y), "=f"(load.z), "=f"(load.w)
                     : "l"((const char *)x + 4)
                     : "memory");
        sum += load.x + load.y + load.z + load.w;
    }
    if (FAULT == WRITES_INPUT && i == n - 1)
        x[i] = sum;
    if (FAULT == HALF_WRITTEN && i >= n / 2)
        return;
    y[i] = sum;
    if (i == 0) {
        if (FAULT == PAST_ONE)
            y[n] = 1.0f;
        if (FAULT == PAST_4K)
            y[n + 1024] = 1.0f;
        if (FAULT == PAST_1M)
            y[n + 262144] = 1.0f;
        if (FAULT == BEFORE)
            y[-1] = 1.0f;
    }
}
