#ifndef LIB_REPORT_JSON_H
#define LIB_REPORT_JSON_H
/*
 * cJSON with guards: text that is not UTF-8 is mended on the way in
 * (interface names and log lines may hold any byte), what is unknown gets no
 * key, and documents from elsewhere are bounded before they are parsed.
 */
#include "lib/core/arena.h"
#include "lib/core/err.h"
#include "lib/core/utf8.h"

#include <cjson/cJSON.h>

void json_str(cJSON *object, const char *key, const char *value); /* NULL: no key */
void json_num(cJSON *object, const char *key, double value);	  /* NAN, infinite: no key */
void json_bool(cJSON *object, const char *key, bool value);
void json_push_str(cJSON *array, const char *value);
/* Without a copy: it stays for as long as the document does. Of millions it counts. */
void json_push_word(cJSON *array, const char *value);
cJSON *json_object(cJSON *object, const char *key); /* adds {} */
cJSON *json_array(cJSON *object, const char *key);  /* adds [] */
cJSON *json_push_object(cJSON *array);

/* Reading: absent or of another type gives NULL / the default. */
const cJSON *json_get(const cJSON *object, const char *key);
const char *json_get_str(const cJSON *object, const char *key);
const char *json_text(const cJSON *object, const char *key); /* "" in place of NULL */
/* The text to keep beyond the document; NULL: none. */
const char *json_copy(struct arena *a, const cJSON *object, const char *key);
double json_get_num(const cJSON *object, const char *key, double otherwise);
/* Whole numbers: what is none, or does not fit, gives the default, too. */
int json_get_int(const cJSON *object, const char *key, int otherwise);
uint64_t json_get_count(const cJSON *object, const char *key, uint64_t otherwise);
/* Bytes of the object or array that @text begins with; 0 when it does not end or is too deep. */
size_t json_span(const char *text, size_t n, size_t max_depth);
/* One document and nothing after it. The caller frees it with cJSON_Delete(). */
cJSON *json_parse(const char *text, size_t n, size_t max_depth, struct err *e) MUST_CHECK;
/* The documents of @text, one after the other; @take says with false that it wants no more.
 * @ret_n: how many it got. */
int json_each(const char *text, size_t n, size_t max_depth,
	      bool (*take)(void *arg, const cJSON *doc), void *arg, size_t *ret_n,
	      struct err *e) MUST_CHECK;

/*
 * Writes a tree for people and programs: two blanks per level, what is short
 * on one line, lists of plain values always, numbers without an exponent
 * where they can be. No newline at the end.
 */
void json_print(FILE *out, const cJSON *v);

#endif
