/* The tables of keys: the one place where a key is named, typed, defaulted and explained. */
#include "pack/arch.h"
#include "pack/dtype.h"
#include "pack/job.h"
#include "pack/pack.h"
#include "pack/schema_type.h"

#define FIELDS(_array) .fields = (_array), .field_count = sizeof(_array) / sizeof((_array)[0])

/* ---- values that both files use ---- */

static const tsw_type_t name_type = {.kind = TSW_TYPE_NAME, .label = "a name"};
static const tsw_type_t text_type = {.kind = TSW_TYPE_TEXT, .label = "a text"};
static const tsw_type_t file_type = {.kind = TSW_TYPE_TEXT, .label = "a file name"};
static const tsw_type_t bool_type = {.kind = TSW_TYPE_BOOL, .label = "true or false"};
static const tsw_type_t int_type = {.kind = TSW_TYPE_INT, .label = "a whole number"};
static const tsw_type_t real_type = {.kind = TSW_TYPE_REAL, .label = "a number"};
static const tsw_type_t expr_type = {.kind = TSW_TYPE_EXPR, .label = "an expression"};
static const tsw_type_t natural_type = {
    .kind = TSW_TYPE_INT, .label = "a whole number", .bounded = true};
static const tsw_type_t positive_type = {
    .kind = TSW_TYPE_INT, .label = "a whole number", .bounded = true, .min = 1};
static const tsw_type_t seconds_type = {.kind = TSW_TYPE_SECONDS,
                                        .label = "a time such as 90s, 15m or 8h"};
static const tsw_type_t non_negative_type = {
    .kind = TSW_TYPE_REAL, .label = "a number", .bounded = true};
static const tsw_type_t names_type = {
    .kind = TSW_TYPE_LIST, .label = "a list of names", .item = &name_type};
static const tsw_type_t texts_type = {
    .kind = TSW_TYPE_LIST, .label = "a list of texts", .item = &text_type};
static const tsw_type_t some_texts_type = {.kind = TSW_TYPE_LIST,
                                           .label = "a list of texts",
                                           .item = &text_type,
                                           .bounded = true,
                                           .min = 1};

#define DTYPE_WORD(_name, _text, _bytes, _type, _floating) _text,
static const char *const arg_dtype_words[] = {"cell", TSW_DTYPE_MAP(DTYPE_WORD) NULL};
static const char *const cell_dtype_words[] = {"f16",  "bf16", "f32", "tf32", "e4m3",
                                               "e5m2", "i8",   "i32", NULL};
static const tsw_type_t cell_dtype_type = {
    .kind = TSW_TYPE_WORD, .label = "one of", .words = cell_dtype_words};
static const tsw_type_t cell_dtypes_type = {.kind = TSW_TYPE_LIST,
                                            .label = "a list of dtypes",
                                            .item = &cell_dtype_type,
                                            .bounded = true,
                                            .min = 1};

#define ARCH_WORD(_number, _smem, _threads, _blocks, _cluster, _fp8) "sm_" #_number,
static const char *const arch_words[] = {TSW_ARCH_MAP(ARCH_WORD) NULL};
static const tsw_type_t arch_type = {.kind = TSW_TYPE_WORD, .label = "one of", .words = arch_words};
static const tsw_type_t archs_type = {.kind = TSW_TYPE_LIST,
                                      .label = "a list of archs",
                                      .item = &arch_type,
                                      .bounded = true,
                                      .min = 1};

/* A row of configs: for each tunable and hint a value or a list of them. */
static const tsw_type_t ints_type = {.kind = TSW_TYPE_LIST,
                                     .label = "a list of whole numbers",
                                     .item = &int_type,
                                     .bounded = true,
                                     .min = 1,
                                     .max = 4096};
static const tsw_type_t *const knob_value_choices[] = {&int_type, &ints_type, NULL};
static const tsw_type_t knob_value_type = {.kind = TSW_TYPE_CHOICE,
                                           .label = "a whole number or a list of them",
                                           .choices = knob_value_choices};
