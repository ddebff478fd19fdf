/* A minimal ELF file with the sections that a reader of cubins looks at. */
#include "fake_compiler.h"

#include <stdio.h>

#define HEADER_SIZE    64
#define SECTION_SIZE   64
#define SYMBOL_SIZE    24
#define SECTION_MAX    (4 + 3 * FAKE_MAX)
#define CODE_SIZE      128
#define TYPE_BITS      1 /* SHT_PROGBITS */
#define TYPE_SYMTAB    2
#define TYPE_STRTAB    3
#define TYPE_NOBITS    8
#define TYPE_INFO      0x70000000u
#define INDEX_SHSTRTAB 1
#define INDEX_STRTAB   2

typedef struct {
    uint8_t *bytes;
    size_t size;
    size_t at;
    bool full;
} out_t;

typedef struct {
    uint32_t name, type, link;
    uint64_t at, size;
} section_t;

static void put(out_t *out, uint64_t value, size_t width)
{
    if (out->size - out->at < width) {
        out->full = true;
        return;
    }
    for (size_t i = 0; i < width; i++)
        out->bytes[out->at++] = (uint8_t)(value >> (8 * i));
}

/* Names of sections and symbols, each table in its own static memory. */
typedef struct {
    char text[64 * 1024];
    size_t size;
} names_t;

static uint32_t name_of(names_t *names, const char *prefix, const char *suffix)
{
    size_t at = names->size;
    size_t left = sizeof(names->text) - at;
    size_t length = (size_t)snprintf(names->text + at, left, "%s%s", prefix, suffix);
    names->size += length < left ? length + 1 : 0;
    return (uint32_t)at;
}

static void put_names(out_t *out, const names_t *names)
{
    for (size_t i = 0; i < names->size; i++)
        put(out, (unsigned char)names->text[i], 1);
}

static void put_pair(out_t *out, unsigned kind, uint64_t function, uint32_t value)
{
    put(out, 4, 1);
    put(out, kind, 1);
    put(out, 8, 2);
    put(out, function, 4);
    put(out, value, 4);
}

static void put_triple(out_t *out, unsigned kind, uint32_t x)
{
    put(out, 4, 1);
    put(out, kind, 1);
    put(out, 12, 2);
    put(out, x, 4);
    put(out, 1, 4);
    put(out, 1, 4);
}

static void put_section(out_t *out, const section_t *section)
{
    put(out, section->name, 4);
    put(out, section->type, 4);
    put(out, 0, 8);
    put(out, 0, 8);
    put(out, section->at, 8);
    put(out, section->size, 8);
    put(out, section->link, 4);
    put(out, 0, 4);
    put(out, 1, 8);
    put(out, section->type == TYPE_SYMTAB ? SYMBOL_SIZE : 0, 8);
}

static void put_code(out_t *out, uint64_t seed)
{
    for (size_t i = 0; i < CODE_SIZE / 8; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        put(out, seed, 8);
    }
}

static void put_header(out_t *out, const fake_cubin_t *cubin, uint64_t sections_at,
                       size_t section_count)
{
    static const uint8_t ident[] = {0x7f, 'E', 'L', 'F', 2, 1, 1, 0x41, 8};
    for (size_t i = 0; i < 16; i++)
        put(out, i < sizeof(ident) ? ident[i] : 0, 1);
    put(out, 2, 2);
    put(out, 190, 2);
    put(out, 1, 4);
    put(out, 0, 8);
    put(out, 0, 8);
    put(out, sections_at, 8);
    put(out, 0x06000004u | cubin->arch << 8, 4);
    put(out, HEADER_SIZE, 2);
    put(out, 0, 2);
    put(out, 0, 2);
    put(out, SECTION_SIZE, 2);
    put(out, section_count, 2);
    put(out, INDEX_SHSTRTAB, 2);
}

