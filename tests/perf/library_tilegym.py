"""TileGym's kernels under cuda.tile.tune where its own functions leave values out: its rms_norm searches
nothing, its group_gemm two configs. Each function here takes all buffer sets of a cell, searches on the first,
and returns a launch function of the best. They call the wheel's kernels by name, so by its version
(requirements.txt)."""

import importlib

SPACE_ROWS = (1, 2, 4)  # of a tile; the wheel's choice for these lengths is 4, for 16384 and more 2
SPACE_PIECES = (2048, 8192)  # of a row that is read twice; the wheel's choice is 2048
SPACE_OCCUPANCIES = (1, 2, 4)


def module(name):
    """A module of the wheel; functions of the same names hide them from `import`."""
    return importlib.import_module(f"tilegym.ops.cutile.{name}")


def search(torch, what, space, launch_of, first):
    """The best of `space`. launch_of(config): (kernel, grid, its arguments as a function of a set)."""
    from cuda.tile.tune import exhaustive_search

    made = [launch_of(config) for config in space]
    found = exhaustive_search(
        range(len(space)), torch.cuda.current_stream(), lambda i: made[i][1], lambda i: made[i][0],
        lambda i: made[i][2](*first), lambda i: hints(space[i]), quiet=True)
    best = space[found.best.config]
    print(f"  {what}: cuda.tile.tune ran {len(found.successes)} of {len(space)} configs and takes {best},"
          f" {found.best.mean_us:.2f} us by its own timer", flush=True)
    for number, kind, message in found.failures:
        print(f"    not {space[number]}: {kind.__name__}: {message.splitlines()[0][:120] if message else ''}",
              flush=True)
    return best


def hints(config):
    return {name: config[name] for name in ("occupancy", "num_ctas") if name in config}


def best_launch(torch, what, space, launch_of, sets, output_of):
    import cuda.tile as ct

    best = search(torch, what, space, launch_of, sets[0])
    kernel, grid, arguments = launch_of(best)
    kernel = kernel.replace_hints(**hints(best))

    def launch(*tensors):
        ct.launch(torch.cuda.current_stream(), grid, kernel, arguments(*tensors))
        return output_of(*tensors)

    return launch


def rms_norm(torch, sets, epsilon):
    """Its three kernels: blocks that walk over tiles of rows, a block per row in pieces, and in one."""
    theirs = module("rms_norm")
    x = sets[0][0]
    rows, length = x.shape
    whole = theirs.next_power_of_2(length)
    processors = torch.cuda.get_device_properties(0).multi_processor_count
    root = torch.empty(rows, device="cuda", dtype=torch.float32)  # of each row, for their backward pass
    space = [{"form": "walking", "rows": tile, "occupancy": occupancy}
             for tile in SPACE_ROWS for occupancy in SPACE_OCCUPANCIES]
    space += [{"form": "pieces", "piece": piece, "occupancy": occupancy}
              for piece in SPACE_PIECES for occupancy in SPACE_OCCUPANCIES]
    space += [{"form": "whole", "occupancy": occupancy} for occupancy in SPACE_OCCUPANCIES]

    def launch_of(config):
        if config["form"] == "walking":
            tiles = -(-rows // config["rows"])
            return (theirs._rms_norm_kernel_static_persistent,
                    (min(processors * config["occupancy"], tiles), 1, 1),
                    lambda x, w, b, y: (x, y, w, root, config["rows"], whole, epsilon, 0.0))
        kernel, piece = ((theirs._rms_norm_kernel_gather, config["piece"]) if config["form"] == "pieces" else
                         (theirs._rms_norm_kernel_multi_wave_cached, whole))
        return (kernel, (rows, 1, 1),
                lambda x, w, b, y: (x, w, y, root, length, epsilon, 0.0, piece))

    return best_launch(torch, "TileGym rms_norm", space, launch_of, sets, lambda x, w, b, y: y)


def group_gemm(torch, sets, parts, configs):
    """Its kernel with these tiles, occupancies and num_ctas. parts: {a set's address: (groups' A, B, C)}."""
    kernel = module("group_gemm")._group_gemm_kernel
    processors = torch.cuda.get_device_properties(0).multi_processor_count

    def launch_of(config):
        blocks = processors // config["num_ctas"] * config["occupancy"]
        tiles = [config[name] for name in ("TILE_M", "TILE_N", "TILE_K")]
        return (kernel, (blocks, 1, 1),
                lambda a, *rest: (*parts[a.data_ptr()], *tiles, blocks, False))

    return best_launch(torch, "TileGym group_gemm", configs, launch_of, sets, lambda a, b, offsets, c: c)