static const tsw_field_t row_rest = {
    "TUNABLE", &knob_value_type, true, NULL,
    "value of this tunable or hint, or several: the row stands for all combinations. Every tunable "
    "and hint of the pack must be there"};
static const tsw_map_t row_map = {
    .title = "A row of configs", .rest = &row_rest, .rest_key = &name_type};
static const tsw_type_t row_type = {.kind = TSW_TYPE_MAP, .label = "a map", .map = &row_map};
static const tsw_type_t rows_type = {
    .kind = TSW_TYPE_LIST, .label = "a list of rows", .item = &row_type, .bounded = true, .min = 1};

/* ---- kernel.yaml ---- */

static const char *const template_words[] = {"T1", "T2", "T3", "T4", "T5",
                                             "T6", "T7", "T8", "T9", NULL};
static const char *const class_words[] = {"memory", "balanced", "compute", NULL};
static const char *const language_words[] = {"tile", "cuda", NULL};
static const char *const role_words[] = {"in", "out", "inout", "workspace", "scalar", NULL};
static const tsw_type_t template_type = {
    .kind = TSW_TYPE_WORD, .label = "one of", .words = template_words};
static const tsw_type_t class_type = {
    .kind = TSW_TYPE_WORD, .label = "one of", .words = class_words};
static const tsw_type_t language_type = {
    .kind = TSW_TYPE_WORD, .label = "one of", .words = language_words};
static const tsw_type_t role_type = {.kind = TSW_TYPE_WORD, .label = "one of", .words = role_words};
static const tsw_type_t arg_dtype_type = {
    .kind = TSW_TYPE_WORD, .label = "one of", .words = arg_dtype_words};

static const tsw_type_t dims_type = {.kind = TSW_TYPE_LIST,
                                     .label = "a list of names",
                                     .item = &name_type,
                                     .bounded = true,
                                     .min = 1,
                                     .max = TSW_DIM_MAX};
static const tsw_type_t launch_type = {.kind = TSW_TYPE_LIST,
                                       .label = "a list of expressions, x y z",
                                       .item = &expr_type,
                                       .bounded = true,
                                       .min = 1,
                                       .max = 3};
static const tsw_type_t align_type = {
    .kind = TSW_TYPE_INT, .label = "a power of two", .bounded = true, .min = 1, .max = 4096};

static const tsw_field_t flags_rest = {"FLAG", &some_texts_type, true, NULL,
                                       "values of this flag; the build gets the index as macro "
                                       "`FLAG_<NAME>`, expressions by the name"};
static const tsw_map_t flags_map = {
    .title = "flags of a pack", .rest = &flags_rest, .rest_key = &name_type};
static const tsw_type_t flags_type = {.kind = TSW_TYPE_MAP, .label = "a map", .map = &flags_map};

static const tsw_type_t two_reals_type = {.kind = TSW_TYPE_LIST,
                                          .label = "a list of numbers",
                                          .item = &real_type,
                                          .bounded = true,
                                          .min = 2,
                                          .max = 2};
static const tsw_type_t two_exprs_type = {.kind = TSW_TYPE_LIST,
                                          .label = "a list of expressions",
                                          .item = &expr_type,
                                          .bounded = true,
                                          .min = 2,
                                          .max = 2};
static const tsw_field_t fill_fields[] = {
    {"normal", &two_reals_type, false, NULL, "normal numbers: mean, standard deviation"},
    {"uniform", &two_reals_type, false, NULL, "uniform numbers from the first up to the second"},
    {"index", &two_exprs_type, false, NULL, "uniform whole numbers, first to last inclusive"},
    {"sequence", &two_exprs_type, false, NULL, "first, first + step, first + 2 step, ..."},
    {"offsets", &expr_type, false, NULL,
     "ragged segments: never falling from 0 in the first element to this total in the last"},
    {"dataset", &text_type, false, NULL,
     "`file.h5:/path`: an HDF5 dataset in the pack folder, as many numbers of the same width as "
     "the argument has elements; its bytes are part of every key"},
};
static const tsw_map_t fill_map = {.title = "fill", FIELDS(fill_fields), .exactly_one = true};
static const tsw_type_t fill_type = {.kind = TSW_TYPE_MAP, .label = "a map", .map = &fill_map};

