/* A cubin is an ELF file for the machine EM_CUDA. What is needed of it: the entry's symbol, its
 * sections by name, and two lists of attributes, `.nv.info` (per function) and `.nv.info.ENTRY`.
 * The bytes may be anything: every offset is checked before it is used. */
#include "build/build.h"

#include <string.h>

#define MACHINE_CUDA    190
#define HEADER_SIZE     64
#define SECTION_SIZE    64
#define SYMBOL_SIZE     24
#define SECTION_NOBITS  8
#define SYMBOL_FUNCTION 2
#define ABI_WIDE_FLAGS  8    /* from this ABI version on the arch has its own byte of the flags */
#define RESERVED_SHARED 1024 /* bytes per block */

/* Format and kinds of attributes. */
#define FORMAT_SIZED   4 /* 16 bits of length, then that many bytes; others have none behind */
#define ATTR_THREADS   0x10
#define ATTR_FRAME     0x11
#define ATTR_MIN_STACK 0x12
#define ATTR_REGISTERS 0x2f
#define ATTR_CLUSTER   0x3d

typedef struct {
    const uint8_t *bytes;
    size_t size;
    uint64_t sections_at;
    size_t section_count;
    size_t names; /* index of the section with the section names */
} elf_t;

typedef struct {
    uint32_t name;
    uint32_t type;
    uint64_t at;
    uint64_t size;
    uint32_t link;
} section_t;

static uint64_t load(const uint8_t *at, size_t width)
{
    uint64_t value = 0;
    for (size_t i = 0; i < width; i++)
        value |= (uint64_t)at[i] << (8 * i);
    return value;
}

static uint16_t load16(const uint8_t *at)
{
    return (uint16_t)load(at, 2);
}

static uint32_t load32(const uint8_t *at)
{
    return (uint32_t)load(at, 4);
}

static bool inside(const elf_t *elf, uint64_t at, uint64_t size)
{
    return at <= elf->size && size <= elf->size - at;
}

static tsw_status_t corrupt(tsw_err_t *err, const char *what)
{
    return tsw_err_set(err, TSW_ERR_CORRUPT, "not a usable cubin: %s", what);
}

static tsw_status_t open_elf(const void *bytes, size_t size, elf_t *elf, tsw_err_t *err)
{
    static const uint8_t magic[] = {0x7f, 'E', 'L', 'F', 2, 1}; /* 64 bits, little-endian */
    *elf = (elf_t){.bytes = bytes, .size = size};
    if (size < HEADER_SIZE || memcmp(bytes, magic, sizeof(magic)) != 0)
        return corrupt(err, "no ELF header");
    if (load16(elf->bytes + 18) != MACHINE_CUDA)
        return corrupt(err, "not for a GPU");
    elf->sections_at = load(elf->bytes + 0x28, 8);
    elf->section_count = load16(elf->bytes + 0x3c);
    elf->names = load16(elf->bytes + 0x3e);
    if (load16(elf->bytes + 0x3a) != SECTION_SIZE ||
        !inside(elf, elf->sections_at, (uint64_t)elf->section_count * SECTION_SIZE) ||
        elf->names >= elf->section_count)
        return corrupt(err, "its section table is cut");
    return TSW_OK;
}

/* index < section_count. */
static section_t section_at(const elf_t *elf, size_t index)
{
    const uint8_t *at = elf->bytes + elf->sections_at + index * SECTION_SIZE;
    return (section_t){
        .name = load32(at),
        .type = load32(at + 4),
        .at = load(at + 24, 8),
        .size = load(at + 32, 8),
        .link = load32(at + 40),
    };
}

static bool has_bytes(const elf_t *elf, const section_t *section)
{
    return section->type != SECTION_NOBITS && inside(elf, section->at, section->size);
}

/* Text at an offset of a table of texts, or NULL when it does not end inside. */
static const char *text_at(const elf_t *elf, size_t table_index, uint32_t offset)
{
    if (table_index >= elf->section_count)
        return NULL;
    section_t table = section_at(elf, table_index);
    if (!has_bytes(elf, &table) || offset >= table.size)
        return NULL;
    const uint8_t *text = elf->bytes + table.at + offset;
    return memchr(text, 0, (size_t)(table.size - offset)) != NULL ? (const char *)text : NULL;
}

/* The section named prefix + suffix. */
static bool find_section(const elf_t *elf, const char *prefix, const char *suffix,
                         section_t *section_p)
{
    size_t n = strlen(prefix);
    for (size_t i = 0; i < elf->section_count; i++) {
        section_t section = section_at(elf, i);
        const char *name = text_at(elf, elf->names, section.name);
        if (name != NULL && strncmp(name, prefix, n) == 0 && strcmp(name + n, suffix) == 0) {
            *section_p = section;
            return true;
        }
    }
    return false;
}