/* The sections behind the tables of names: symbols, attributes, then three per kernel. */
static size_t put_body(out_t *out, const fake_cubin_t *cubin, const uint32_t *symbol_names,
                       size_t count, section_t *sections)
{
    size_t n = 3;
    sections[n].at = out->at;
    put(out, 0, 8);
    put(out, 0, 8);
    put(out, 0, 8);
    for (size_t i = 0; i < count; i++) {
        put(out, symbol_names[i], 4);
        put(out, 0x12, 1); /* global function */
        put(out, 0, 1);
        put(out, 6 + 3 * i, 2);
        put(out, 0, 8);
        put(out, CODE_SIZE, 8);
    }
    sections[n].size = out->at - sections[n].at;
    sections[++n].at = out->at;
    for (size_t i = 0; i < count; i++) {
        put_pair(out, 0x2f, i + 1, cubin->registers);
        put_pair(out, 0x11, i + 1, cubin->frame);
        put_pair(out, 0x12, i + 1, cubin->frame);
    }
    sections[n].size = out->at - sections[n].at;
    for (size_t i = 0; i < count; i++) {
        sections[++n].at = out->at;
        if (cubin->threads > 0)
            put_triple(out, 0x10, cubin->threads);
        if (cubin->cluster > 0)
            put_triple(out, 0x3d, cubin->cluster);
        sections[n].size = out->at - sections[n].at;
        sections[++n].at = out->at;
        put_code(out, cubin->code + i);
        sections[n].size = CODE_SIZE;
        sections[++n].at = out->at;
        sections[n].size = cubin->shared; /* from sm_90 on with the system's share, as real ones */
        if (cubin->shared > 0 && cubin->arch >= 90)
            sections[n].size += 1024;
    }
    return n + 1;
}

size_t fake_cubin_write(const fake_cubin_t *cubin, const char *const *entries, size_t entry_count,
                        uint8_t *bytes, size_t size)
{
    static names_t section_names, symbol_names;
    section_t sections[SECTION_MAX] = {{0}};
    uint32_t symbols[FAKE_MAX];
    section_names = (names_t){.size = 1};
    symbol_names = (names_t){.size = 1};
    size_t n = 0;
    sections[++n] =
        (section_t){.name = name_of(&section_names, ".shstrtab", ""), .type = TYPE_STRTAB};
    sections[++n] =
        (section_t){.name = name_of(&section_names, ".strtab", ""), .type = TYPE_STRTAB};
    sections[++n] = (section_t){
        .name = name_of(&section_names, ".symtab", ""), .type = TYPE_SYMTAB, .link = INDEX_STRTAB};
    sections[++n] = (section_t){.name = name_of(&section_names, ".nv.info", ""), .type = TYPE_INFO};
    for (size_t i = 0; i < entry_count; i++) {
        symbols[i] = name_of(&symbol_names, entries[i], "");
        sections[++n] = (section_t){.name = name_of(&section_names, ".nv.info.", entries[i]),
                                    .type = TYPE_INFO};
        sections[++n] =
            (section_t){.name = name_of(&section_names, ".text.", entries[i]), .type = TYPE_BITS};
        sections[++n] = (section_t){.name = name_of(&section_names, ".nv.shared.", entries[i]),
                                    .type = TYPE_NOBITS};
    }
    out_t out = {.bytes = bytes, .size = size, .at = HEADER_SIZE};
    if (size < HEADER_SIZE)
        return 0;
    sections[INDEX_SHSTRTAB].at = out.at;
    sections[INDEX_SHSTRTAB].size = section_names.size;
    put_names(&out, &section_names);
    sections[INDEX_STRTAB].at = out.at;
    sections[INDEX_STRTAB].size = symbol_names.size;
    put_names(&out, &symbol_names);
    size_t count = put_body(&out, cubin, symbols, entry_count, sections);
    out_t header = {.bytes = bytes, .size = HEADER_SIZE};
    put_header(&header, cubin, out.at, count);
    for (size_t i = 0; i < count; i++)
        put_section(&out, &sections[i]);
    return out.full ? 0 : out.at;
}