static const tsw_field_t arg_fields[] = {
    {"name", &name_type, true, NULL, "name of the parameter, for messages"},
    {"role", &role_type, true, NULL,
     "`in` is read, `out` written whole, `inout` read and written: two kernel parameters, the "
     "pointer to read and the pointer to write; `workspace` has undefined contents; `scalar` is "
     "passed by value"},
    {"type", &arg_dtype_type, true, NULL,
     "element type; `cell` is the dtype that the cell runs with"},
    {"size", &expr_type, false, NULL, "buffers, required: number of elements"},
    {"row", &expr_type, false, NULL,
     "buffers: elements of one row, so that the fences before and after are wide enough"},
    {"align", &align_type, false, "16", "buffers: bytes; the alignment that the kernel may assume"},
    {"fill", &fill_type, false, NULL, "`in` and `inout`, required: contents, drawn from the seed"},
    {"value", &expr_type, false, NULL, "scalars, required: the value"},
};
static const tsw_map_t arg_map = {.title = "args entry", FIELDS(arg_fields)};
static const tsw_type_t arg_type = {.kind = TSW_TYPE_MAP, .label = "a map", .map = &arg_map};
static const tsw_type_t args_type = {.kind = TSW_TYPE_LIST,
                                     .label = "a list of parameters",
                                     .item = &arg_type,
                                     .bounded = true,
                                     .min = 1,
                                     .max = 64};

static const tsw_field_t tunable_fields[] = {
    {"tiles", &name_type, false, NULL,
     "the dim that this tile size cuts up: powers of two only; larger than the dim only if "
     "it is the smallest of the list"},
    {"tile", &bool_type, false, "false", "a tile size of no dim: powers of two only"},
};
static const tsw_map_t tunable_map = {.title = "tunable", FIELDS(tunable_fields)};
static const tsw_type_t tunable_type = {
    .kind = TSW_TYPE_MAP, .label = "a map (may be empty: {})", .map = &tunable_map};
static const tsw_field_t tunables_rest = {"TUNABLE", &tunable_type, true, NULL,
                                          "the build gets the value as a macro of this name"};
static const tsw_map_t tunables_map = {
    .title = "tunables", .rest = &tunables_rest, .rest_key = &name_type};
static const tsw_type_t tunables_type = {
    .kind = TSW_TYPE_MAP, .label = "a map", .map = &tunables_map};

static const tsw_field_t baseline_rest = {"TUNABLE", &int_type, true, NULL,
                                          "value of this tunable or hint; all must be there"};
static const tsw_map_t baseline_map = {
    .title = "baseline", .rest = &baseline_rest, .rest_key = &name_type};
static const tsw_type_t baseline_type = {
    .kind = TSW_TYPE_MAP, .label = "a map", .map = &baseline_map};

static const char *const list_key_words[] = {"default", TSW_ARCH_MAP(ARCH_WORD) NULL};
static const tsw_type_t list_key_type = {
    .kind = TSW_TYPE_WORD, .label = "one of", .words = list_key_words};
static const tsw_field_t list_fields[] = {
    {"source", &text_type, true, NULL, "where these configs come from, in words"},
    {"baseline", &baseline_type, false, "the pack's", "the fixed config of the archs of this list"},
    {"configs", &rows_type, true, NULL, "the configs"},
};
static const tsw_map_t list_map = {.title = "list of configs", FIELDS(list_fields)};
static const tsw_type_t list_type = {.kind = TSW_TYPE_MAP, .label = "a map", .map = &list_map};
static const tsw_field_t lists_rest = {
    "ARCH", &list_type, true, NULL,
    "configs for this arch; `default` is for all archs without a list of their own"};
static const tsw_map_t lists_map = {
    .title = "lists", .rest = &lists_rest, .rest_key = &list_key_type};
static const tsw_type_t lists_type = {.kind = TSW_TYPE_MAP, .label = "a map", .map = &lists_map};