/* Index of the function named entry in the symbol table. */
static bool find_function(const elf_t *elf, const char *entry, uint32_t *index_p)
{
    section_t table;
    if (!find_section(elf, ".symtab", "", &table) || !has_bytes(elf, &table))
        return false;
    for (uint64_t i = 0; (i + 1) * SYMBOL_SIZE <= table.size; i++) {
        const uint8_t *symbol = elf->bytes + table.at + i * SYMBOL_SIZE;
        const char *name = text_at(elf, table.link, load32(symbol));
        if ((symbol[4] & 15) == SYMBOL_FUNCTION && name != NULL && strcmp(name, entry) == 0) {
            *index_p = (uint32_t)i;
            return true;
        }
    }
    return false;
}

typedef struct {
    unsigned kind;
    const uint8_t *payload;
    size_t size;
} attr_t;

/* The next attribute of a section, from *at on; false at its end, or when it is cut. */
static bool next_attr(const elf_t *elf, const section_t *section, uint64_t *at, attr_t *attr)
{
    if (*at + 4 > section->size)
        return false;
    const uint8_t *head = elf->bytes + section->at + *at;
    *at += 4;
    *attr = (attr_t){.kind = head[1], .payload = head + 4};
    if (head[0] == FORMAT_SIZED) {
        attr->size = load16(head + 2);
        if (attr->size > section->size - *at)
            return false;
        *at += attr->size;
    }
    return true;
}

/* Attributes of functions: pairs of symbol index and value. */
static bool read_function_attrs(const elf_t *elf, uint32_t function, tsw_build_facts_t *facts)
{
    section_t section;
    if (!find_section(elf, ".nv.info", "", &section) || !has_bytes(elf, &section))
        return false;
    bool has_registers = false;
    uint64_t at = 0;
    for (attr_t attr; next_attr(elf, &section, &at, &attr);) {
        if (attr.size < 8 || load32(attr.payload) != function)
            continue;
        uint32_t value = load32(attr.payload + 4);
        if (attr.kind == ATTR_REGISTERS) {
            facts->registers = value;
            has_registers = true;
        } else if (attr.kind == ATTR_FRAME || attr.kind == ATTR_MIN_STACK) {
            facts->spill_bytes = value > facts->spill_bytes ? value : facts->spill_bytes;
        }
    }
    return has_registers;
}

/* Attributes of the entry's own section; it may have none. */
static void read_entry_attrs(const elf_t *elf, const char *entry, tsw_build_facts_t *facts)
{
    section_t section;
    if (!find_section(elf, ".nv.info.", entry, &section) || !has_bytes(elf, &section))
        return;
    uint64_t at = 0;
    for (attr_t attr; next_attr(elf, &section, &at, &attr);) {
        if (attr.size < 12)
            continue;
        uint64_t product = (uint64_t)load32(attr.payload) * load32(attr.payload + 4);
        product = product > UINT32_MAX ? UINT32_MAX : product * load32(attr.payload + 8);
        uint32_t value = product > UINT32_MAX ? UINT32_MAX : (uint32_t)product;
        if (attr.kind == ATTR_THREADS)
            facts->threads = value;
        else if (attr.kind == ATTR_CLUSTER && value > 0)
            facts->cluster = value;
    }
}

static tsw_arch_t arch_of(const elf_t *elf)
{
    uint32_t flags = load32(elf->bytes + 0x30);
    return elf->bytes[8] >= ABI_WIDE_FLAGS ? flags >> 8 & 0xff : flags & 0xff;
}

/* What the kernel itself uses. From sm_90 on its section has also what the system reserves. */
static uint32_t static_shared(const elf_t *elf, const char *entry)
{
    section_t section;
    if (!find_section(elf, ".nv.shared.", entry, &section))
        return 0;
    uint64_t reserved = arch_of(elf) >= 90 ? RESERVED_SHARED : 0;
    uint64_t bytes = section.size > reserved ? section.size - reserved : 0;
    return bytes > UINT32_MAX ? UINT32_MAX : (uint32_t)bytes;
}

tsw_status_t tsw_cubin_read(const void *bytes, size_t size, const char *entry,
                            tsw_build_facts_t *facts_p, tsw_err_t *err)
{
    elf_t elf;
    section_t section;
    uint32_t function = 0;
    tsw_build_facts_t facts = {.cluster = 1};
    tsw_status_t status = open_elf(bytes, size, &elf, err);
    if (status != TSW_OK)
        return status;
    if (!find_function(&elf, entry, &function) || !find_section(&elf, ".text.", entry, &section))
        return tsw_err_set(err, TSW_ERR_CORRUPT, "the cubin has no kernel named %s", entry);
    if (!read_function_attrs(&elf, function, &facts))
        return corrupt(err, "it does not tell the registers of its kernel");
    read_entry_attrs(&elf, entry, &facts);
    facts.shared_bytes = static_shared(&elf, entry);
    facts.cubin_bytes = (uint32_t)size;
    facts.cubin_key = tsw_key_of(bytes, size);
    *facts_p = facts;
    return TSW_OK;
}

tsw_status_t tsw_cubin_arch(const void *bytes, size_t size, tsw_arch_t *arch_p, tsw_err_t *err)
{
    elf_t elf;
    tsw_status_t status = open_elf(bytes, size, &elf, err);
    if (status != TSW_OK)
        return status;
    *arch_p = arch_of(&elf);
    return TSW_OK;
}
