#include "lib/core/fix.h"

enum { MARK = sizeof(FIX_WORDS) - 1 };

bool fix_is_typed(const char *fix) { return !starts_with(fix, FIX_WORDS); }

const char *fix_text(const char *fix) { return fix + (fix_is_typed(fix) ? 0 : MARK); }

const char *fix_mark(const char *fix) { return fix_is_typed(fix) ? "->" : " -"; }
