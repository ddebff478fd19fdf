"""What libraries.py compares: for each pack its data, its launch, and the library calls that do the same.

An Op belongs to one cell: `sets(i)` makes the tensors of buffer set i, `ours(kernel)` a launch function of
a tilesweep kernel, `peers()` and `tilegym()` are {name: function that makes a launch function} and may use
`all_sets`. Launch functions take the tensors of a set and return the output. `want(*set)` is the right
result in fp32, of the first matrix or head where all would be too large. A launch function with
`as_queue` cannot be a graph; one with `other_result` is not held to `want`.
"""

import math

import library_tilegym

HALF = ("f16", "bf16")


def dtype_of(torch, name):
    return {"f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32,
            "e4m3": torch.float8_e4m3fn, "e5m2": torch.float8_e5m2}[name]


class Op:
    kind = "compute"  # or memory: then a copy of as many bytes is the measure
    queue_beside_tilegym = False  # what runs beside TileGym's kernels must do without graphs, as they must

    def __init__(self, torch, cell):
        self.torch = torch
        self.words = dict(word.split("=") for word in cell.variant.split())
        self.dims = {k: int(v) for k, v in (word.split("=") for word in cell.shape.split())}
        self.dtype = dtype_of(torch, self.words["dtype"])
        self.item = torch.empty(0, dtype=self.dtype).element_size()
        self.all_sets = []

    def make_sets(self, count):
        self.all_sets = [self.sets(i) for i in range(count)]

    def random(self, *shape, seed=1, mean=0.0, deviation=1.0):
        generator = self.torch.Generator(device="cuda").manual_seed(seed)
        value = self.torch.randn(shape, device="cuda", dtype=self.torch.float32, generator=generator)
        return (value * deviation + mean).to(self.dtype)

    def empty(self, *shape, dtype=None):
        return self.torch.empty(shape, device="cuda", dtype=dtype or self.dtype)

    def tilegym(self):
        return {}

    def error(self, output, want):
        return ((output.float() - want.float()).abs().max() / want.float().abs().max()).item()


# ---- matrix products ----


class Matmul(Op):
    def __init__(self, torch, cell):
        super().__init__(torch, cell)
        self.m, self.n, self.k = (self.dims[x] for x in "MNK")
        self.g = self.dims.get("G")
        self.flops = 2 * (self.g or 1) * self.m * self.n * self.k
        self.bytes = self.item * (self.g or 1) * (self.m * self.k + self.k * self.n + self.m * self.n)
        self.runs = self.n % 8 == 0 and self.k % 8 == 0

    def sets(self, i):
        batch = () if self.g is None else (self.g,)
        return (self.random(*batch, self.m, self.k, seed=2 * i),
                self.random(*batch, self.k, self.n, seed=2 * i + 1), self.empty(*batch, self.m, self.n))

    def ours(self, kernel):
        sizes = (self.m, self.n, self.k) if self.g is None else (self.g, self.m, self.n, self.k)

        def launch(a, b, c):
            kernel(a, b, c, *sizes)
            return c

        return launch

    def peers(self):
        product = self.torch.matmul if self.g is None else self.torch.bmm
        return {"cuBLAS": lambda: lambda a, b, c: product(a, b, out=c)}

    def tilegym(self):
        def make():
            if self.g is None:
                from tilegym.ops.cutile.matmul import matmul as product
            else:
                from tilegym.ops.cutile.bmm import bmm as product
            return lambda a, b, c: product(a, b)

        def make_persistent():
            from tilegym.ops.cutile.matmul import matmul

            return lambda a, b, c: matmul(a, b, static_persistent=True)

        return {"TileGym": make} if self.g is not None else {
            "TileGym": make, "TileGym persistent": make_persistent}

    def want(self, a, b, c):
        if self.g is not None:
            a, b = a[:1], b[:1]
        return a.float() @ b.float()

    def error(self, output, want):
        return super().error(output if self.g is None else output[:1], want)