static const tsw_field_t constraint_fields[] = {
    {"name", &name_type, true, NULL, "name in the report of filters"},
    {"keep", &expr_type, true, NULL,
     "a config stays where this is true. One that uses a dim (not a static one) filters per shape, "
     "the others per arch"},
    {"reason", &text_type, true, NULL, "why, in words"},
};
static const tsw_map_t constraint_map = {.title = "constraint", FIELDS(constraint_fields)};
static const tsw_type_t constraint_type = {
    .kind = TSW_TYPE_MAP, .label = "a map", .map = &constraint_map};
static const tsw_type_t constraints_type = {
    .kind = TSW_TYPE_LIST, .label = "a list of constraints", .item = &constraint_type};

static const tsw_field_t tolerance_fields[] = {
    {"atol", &non_negative_type, true, NULL, "absolute part"},
    {"rtol", &non_negative_type, true, NULL,
     "relative part: an element may differ by atol + rtol times the reference"},
};
static const tsw_map_t tolerance_map = {.title = "tolerance", FIELDS(tolerance_fields)};
static const tsw_type_t tolerance_type = {
    .kind = TSW_TYPE_MAP, .label = "a map", .map = &tolerance_map};
static const tsw_field_t tolerances_rest = {
    "DTYPE", &tolerance_type, true, NULL,
    "tolerance of cells of this dtype; whole-number dtypes are compared exactly without one"};
static const tsw_map_t tolerances_map = {
    .title = "tolerances", .rest = &tolerances_rest, .rest_key = &cell_dtype_type};
static const tsw_type_t tolerances_type = {
    .kind = TSW_TYPE_MAP, .label = "a map", .map = &tolerances_map};

static const tsw_field_t exception_fields[] = {
    {"rule", &name_type, true, NULL, "the rule's name, as `tilesweep lint` prints it"},
    {"arch", &arch_type, false, "all archs", "where it is broken"},
    {"reason", &text_type, true, NULL, "why, in words; the lint prints it"},
};
static const tsw_map_t exception_map = {.title = "exception", FIELDS(exception_fields)};
static const tsw_type_t exception_type = {
    .kind = TSW_TYPE_MAP, .label = "a map", .map = &exception_map};
static const tsw_type_t exceptions_type = {
    .kind = TSW_TYPE_LIST, .label = "a list of exceptions", .item = &exception_type};

static const tsw_field_t reference_fields[] = {
    {"source", &file_type, true, NULL, "plain CUDA C++, in the pack folder"},
    {"entry", &name_type, true, NULL, "`extern \"C\"` symbol; takes the parameters of the kernel"},
    {"grid", &launch_type, true, NULL, "blocks; may use dims, flags and ELEM_BYTES"},
    {"block", &launch_type, true, NULL, "threads; may use the same names"},
    {"shared", &expr_type, false, "0", "bytes of dynamic shared memory"},
};
static const tsw_map_t reference_map = {.title = "reference", FIELDS(reference_fields)};
static const tsw_type_t reference_type = {
    .kind = TSW_TYPE_MAP, .label = "a map", .map = &reference_map};

