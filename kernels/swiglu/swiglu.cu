// Y = silu(G) * U, element by element, in CUDA Tile C++. X has rows of 2 N elements: N of G, then N
// of U, as one matmul leaves them. A block has one piece of one row.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_tile.h>

namespace ct = cuda::tiles;

using to_zero = ct::round_subnormals_to_zero_t; // exp2 is several times as long with subnormals

#ifndef BLOCK // jobs/block-sweep.yaml finds it; the grid of kernel.yaml has it too
#define BLOCK 1024
#endif
constexpr float LOG2_E = 1.4426950408889634f;
constexpr int ROW_ELEMENTS = 16 / sizeof(DTYPE);

template <typename Size> __tile__ void gate(const DTYPE *X, DTYPE *Y, int M, Size N)
{
    using namespace ct::literals;
    auto x =
        ct::partition_view{ct::tensor_span{X, ct::extents{M, 2_ic, N}}, ct::shape<1, 1, BLOCK>{}};
    auto y =
        ct::partition_view{ct::tensor_span{Y, ct::extents{M, 1_ic, N}}, ct::shape<1, 1, BLOCK>{}};
    int blocks = (N + BLOCK - 1) / BLOCK;
    int row = ct::bid().x / blocks;
    int column = ct::bid().x % blocks;
    auto g = ct::element_cast<float>(x.load_masked(row, 0, column));
    auto u = ct::element_cast<float>(x.load_masked(row, 1, column));
    auto power =
        ct::exp2(g * -LOG2_E, to_zero{}); // infinite where g is far below 0: the quotient is -0
    auto silu = ct::div(g, 1.0f + power, ct::round_approximate_t{}, to_zero{});
    auto result = ct::element_cast<DTYPE>(silu * u);
    [[cutile::hint(0, allow_tma = false)]] y.store_masked(result, row, 0, column);
}

extern "C" [[using cutile: hint(0, occupancy = OCCUPANCY)]] __tile_global__ void
swiglu(const DTYPE *__restrict__ X, DTYPE *__restrict__ Y, int M, int N)
{
    X = ct::assume_aligned<16>(X);
    Y = ct::assume_aligned<16>(Y);
    // The product tells the compiler that all rows are aligned; an assumption would leak into the
    // other branch.
    if (N % ROW_ELEMENTS == 0)
        gate(X, Y, M, N / ROW_ELEMENTS * ROW_ELEMENTS);
    else
        gate(X, Y, M, N);
}
