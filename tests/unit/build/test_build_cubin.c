#include "base/rng.h"
#include "build/build.h"
#include "fake_compiler.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define SEED 20261129

static const char *const entries[] = {"first", "second"};

static size_t write_cubin(uint8_t *out, size_t size)
{
    fake_cubin_t cubin = {.arch = 103,
                          .registers = 168,
                          .frame = 24,
                          .shared = 99000,
                          .threads = 256,
                          .cluster = 2,
                          .code = 1};
    size_t n = fake_cubin_write(&cubin, entries, 2, out, size);
    assert_true(n > 0);
    return n;
}

static void test_facts_are_those_of_the_entry(void **state)
{
    (void)state;
    uint8_t bytes[4096];
    size_t size = write_cubin(bytes, sizeof(bytes));
    tsw_build_facts_t facts;
    tsw_arch_t arch = 0;
    tsw_err_t err = TSW_ERR_INIT;
    assert_int_equal(tsw_cubin_read(bytes, size, "second", &facts, &err), TSW_OK);
    assert_int_equal(facts.registers, 168);
    assert_int_equal(facts.spill_bytes, 24);
    assert_int_equal(facts.shared_bytes, 99000);
    assert_int_equal(facts.threads, 256);
    assert_int_equal(facts.cluster, 2);
    assert_int_equal(facts.cubin_bytes, size);
    assert_true(tsw_key_equal(facts.cubin_key, tsw_key_of(bytes, size)));
    assert_int_equal(tsw_cubin_arch(bytes, size, &arch, &err), TSW_OK);
    assert_int_equal(arch, 103);
}

static void test_absent_attributes_have_neutral_values(void **state)
{
    (void)state;
    uint8_t bytes[4096];
    fake_cubin_t cubin = {.arch = 80, .registers = 40};
    size_t size = fake_cubin_write(&cubin, entries, 1, bytes, sizeof(bytes));
    tsw_build_facts_t facts;
    assert_int_equal(tsw_cubin_read(bytes, size, "first", &facts, NULL), TSW_OK);
    assert_int_equal(facts.threads, 0);
    assert_int_equal(facts.cluster, 1);
    assert_int_equal(facts.spill_bytes, 0);
}

static void test_old_abi_keeps_the_arch_in_the_low_byte(void **state)
{
    (void)state;
    uint8_t bytes[4096];
    size_t size = write_cubin(bytes, sizeof(bytes));
    tsw_arch_t arch = 0;
    bytes[8] = 7;
    bytes[0x30] = 86;
    assert_int_equal(tsw_cubin_arch(bytes, size, &arch, NULL), TSW_OK);
    assert_int_equal(arch, 86);
}

static void test_absent_entry_is_named(void **state)
{
    (void)state;
    uint8_t bytes[4096];
    size_t size = write_cubin(bytes, sizeof(bytes));
    tsw_build_facts_t facts = {.registers = 7};
    tsw_err_t err = TSW_ERR_INIT;
    assert_int_equal(tsw_cubin_read(bytes, size, "third", &facts, &err), TSW_ERR_CORRUPT);
    assert_non_null(strstr(err.text, "third"));
    assert_int_equal(facts.registers, 7);
}

static void test_text_is_no_cubin(void **state)
{
    (void)state;
    static const char text[] = "this is a text that is longer than the header of an ELF file is: "
                               "sixty-four bytes";
    tsw_build_facts_t facts;
    tsw_arch_t arch = 0;
    assert_int_equal(tsw_cubin_read(text, sizeof(text), "first", &facts, NULL), TSW_ERR_CORRUPT);
    assert_int_equal(tsw_cubin_arch(text, sizeof(text), &arch, NULL), TSW_ERR_CORRUPT);
    assert_int_equal(tsw_cubin_read(NULL, 0, "first", &facts, NULL), TSW_ERR_CORRUPT);
}

/* Reads a copy of exactly size bytes, so that a sanitizer sees the first byte beyond. */
static tsw_status_t read_exact(const uint8_t *bytes, size_t size)
{
    tsw_build_facts_t facts;
    tsw_arch_t arch;
    uint8_t *copy = malloc(size > 0 ? size : 1);
    assert_non_null(copy);
    memcpy(copy, bytes, size);
    tsw_status_t status = tsw_cubin_read(copy, size, "second", &facts, NULL);
    tsw_cubin_arch(copy, size, &arch, NULL);
    free(copy);
    return status;
}

static void test_every_cut_is_corrupt(void **state)
{
    (void)state;
    uint8_t bytes[4096];
    size_t size = write_cubin(bytes, sizeof(bytes));
    for (size_t cut = 0; cut < size; cut++)
        assert_int_equal(read_exact(bytes, cut), TSW_ERR_CORRUPT);
}

static void test_flipped_bytes_never_read_outside(void **state)
{
    (void)state;
    uint8_t bytes[4096];
    size_t size = write_cubin(bytes, sizeof(bytes));
    size_t corrupt = 0;
    for (size_t i = 0; i < size; i++) {
        for (unsigned bit = 0; bit < 8; bit++) {
            bytes[i] ^= (uint8_t)(1u << bit);
            tsw_status_t status = read_exact(bytes, size);
            assert_true(status == TSW_OK || status == TSW_ERR_CORRUPT);
            corrupt += status != TSW_OK;
            bytes[i] ^= (uint8_t)(1u << bit);
        }
    }
    assert_true(corrupt > 500); /* the magic, the names, the tables */
    assert_int_equal(read_exact(bytes, size), TSW_OK);
}

static void test_random_bytes_never_read_outside(void **state)
{
    (void)state;
    uint8_t bytes[4096];
    size_t size = write_cubin(bytes, sizeof(bytes));
    for (uint64_t round = 0; round < 20000; round++) {
        uint8_t work[4096];
        memcpy(work, bytes, size);
        for (uint64_t i = 0; i < 8; i++) {
            uint64_t bits = tsw_rng_u64(SEED, round, i, 0, 0);
            size_t at = (size_t)(bits % size);
            memset(work + at, (int)(bits >> 40), 1 + (size_t)(bits >> 56) % (size - at));
            if (round % 2 == 0) /* spare the header */
                memcpy(work, bytes, 64);
        }
        tsw_status_t status = read_exact(work, size);
        assert_true(status == TSW_OK || status == TSW_ERR_CORRUPT);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_facts_are_those_of_the_entry),
        cmocka_unit_test(test_absent_attributes_have_neutral_values),
        cmocka_unit_test(test_old_abi_keeps_the_arch_in_the_low_byte),
        cmocka_unit_test(test_absent_entry_is_named),
        cmocka_unit_test(test_text_is_no_cubin),
        cmocka_unit_test(test_every_cut_is_corrupt),
        cmocka_unit_test(test_flipped_bytes_never_read_outside),
        cmocka_unit_test(test_random_bytes_never_read_outside),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