static const tsw_field_t pack_fields[] = {
    {"name", &name_type, true, NULL, "name of the pack in jobs, records and tables"},
    {"template", &template_type, true, NULL, "the kind of kernel; see *The nine templates*"},
    {"class", &class_type, true, NULL, "what bounds the kernel"},
    {"language", &language_type, true, NULL, "`tile`: CUDA Tile C++; `cuda`: plain CUDA C++"},
    {"arch_dependent", &bool_type, false, "false",
     "the source tests `__CUDA_ARCH__`: compile it once per arch"},
    {"source", &file_type, true, NULL, "the tunable kernel, in the pack folder"},
    {"entry", &name_type, true, NULL, "its `extern \"C\"` symbol"},
    {"dims", &dims_type, true, NULL, "names of the sizes that make a shape"},
    {"static", &names_type, false, "[]",
     "dims that are part of the build: macro `DIM_<NAME>`; one build per value"},
    {"flags", &flags_type, false, "{}", "variants of the kernel besides the dtype"},
    {"dtypes", &cell_dtypes_type, true, NULL, "dtypes that the kernel can run with"},
    {"args", &args_type, true, NULL, "the kernel's parameters, in order"},
    {"grid", &launch_type, true, NULL,
     "blocks of a launch; may use dims, flags, tunables, hints, NUM_SM and ELEM_BYTES"},
    {"block", &launch_type, false, "[1, 1, 1]",
     "threads of a block, the same names; 1 for `tile`, required for `cuda`"},
    {"shared", &expr_type, false, "0", "bytes of dynamic shared memory, the same names"},
    {"flops", &expr_type, true, NULL, "floating-point operations of one launch"},
    {"bytes", &expr_type, true, NULL, "bytes that one launch must move at least"},
    {"max_elements", &positive_type, false, "2147483647",
     "largest number of elements of a buffer; larger shapes are refused"},
    {"tunables", &tunables_type, false, "{}", "compile-time constants to tune"},
    {"hints", &names_type, false, "[]",
     "`occupancy` (1 to 32), `num_ctas` (1, 2, 4, 8, 16): macros OCCUPANCY and NUM_CTAS"},
    {"options", &texts_type, false, "[]", "more compile options"},
    {"baseline", &baseline_type, true, NULL,
     "the fixed config that every other one is compared with; config 0"},
    {"lists", &lists_type, true, NULL, "the configs to try, per arch"},
    {"constraints", &constraints_type, false, "[]", "filters over configs"},
    {"tolerances", &tolerances_type, false, "{}",
     "how far a result may be off; required for every floating dtype"},
    {"exceptions", &exceptions_type, false, "[]",
     "rules of the lint that this pack breaks for a reason ([rules.md](rules.md))"},
    {"separate_tables", &bool_type, false, "false",
     "keep at most 8 configs for each dtype and flags, not for all of them together"},
    {"reference", &reference_type, true, NULL, "a plain kernel that gives the right result"},
};
static const tsw_map_t pack_map = {.title = "kernel.yaml", FIELDS(pack_fields)};

/* ---- job.yaml ---- */

static const char *const purpose_words[] = {"release", "probe", "research", NULL};
const char *const tsw_protocol_names[] = {"race", "rounds",  "cutile", "kt7", "do_bench",
                                          "fi10", "tunable", "fixed",  NULL};
static const char *const objective_words[] = {"median", "p90", "p99", "mean", "energy", NULL};
static const char *const cache_words[] = {"cold", "hot", NULL};
static const tsw_type_t purpose_type = {
    .kind = TSW_TYPE_WORD, .label = "one of", .words = purpose_words};
static const tsw_type_t protocol_type = {
    .kind = TSW_TYPE_WORD, .label = "one of", .words = tsw_protocol_names};
static const tsw_type_t objective_type = {
    .kind = TSW_TYPE_WORD, .label = "one of", .words = objective_words};
static const tsw_type_t cache_type = {
    .kind = TSW_TYPE_WORD, .label = "one of", .words = cache_words};
static const tsw_type_t *const compile_only_choices[] = {&bool_type, &archs_type, NULL};
static const tsw_type_t compile_only_type = {.kind = TSW_TYPE_CHOICE,
                                             .label = "true, false or a list of archs",
                                             .choices = compile_only_choices};

static const tsw_type_t times_type = {
    .kind = TSW_TYPE_INT, .label = "a whole number", .bounded = true, .min = 2};
static const tsw_field_t range_fields[] = {
    {"from", &natural_type, true, NULL, "first value"},
    {"to", &natural_type, true, NULL, "last value; not passed, and left out if no step meets it"},
    {"step", &positive_type, false, NULL, "add this; either step or times"},
    {"times", &times_type, false, NULL, "multiply by this; either step or times"},
};
static const tsw_map_t range_map = {.title = "range", FIELDS(range_fields)};
static const tsw_type_t range_type = {.kind = TSW_TYPE_MAP, .label = "a map", .map = &range_map};
static const tsw_type_t naturals_type = {.kind = TSW_TYPE_LIST,
                                         .label = "a list of whole numbers",
                                         .item = &natural_type,
                                         .bounded = true,
                                         .min = 1};
