/* The lint of a pack, for tests. */
#ifndef TSW_TESTS_RULES_LINT_H
#define TSW_TESTS_RULES_LINT_H

#include "rules/lint.h"

/* Fails the test where the lint itself does; tsw_lint_fini. */
tsw_lint_t rules_lint_of(const tsw_pack_t *pack);

#endif
