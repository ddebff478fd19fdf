// LOSS = log(sum(exp(X))) - X[label] for each row of V elements, in CUDA Tile C++, fp32 throughout.
// A block has one row and reads it once, piece by piece, with a running maximum and a sum that is
// corrected as the maximum grows.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_tile.h>

namespace ct = cuda::tiles;

using to_zero = ct::round_subnormals_to_zero_t; // exp2 is several times as long with subnormals

#ifndef BLOCK // jobs/block-sweep.yaml finds it
#define BLOCK 2048
#endif
constexpr int ROW_ELEMENTS = 16 / sizeof(DTYPE);
constexpr float LOG2_E = 1.4426950408889634f;
constexpr float LN_2 = 0.6931471805599453f;

// exp2 of a padding element, minus infinity, is 0: it adds nothing to a sum.
using padding = ct::view_padding_negative_inf_t;
using columns = ct::integral_constant<1>;

template <typename Size>
__tile__ void lose(const DTYPE *X, const int *LABELS, float *LOSS, int M, Size V)
{
    auto x = ct::partition_view{ct::tensor_span{X, ct::extents{M, V}}, ct::shape<1, BLOCK>{}};
    auto loss = ct::partition_view{
        ct::tensor_span{LOSS, ct::extents{M, ct::integral_constant<1>{}}}, ct::shape<1, 1>{}};
    int blocks = (V + BLOCK - 1) / BLOCK;
    int row = ct::bid().x;
    // The first block always has elements of the row, so the maximum is finite from there on.
    auto value = ct::element_cast<float>(x.load_masked(padding{}, row, 0)) * LOG2_E;
    auto top = ct::reduce_max(value, columns{});
    auto total = ct::sum(ct::exp2(value - top, to_zero{}), columns{});
    for (int i = 1; i < blocks; ++i) {
        auto next = ct::element_cast<float>(x.load_masked(padding{}, row, i)) * LOG2_E;
        auto higher = ct::max(top, ct::reduce_max(next, columns{}));
        total = total * ct::exp2(top - higher, to_zero{}) +
                ct::sum(ct::exp2(next - higher, to_zero{}), columns{});
        top = higher;
    }
    long long place = (long long)row * V + LABELS[row];
    float right = float(X[place]);
    loss.store_masked((top + ct::log2(total)) * LN_2 - right, row, 0);
}

extern "C" [[using cutile: hint(0, occupancy = OCCUPANCY)]] __tile_global__ void
cross_entropy(const DTYPE *__restrict__ X, const int *__restrict__ LABELS, float *__restrict__ LOSS,
              int M, int V)
{
    X = ct::assume_aligned<16>(X);
    LOSS = ct::assume_aligned<16>(LOSS);
    // The product tells the compiler that all rows are aligned; an assumption would leak into the
    // other branch.
    if (V % ROW_ELEMENTS == 0)
        lose(X, LABELS, LOSS, M, V / ROW_ELEMENTS * ROW_ELEMENTS);
    else
        lose(X, LABELS, LOSS, M, V);
}