static const tsw_type_t *const dim_value_choices[] = {&natural_type, &naturals_type, &range_type,
                                                      NULL};
static const tsw_type_t dim_value_type = {
    .kind = TSW_TYPE_CHOICE,
    .label = "a whole number from 0, a list of them, or a range {from, to, step or times}",
    .choices = dim_value_choices};
static const tsw_field_t shape_fields[] = {
    {"weight", &non_negative_type, false, "1",
     "weight of these shapes in the reduction, from 1e-9 to 1e9"},
    {"csv", &file_type, false, NULL,
     "a CSV file beside the job: a header with the names of all dims, and `weight` if wanted; then "
     "one shape a line. Instead of dims"},
};
static const tsw_field_t shape_rest = {
    "DIM", &dim_value_type, false, NULL,
    "size of this dim: a value, several, or a range; the row stands for all combinations"};
static const tsw_map_t shape_map = {
    .title = "shapes entry", FIELDS(shape_fields), .rest = &shape_rest, .rest_key = &name_type};
static const tsw_type_t shape_type = {.kind = TSW_TYPE_MAP, .label = "a map", .map = &shape_map};
static const tsw_type_t shapes_type = {.kind = TSW_TYPE_LIST,
                                       .label = "a list of shapes",
                                       .item = &shape_type,
                                       .bounded = true,
                                       .min = 1};

static const tsw_type_t *const flag_value_choices[] = {&text_type, &some_texts_type, NULL};
static const tsw_type_t flag_value_type = {
    .kind = TSW_TYPE_CHOICE, .label = "a value or a list of values", .choices = flag_value_choices};
static const tsw_field_t job_flags_rest = {
    "FLAG", &flag_value_type, false, NULL,
    "values of this flag to run; a flag that is left out runs with all its values"};
static const tsw_map_t job_flags_map = {
    .title = "flags of a job", .rest = &job_flags_rest, .rest_key = &name_type};
static const tsw_type_t job_flags_type = {
    .kind = TSW_TYPE_MAP, .label = "a map", .map = &job_flags_map};

static const tsw_type_t some_names_type = {.kind = TSW_TYPE_LIST,
                                           .label = "a list of names",
                                           .item = &name_type,
                                           .bounded = true,
                                           .min = 1};
static const tsw_type_t *const verdict_choices[] = {&file_type, &some_texts_type, NULL};
static const tsw_type_t verdict_type = {
    .kind = TSW_TYPE_CHOICE, .label = "a file name or a list of them", .choices = verdict_choices};
static const tsw_field_t probe_fields[] = {
    {"verdict", &verdict_type, true, NULL,
     "table of the run whose verdict was `probe-needed`, one for each arch that is measured; "
     "relative to the job file"},
    {"fixed", &names_type, true, NULL,
     "tunables and hints with one value in the whole space; may be empty"},
    {"varied", &some_names_type, true, NULL, "tunables and hints under study"},
};
static const tsw_map_t probe_map = {.title = "probe", FIELDS(probe_fields)};
static const tsw_type_t probe_type = {.kind = TSW_TYPE_MAP, .label = "a map", .map = &probe_map};

static const tsw_field_t entry_fields[] = {
    {"pack", &text_type, true, NULL,
     "name of a folder of kernels/, or a path (with a /) relative to the job file"},
    {"dtypes", &cell_dtypes_type, false, "all of the pack", "dtypes to run"},
    {"flags", &job_flags_type, false, "all values", "flags to run; all combinations"},
    {"shapes", &shapes_type, true, NULL, "shapes to run"},
    {"space", &rows_type, false, "the pack's lists",
     "configs instead of the pack's lists; for probe (required) and research"},
    {"probe", &probe_type, false, NULL, "required for probe: what is held and what is varied"},
};
static const tsw_map_t entry_map = {.title = "packs entry", FIELDS(entry_fields)};
static const tsw_type_t entry_type = {.kind = TSW_TYPE_MAP, .label = "a map", .map = &entry_map};
static const tsw_type_t entries_type = {.kind = TSW_TYPE_LIST,
                                        .label = "a list of packs",
                                        .item = &entry_type,
                                        .bounded = true,
                                        .min = 1};

