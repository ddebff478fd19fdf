/* What a pack's lists lack, added to them. */
#ifndef TSW_RULES_WIDEN_H
#define TSW_RULES_WIDEN_H

#include "base/err.h"
#include "pack/arch.h"
#include "pack/pack.h"

/* The pack with the rows in it that its findings propose; no row brings a finding of its own.
 * text: its kernel.yaml in other words, NULL: as it is. arch: its list alone, 0: all.
 * *left_p: findings that stay open. TSW_ERR_UNSUPPORTED: the lists are not written in block style.
 * The caller frees the pack. */
tsw_status_t tsw_widen(const tsw_pack_t *pack, const char *text, tsw_arch_t arch,
                       tsw_pack_t **wider_p, size_t *left_p, tsw_err_t *err);

#endif
