// Attention, forward, in CUDA Tile C++: O = softmax(Q K^T / sqrt(D)) V for each head, fp32
// throughout but for the operands of the two products.
//
// Q and O are B x H x S x D, K and V are B x HK x S x D; `group` heads of Q share one of K and V.
// With FLAG_CAUSAL a query sees the keys up to its own position. A block has TILE_M queries of one
// head and walks over the keys, TILE_N at a time, with a running maximum and sum: first the tiles
// that all of its queries see whole, then those that need a mask.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <cuda_tile.h>

namespace ct = cuda::tiles;

constexpr int D = DIM_D;
constexpr float LOG2_E = 1.4426950408889634f;

// Loads that the compiler starts ahead: a value is needed only after its weights. Without these,
// keys and values have one buffer each, and a block alone on its multiprocessor waits.
constexpr int KEY_LATENCY = 2;
constexpr int VALUE_LATENCY = 4;

constexpr float LOWEST =
    -1e30f; // below every score; exp2 of it is 0, and no difference of two is a NaN

using scores_t = ct::tile<float, ct::shape<TILE_M, TILE_N>>;
using column_t = ct::tile<float, ct::shape<TILE_M, 1>>;
using output_t = ct::tile<float, ct::shape<TILE_M, D>>;
using keys = ct::integral_constant<1>;
using to_zero = ct::round_subnormals_to_zero_t; // exp2 is several times as long with subnormals

// What a block knows after some tiles of keys. The maximum is in units of the exponent of exp2.
struct state {
    column_t top;
    column_t total;
    output_t output;
};

// One more tile of keys. Each query sees a key of its first tile, so that the weights of the keys
// that it does not see, with the score LOWEST, are 0.
template <typename Value>
__tile__ void add_tile(state &s, scores_t scores, Value value, float scale)
{
    auto top = ct::max(s.top, ct::reduce_max(scores, keys{}) * scale);
    auto weight = ct::exp2(scores * scale - top, to_zero{});
    auto correction = ct::exp2(s.top - top, to_zero{});
    s.total = s.total * correction + ct::sum(weight, keys{});
    s.output = ct::mma(ct::element_cast<DTYPE>(weight), value, s.output * correction);
    s.top = top;
}

// True where the query of the row sees the key of the column.
__tile__ auto seen(int first_query, int first_key, int S)
{
    auto key =
        first_key + ct::reshape<ct::shape<1, TILE_N>>(ct::iota<ct::tile<int, ct::shape<TILE_N>>>());
    auto last = ct::full<ct::tile<int, ct::shape<TILE_M, 1>>>(S - 1);
    if constexpr (FLAG_CAUSAL)
        last = ct::min(last, first_query + ct::reshape<ct::shape<TILE_M, 1>>(
                                               ct::iota<ct::tile<int, ct::shape<TILE_M>>>()));
    return key <= last;
}

// Warps that compute. A block that has the multiprocessor to itself gets eight for a large tile:
// four would hold twice as much of it each, and spill. Where accumulators are not in registers
// (sm_100 and sm_103) four do.
constexpr int WARPS = OCCUPANCY == 1 && TILE_M >= 128 ? 8 : 4;

// Whether the scores of the next keys are begun before the weights of these are made, so that the
// tensor cores have work meanwhile: for the tile that gained by it on sm_90 and still has registers
// for the scores of two tiles beside the output.
constexpr bool AHEAD = sizeof(DTYPE) == 2 && TILE_M <= 64 && TILE_N == 128 && D <= 128;

extern "C" [[using cutile: hint(0, occupancy = OCCUPANCY, num_cta_in_cga = NUM_CTAS,
                                num_worker_warps_per_cta = WARPS),
             hint(1000, num_worker_warps_per_cta = 4),
             hint(1030, num_worker_warps_per_cta = 4)]] __tile_global__ void
