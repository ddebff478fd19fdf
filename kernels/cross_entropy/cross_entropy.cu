// LOSS = log(sum(exp(X))) - X[label] for each row of V elements, in CUDA Tile C++, fp32 throughout.
// A block has one row and reads it once, piece by piece. GROUP neighbours of a piece lie in one
// thread, with a running maximum of their own and a sum that is corrected as the maximum grows:
// threads exchange nothing before the end of the row.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_tile.h>

namespace ct = cuda::tiles;

using namespace ct::literals;
using to_zero = ct::round_subnormals_to_zero_t; // exp2 is several times as long with subnormals

#ifndef BLOCK // jobs/block-sweep.yaml finds it
#define BLOCK 8192
#endif
// Where few blocks share a multiprocessor, each has eight warps and loads its next piece while they
// use one: rows are few then.
constexpr bool AHEAD = OCCUPANCY <= 2;
constexpr int WARPS = AHEAD ? 8 : 4;
constexpr int GROUP = 16 / sizeof(DTYPE); // what one load takes
constexpr float LOG2_E = 1.4426950408889634f;
constexpr float LN_2 = 0.6931471805599453f;
constexpr float LOWEST = -1.5e38f; // the maximum of no element: finite, also times LOG2_E

// exp2 of a padding element, minus infinity, is 0: it adds nothing to a sum.
using padding = ct::view_padding_negative_inf_t;
using columns = ct::integral_constant<1>;
using members = ct::integral_constant<2>;
using groups_t = ct::tile<float, ct::shape<1, BLOCK / GROUP, 1>>;
using edge_t = ct::tile<float, ct::shape<1, GROUP>>;
using scalar_t = ct::tile<float, ct::shape<1, 1>>;

struct running {
    groups_t top = ct::full<groups_t>(LOWEST);
    groups_t total = ct::full<groups_t>(0.0f);

    template <typename Piece> __tile__ void add(Piece piece)
    {
        auto value =
            ct::reshape<ct::shape<1, BLOCK / GROUP, GROUP>>(ct::element_cast<float>(piece));
        auto higher = ct::max(top, ct::reduce_max(value, members{}));
        auto shift = higher * LOG2_E;
        total = total * ct::exp2(top * LOG2_E - shift, to_zero{}) +
                ct::sum(ct::exp2(value * LOG2_E - shift, to_zero{}), members{});
        top = higher;
    }
};

// The elements of a row beside its groups: fewer than one has.
__tile__ edge_t edge(const DTYPE *X, int elements)
{
    auto x =
        ct::partition_view{ct::tensor_span{X, ct::extents{1_ic, elements}}, ct::shape<1, GROUP>{}};
    return ct::element_cast<float>(x.load_masked(padding{}, 0, 0));
}

template <typename Tile> __tile__ auto power(Tile value, scalar_t top)
{
    return ct::exp2((value - top) * LOG2_E, to_zero{});
}

extern "C" [[using cutile: hint(0, occupancy = OCCUPANCY,
                                num_worker_warps_per_cta = WARPS)]] __tile_global__ void
cross_entropy(const DTYPE *__restrict__ X, const int *__restrict__ LABELS, float *__restrict__ LOSS,
              int M, int V)
{
    X = ct::assume_aligned<16>(X);
    LOSS = ct::assume_aligned<16>(LOSS);
    int row = ct::bid().x;
    long long start = (long long)row * V;
    float right = float(X[start + LABELS[row]]);

    // Whole groups begin at the first address of the row that 16 bytes divide.
    int before = int((GROUP - start % GROUP) % GROUP);
    before = before < V ? before : V;
    int inner = (V - before) / GROUP * GROUP;
    const DTYPE *first = ct::assume_aligned<16>(X + start + before);
    auto x =
        ct::partition_view{ct::tensor_span{first, ct::extents{1_ic, inner}}, ct::shape<1, BLOCK>{}};
    running sum;
    // Loads without a mask are under way together; with one, each waits for the one before.
    int whole = inner / BLOCK;
    if (AHEAD && whole > 0) {
        [[cutile::hint(0, allow_tma = false)]] auto piece = x.load(0, 0);
        for (int i = 1; i < whole; ++i) {
            [[cutile::hint(0, allow_tma = false)]] auto next = x.load(0, i);
            sum.add(piece);
            piece = next;
        }
        sum.add(piece);
    } else {
        for (int i = 0; i < whole; ++i) {
            [[cutile::hint(0, allow_tma = false)]] auto piece = x.load(0, i);
            sum.add(piece);
        }
    }
    if (inner > whole * BLOCK) {
        [[cutile::hint(0, allow_tma = false)]] auto piece = x.load_masked(padding{}, 0, whole);
        sum.add(piece);
    }

    auto top = ct::reshape<ct::shape<1, 1>>(ct::reduce_max(sum.top, columns{}));
    auto total = ct::full<scalar_t>(0.0f);
    if (V % GROUP != 0) {
        auto head = edge(X + start, before);
        auto tail = edge(X + start + before + inner, V - before - inner);
        top = ct::max(top, ct::reduce_max(ct::max(head, tail), columns{}));
        total = ct::sum(power(head, top) + power(tail, top), columns{});
    }
    auto part = ct::reshape<ct::shape<1, BLOCK / GROUP>>(sum.total) *
                power(ct::reshape<ct::shape<1, BLOCK / GROUP>>(sum.top), top);
    total = total + ct::sum(part, columns{});
    auto loss = ct::partition_view{ct::tensor_span{LOSS, ct::extents{M, 1_ic}}, ct::shape<1, 1>{}};
    loss.store(top + ct::log2(total) * LN_2 - right, row, 0);
}
