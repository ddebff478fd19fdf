// kernels/fp8_quantize, one piece per block, with the division that APPROXIMATE chooses.
#include <cuda_fp8.h>
#include <cuda_tile.h>

namespace ct = cuda::tiles;

constexpr int BLOCK = 128;
constexpr int ROWS = 16;
constexpr float LARGEST = 448.0f;

using columns = ct::integral_constant<1>;
using column_t = ct::tile<float, ct::shape<ROWS, 1>>;

template <int ELEMENTS> __tile__ int padded(int n)
{
    return (n + ELEMENTS - 1) / ELEMENTS * ELEMENTS;
}

template <typename A, typename B> __tile__ auto divide(A a, B b)
{
    if constexpr (APPROXIMATE)
        return ct::div(a, b, ct::round_approximate_t{}, ct::round_subnormals_to_zero_t{});
    else
        return a / b;
}

extern "C" __tile_global__ void quantize_fault(const DTYPE *__restrict__ X,
                                               __nv_fp8_e4m3 *__restrict__ Q,
                                               float *__restrict__ S, int M, int K)
{
    X = ct::assume_aligned<16>(X);
    Q = ct::assume_aligned<16>(Q);
    int blocks = (K + BLOCK - 1) / BLOCK;
    auto layout = ct::layout_strided_mapping{ct::extents{M, K},
                                             ct::strides{padded<8>(K), ct::integral_constant<1>{}}};
    auto x = ct::partition_view{ct::tensor_span{X, layout}, ct::shape<ROWS, BLOCK>{}};
    auto q = ct::partition_view{ct::tensor_span{Q, ct::extents{M, padded<16>(K)}},
                                ct::shape<ROWS, BLOCK>{}};
    auto s = ct::partition_view{ct::tensor_span{S, ct::extents{M, blocks}}, ct::shape<ROWS, 1>{}};
    int i = ct::bid().x;
    int row = i / blocks;
    int block = i % blocks;
    auto value = ct::element_cast<float>(x.load_masked(row, block));
    auto top = ct::reduce_max(ct::max(value, -value), columns{});
    auto scale = ct::select(top > 0.0f, top / LARGEST, ct::full<column_t>(1.0f));
    q.store_masked(ct::element_cast<__nv_fp8_e4m3>(divide(value, scale)), row, block);
    s.store_masked(scale, row, block);
}