class Fp8Gemm(Op):
    """C = A B^T with a scale for 128 elements of a row of A, and for 128 x 128 elements of B."""

    def __init__(self, torch, cell):
        super().__init__(torch, cell)
        self.m, self.n, self.k = (self.dims[x] for x in "MNK")
        self.flops = 2 * self.m * self.n * self.k
        self.bytes = self.m * self.k + self.n * self.k + 2 * self.m * self.n
        self.runs = self.m % 4 == 0 and self.n % 128 == 0 and self.k % 128 == 0

    def sets(self, i):
        scale = lambda *shape: self.torch.rand(shape, device="cuda") + 0.5
        return (self.random(self.m, self.k, seed=2 * i), self.random(self.n, self.k, seed=2 * i + 1),
                scale(self.k // 128, self.m), scale(self.n // 128, self.k // 128),
                self.empty(self.m, self.n, dtype=self.torch.bfloat16))

    def ours(self, kernel):
        def launch(a, b, a_scale, b_scale, c):
            kernel(a, b, a_scale, b_scale, c, self.m, self.n, self.k)
            return c

        return launch

    def scaled(self, scales, other_result=True):
        """scales(a_scale, b_scale) is called once for each set, before anything is timed."""
        made = {t[0].data_ptr(): scales(t[2], t[3]) for t in self.all_sets}

        def launch(a, b, a_scale, b_scale, c):
            x, y = made[a.data_ptr()]
            return self.torch._scaled_mm(a, b.t(), scale_a=x, scale_b=y, out_dtype=c.dtype)

        launch.other_result = other_result
        return launch

    def peers(self):
        ones = lambda *shape: self.torch.ones(shape, device="cuda")
        return {
            "cuBLAS, the same blocks": lambda: self.scaled(
                lambda a, b: (a.t(), b.t()), other_result=False),
            "cuBLAS, a scale per row (other result)": lambda: self.scaled(
                lambda a, b: (ones(self.m, 1), ones(1, self.n))),
            "cuBLAS, one scale (other result)": lambda: self.scaled(lambda a, b: (ones(), ones())),
        }

    def want(self, a, b, a_scale, b_scale, c):
        x = a.float() * a_scale.t().repeat_interleave(128, 1)
        y = b.float() * b_scale.repeat_interleave(128, 0).repeat_interleave(128, 1)
        return x @ y.t()


class GroupedGemm(Op):
    """T rows in groups of 8 : 4 : 2 : 1 (four of them, else all alike). TileGym's kernel takes lists of
    matrices, which cuda.tile puts on the device at each launch and refuses in a graph."""

    queue_beside_tilegym = True

    def __init__(self, torch, cell):
        super().__init__(torch, cell)
        self.e, self.t, self.n, self.k = (self.dims[x] for x in "ETNK")
        parts = [8, 4, 2, 1] if self.e == 4 else [1] * self.e
        self.rows = [self.t * part // sum(parts) for part in parts]
        self.flops = 2 * self.t * self.n * self.k
        self.bytes = self.item * (self.t * self.k + self.e * self.k * self.n + self.t * self.n)
        self.runs = self.n % 8 == 0 and self.k % 8 == 0 and sum(self.rows) == self.t
        self.configs = [{k: int(v) for k, v in (word.split("=") for word in text.split())}
                        for text in cell.outcomes]

    def sets(self, i):
        ends = self.torch.tensor(self.rows, dtype=self.torch.int32).cumsum(0).to(self.torch.int32)
        offsets = self.torch.cat([ends.new_zeros(1), ends]).cuda()
        return (self.random(self.t, self.k, seed=2 * i), self.random(self.e, self.k, self.n, seed=2 * i + 1),
                offsets, self.empty(self.t, self.n))

    def ours(self, kernel):
        def launch(a, b, offsets, c):
            kernel(a, b, offsets, c, self.e, self.t, self.n, self.k)
            return c

        return launch

    def peers(self):
        def loop(a, b, offsets, c):
            for part, matrix, out in zip(a.split(self.rows), b, c.split(self.rows)):
                self.torch.matmul(part, matrix, out=out)
            return c

        found = {"cuBLAS, one call per group": lambda: loop}
        if self.words["dtype"] == "bf16":
            ends = {t[2].data_ptr(): t[2][1:].clone() for t in self.all_sets}
            found["torch._grouped_mm"] = lambda: lambda a, b, offsets, c: self.torch._grouped_mm(
                a, b, offs=ends[offsets.data_ptr()])
        return found

    def tilegym(self):
        def parts():
            return {a.data_ptr(): (list(a.split(self.rows)), list(b.unbind()), list(c.split(self.rows)))
                    for a, b, _, c in self.all_sets}

        def make():
            from tilegym.ops.cutile.group_gemm import group_gemm

            made = parts()
            return lambda a, b, offsets, c: group_gemm(*made[a.data_ptr()][:2])

        def make_ours():
            return library_tilegym.group_gemm(self.torch, self.all_sets, parts(), self.configs)

        return {"TileGym": make, "TileGym, our configs": make_ours}

    def want(self, a, b, offsets, c):
        return self.torch.cat([x.float() @ y.float() for x, y in zip(a.split(self.rows), b)])

    def error(self, output, want):
        if isinstance(output, (list, tuple)):
            output = self.torch.cat(list(output))
        return super().error(output, want)


# ---- attention ----


class Fmha(Op):
    def __init__(self, torch, cell):
        super().__init__(torch, cell)
        self.b, self.h, self.hk, self.s, self.d = (self.dims[x] for x in ("B", "H", "HK", "S", "D"))
        self.causal = self.words.get("causal") == "1"
        pairs = self.s * (self.s + 1) // 2 if self.causal else self.s * self.s
        self.flops = 4 * self.b * self.h * pairs * self.d
        self.bytes = 2 * self.item * self.b * (self.h + self.hk) * self.s * self.d
        self.runs = self.words["dtype"] in HALF

    def sets(self, i):
        return (self.random(self.b, self.h, self.s, self.d, seed=3 * i),
                self.random(self.b, self.hk, self.s, self.d, seed=3 * i + 1),
                self.random(self.b, self.hk, self.s, self.d, seed=3 * i + 2),
                self.empty(self.b, self.h, self.s, self.d))

    def ours(self, kernel):
        sizes = (self.b, self.h, self.hk, self.s, self.h // self.hk, 1 / math.sqrt(self.d))

        def launch(q, k, v, o):
            kernel(q, k, v, o, *sizes)
            return o

        return launch

    def peers(self):
        from torch.nn.attention import SDPBackend, sdpa_kernel

        def make(backend):
            def launch(q, k, v, o):
                with sdpa_kernel(backend):
                    return self.torch.nn.functional.scaled_dot_product_attention(
                        q, k, v, is_causal=self.causal, enable_gqa=self.h != self.hk)

            return launch

        return {"SDPA flash": lambda: make(SDPBackend.FLASH_ATTENTION),
                "SDPA cuDNN": lambda: make(SDPBackend.CUDNN_ATTENTION)}

    def tilegym(self):
        def make():
            from tilegym.ops.cutile.attention import tile_fmha

            return lambda q, k, v, o: tile_fmha(q, k, v, is_causal=self.causal)

        return {"TileGym": make}

    def want(self, q, k, v, o):
        """Of the first head; the output of a query is a mean of values."""
        scores = q[0, 0].float() @ k[0, 0].float().t() / math.sqrt(self.d)
        if self.causal:
            rows = self.torch.arange(self.s, device="cuda")
            scores.masked_fill_(rows[None, :] > rows[:, None], -math.inf)
        return scores.softmax(-1) @ v[0, 0].float()

    def error(self, output, want):
        return super().error(output[0, 0], want)


# ---- memory-bound ----


class Rows(Op):
    """Kernels over rows. eager is what torch does; torch.compile makes a kernel of it for this shape."""

    kind = "memory"
    inputs = outputs = 1  # elements read and written for each of M N
    has_weight = has_bias = False

    def __init__(self, torch, cell):
        super().__init__(torch, cell)
        self.m, self.n = self.dims["M"], self.dims.get("N", self.dims.get("V"))
        self.flops = 0
        self.bytes = self.item * (self.inputs + self.outputs) * self.m * self.n
        self.runs = True

    def sets(self, i):
        return (self.random(self.m, self.inputs * self.n, seed=i), self.random(self.n, seed=1000 + i,
                mean=1, deviation=0.1), self.random(self.n, seed=2000 + i, deviation=0.1),
                self.empty(self.m, self.n))

    def ours(self, kernel):
        def launch(x, w, b, y):
            tensors = (x, *((w,) if self.has_weight else ()), *((b,) if self.has_bias else ()), y)
            kernel(*tensors, self.m, self.n, *((1e-5,) if self.has_weight else ()))
            return y

        return launch

    def peers(self):
        def compiled():
            self.torch._dynamo.reset()
            function = self.torch.compile(self.eager, dynamic=False)
            return lambda x, w, b, y: function(x, w, b)

        return {"torch eager": lambda: lambda x, w, b, y: self.eager(x, w, b),
                "torch.compile": compiled}

    def want(self, x, w, b, y):
        return self.eager(x.float(), w.float(), b.float())


class LayerNorm(Rows):
    has_weight = has_bias = True

    def eager(self, x, w, b):
        return self.torch.nn.functional.layer_norm(x, (self.n,), w, b, 1e-5)


class RmsNorm(Rows):
    has_weight = True

    def eager(self, x, w, b):
        return self.torch.nn.functional.rms_norm(x, (self.n,), w, 1e-5)

    def tilegym(self):
        def make():
            from tilegym.ops.cutile.rms_norm import rms_norm

            return lambda x, w, b, y: rms_norm(x, (self.n,), w, 1e-5)

        return {"TileGym": make, "TileGym, tuned": lambda: library_tilegym.rms_norm(
            self.torch, self.all_sets, 1e-5)}


class Softmax(Rows):
    def eager(self, x, w, b):
        return self.torch.softmax(x, -1)

    def tilegym(self):
        def make():
            from tilegym.ops.cutile.softmax import softmax

            return lambda x, w, b, y: softmax(x)

        return {"TileGym": make}


class Swiglu(Rows):
    inputs = 2

    def eager(self, x, w, b):
        return self.torch.nn.functional.silu(x[:, :self.n]) * x[:, self.n:]

    def tilegym(self):
        def make():
            from tilegym.ops.cutile.silu_and_mul import silu_and_mul

            return lambda x, w, b, y: silu_and_mul(x, y)

        return {"TileGym": make}


class Geglu(Rows):
    inputs = 2

    def eager(self, x, w, b):
        return self.torch.nn.functional.gelu(x[:, :self.n], approximate="tanh") * x[:, self.n:]


class CrossEntropy(Rows):
    outputs = 0

    def sets(self, i):
        labels = self.torch.randint(self.n, (self.m,), device="cuda")
        return (self.random(self.m, self.n, seed=i), labels, labels.int(),
                self.empty(self.m, dtype=self.torch.float32))

    def ours(self, kernel):
        def launch(x, labels, labels_i32, loss):
            kernel(x, labels_i32, loss, self.m, self.n)
            return loss

        return launch

    def eager(self, x, labels, labels_i32):
        return self.torch.nn.functional.cross_entropy(x, labels, reduction="none")

    def want(self, x, labels, labels_i32, loss):
        return self.eager(x.float(), labels, labels_i32)


OPS = {"matmul": Matmul, "matmul_persistent": Matmul, "bmm": Matmul, "fp8_gemm": Fp8Gemm,
       "grouped_gemm": GroupedGemm, "fmha": Fmha, "layernorm": LayerNorm, "rmsnorm": RmsNorm,
       "softmax": Softmax, "swiglu": Swiglu, "geglu": Geglu, "cross_entropy": CrossEntropy}