static const tsw_type_t rounds_type = {
    .kind = TSW_TYPE_INT, .label = "a whole number", .bounded = true, .min = 1, .max = 1000000};
static const tsw_type_t warmup_type = {
    .kind = TSW_TYPE_INT, .label = "a whole number", .bounded = true, .min = 0, .max = 1000000};
static const tsw_field_t measure_fields[] = {
    {"protocol", &protocol_type, false, "race",
     "`race`: shuffled waves, what cannot win drops out; `rounds`: shuffled rounds over all "
     "configs; `fixed`: launches only, for profilers; the others: as other tuners do it"},
    {"objective", &objective_type, false, "median",
     "what a winner has least of, over the samples of a config; `energy`: joules per launch"},
    {"rounds", &rounds_type, false, "20",
     "timed rounds; race: at most so many before its final, never over 1000, 96 when absent"},
    {"warmup", &warmup_type, false, "2", "rounds before them; kept, flagged, never decide"},
    {"cache", &cache_type, false, "cold",
     "`cold`: launches find nothing of theirs in the L2 cache"},
    {"seed", &natural_type, false, "1", "of inputs, orders and all else that is drawn"},
};
static const tsw_map_t measure_map = {.title = "measure", FIELDS(measure_fields)};
static const tsw_type_t measure_type = {
    .kind = TSW_TYPE_MAP, .label = "a map", .map = &measure_map};

static const tsw_field_t limits_fields[] = {
    {"compile_cpu", &seconds_type, false, "60s", "CPU time to compile one config for one arch"},
    {"launch", &seconds_type, false, "10s", "one launch; a longer one is killed: run_timeout"},
    {"cell", &seconds_type, false, "300s", "device time of the timed rounds of a cell; 0: none"},
    {"run", &seconds_type, false, "0", "the whole run; then it stops, resumable; 0: none"},
};
static const tsw_map_t limits_map = {.title = "limits", FIELDS(limits_fields)};
static const tsw_type_t limits_type = {.kind = TSW_TYPE_MAP, .label = "a map", .map = &limits_map};

static const tsw_type_t builds_type = {
    .kind = TSW_TYPE_INT, .label = "a whole number", .bounded = true, .min = 2, .max = 1000000};
static const tsw_field_t search_fields[] = {
    {"builds", &builds_type, false, "512",
     "configs that are built at most, for each pack, dtype, flags, static dims and arch; a space "
     "that is no larger is swept whole"},
    {"per_generation", &builds_type, false, "64", "of them, chosen at a time"},
    {"seed_from", &texts_type, false, "[]",
     "runs or sweeps, relative to the job file, whose best configs on the nearest shapes are tried "
     "first"},
};
static const tsw_map_t search_map = {.title = "search", FIELDS(search_fields)};
static const tsw_type_t search_type = {.kind = TSW_TYPE_MAP, .label = "a map", .map = &search_map};

static const tsw_field_t job_fields[] = {
    {"name", &text_type, true, NULL, "name of the job in reports"},
    {"purpose", &purpose_type, false, "release",
     "`release`: at most 30 configs per pack, dtype, flags and arch; `probe`: 30 to 100, "
     "directed; "
     "`research`: any number. Only release results go to tables"},
    {"archs", &archs_type, true, NULL, "archs to compile for and measure on"},
    {"compile_only", &compile_only_type, false, "false",
     "archs that are compiled for, never measured; true: all of them"},
    {"packs", &entries_type, true, NULL, "what to run"},
    {"measure", &measure_type, false, "{}", "how to measure"},
    {"limits", &limits_type, false, "{}", "budgets"},
    {"search", &search_type, false, NULL,
     "research only: build some of a space, not all; without it a space of more than 4096 configs "
     "is searched as by `{}`"},
};
static const tsw_map_t job_map = {.title = "job.yaml", FIELDS(job_fields)};

const tsw_map_t *tsw_schema_root(tsw_schema_id_t id)
{
    return id == TSW_SCHEMA_JOB ? &job_map : &pack_map;
}