fmha(const DTYPE *__restrict__ Q, const DTYPE *__restrict__ K, const DTYPE *__restrict__ V,
     DTYPE *__restrict__ O, int B, int H, int HK, int S, int group, float scale)
{
    Q = ct::assume_aligned<16>(Q);
    K = ct::assume_aligned<16>(K);
    V = ct::assume_aligned<16>(V);
    O = ct::assume_aligned<16>(O);
    scale = scale * LOG2_E; // exp2 is cheaper than exp
    ct::integral_constant<D> width;
    auto many = ct::extents{B * H, S, width};
    auto few = ct::extents{B * HK, S, width};
    auto q = ct::partition_view{ct::tensor_span{Q, many}, ct::shape<1, TILE_M, D>{}};
    auto k = ct::partition_view{ct::tensor_span{K, few}, ct::shape<1, TILE_N, D>{}};
    auto v = ct::partition_view{ct::tensor_span{V, few}, ct::shape<1, TILE_N, D>{}};
    auto o = ct::partition_view{ct::tensor_span{O, many}, ct::shape<1, TILE_M, D>{}};

    int head = ct::bid().y;
    int shared_head = head / H * HK + head % H / group;
    int tile = ct::bid().x;
    int steps = (S + TILE_N - 1) / TILE_N;
    int whole = S / TILE_N;
    if constexpr (FLAG_CAUSAL) {
        // The longest first, so that no block is left alone at the end.
        int tiles = ct::num_blocks().x;
        tile = tiles - 1 - tile;
        int reach = (tile * TILE_M + TILE_M + TILE_N - 1) / TILE_N;
        steps = reach < steps ? reach : steps;
        whole = (tile * TILE_M + 1) / TILE_N;
    }

    auto query = ct::reshape<ct::shape<TILE_M, D>>(q.load_masked(head, tile, 0));
    state s{ct::full<column_t>(LOWEST), ct::full<column_t>(0.0f), ct::full<output_t>(0.0f)};
    // To add a product of fp8 to 0 takes an addition for each element, to -0 none: x + -0 is x. With
    // 16 bits it is 0 that costs nothing.
    auto zero = ct::full<scores_t>(sizeof(DTYPE) == 1 ? -0.0f : 0.0f);
    if constexpr (AHEAD) {
        // The last tile has no next one and goes with those that need a mask.
        int plain = whole < steps ? whole : steps - 1;
        [[cutile::hint(0, latency = KEY_LATENCY)]] auto first_key =
            ct::reshape<ct::shape<TILE_N, D>>(k.load_masked(shared_head, 0, 0));
        auto scores = ct::mma(query, ct::transpose(first_key), zero);
        for (int i = 0; i < plain; ++i) {
            [[cutile::hint(0, latency = KEY_LATENCY)]] auto key =
                ct::reshape<ct::shape<TILE_N, D>>(k.load_masked(shared_head, i + 1, 0));
            auto next = ct::mma(query, ct::transpose(key), zero);
            [[cutile::hint(0, latency = VALUE_LATENCY)]] auto value =
                ct::reshape<ct::shape<TILE_N, D>>(v.load_masked(shared_head, i, 0));
            add_tile(s, scores, value, scale);
            scores = next;
        }
        for (int i = plain; i < steps; ++i) {
            [[cutile::hint(0, latency = VALUE_LATENCY)]] auto value =
                ct::reshape<ct::shape<TILE_N, D>>(v.load_masked(shared_head, i, 0));
            auto hidden = ct::full<scores_t>(LOWEST);
            add_tile(s, ct::select(seen(tile * TILE_M, i * TILE_N, S), scores, hidden), value,
                     scale);
            if (i + 1 < steps) {
                [[cutile::hint(0, latency = KEY_LATENCY)]] auto key =
                    ct::reshape<ct::shape<TILE_N, D>>(k.load_masked(shared_head, i + 1, 0));
                scores = ct::mma(query, ct::transpose(key), zero);
            }
        }
    } else {
        for (int i = 0; i < whole; ++i) {
            [[cutile::hint(0, latency = KEY_LATENCY)]] auto key =
                ct::reshape<ct::shape<TILE_N, D>>(k.load_masked(shared_head, i, 0));
            [[cutile::hint(0, latency = VALUE_LATENCY)]] auto value =
                ct::reshape<ct::shape<TILE_N, D>>(v.load_masked(shared_head, i, 0));
            add_tile(s, ct::mma(query, ct::transpose(key), zero), value, scale);
        }
        for (int i = whole; i < steps; ++i) {
            [[cutile::hint(0, latency = KEY_LATENCY)]] auto key =
                ct::reshape<ct::shape<TILE_N, D>>(k.load_masked(shared_head, i, 0));
            [[cutile::hint(0, latency = VALUE_LATENCY)]] auto value =
                ct::reshape<ct::shape<TILE_N, D>>(v.load_masked(shared_head, i, 0));
            auto scores = ct::mma(query, ct::transpose(key), zero);
            auto hidden = ct::full<scores_t>(LOWEST);
            add_tile(s, ct::select(seen(tile * TILE_M, i * TILE_N, S), scores, hidden), value,
                     scale);
        }
    }
    auto result = ct::div(s.output, s.total, ct::round_approximate_t{}, to_zero{});
    o.store_masked(ct::reshape<ct::shape<1, TILE_M, D>>(ct::element_cast<DTYPE>(result)), head,
                   tile, 0);
}
