#ifndef PROBES_HTML_HTML_H
#define PROBES_HTML_HTML_H
/*
 * A run as one page: what an envelope (schema 1, of any command) says, as HTML
 * that asks no network for anything, reads in the dark and on paper, works with
 * a keyboard and a screen reader, and without its script still says everything.
 * The envelope itself is inside: html_envelope() finds it again. Of very many hosts it has what
 * is wrong, and what they are: of all else only --json has each one's words.
 */
#include "lib/core/arena.h"
#include "lib/core/err.h"
#include "lib/core/text.h"

#include <cjson/cJSON.h>

/* The page of @doc. Texts in @a; @doc need not outlive the call. */
void html_page(const cJSON *doc, struct arena *a, struct text *ret);
/* Where the envelope stands in such a page; NULL when @page is none. */
const char *html_envelope(const char *page, size_t n, size_t *ret_n);

#endif
