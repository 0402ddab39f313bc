#ifndef LIB_REPORT_JSON_H
#define LIB_REPORT_JSON_H
/*
 * cJSON with two guards: text that is not UTF-8 is mended on the way in
 * (interface names and log lines may hold any byte), and documents from
 * elsewhere are bounded before they are parsed.
 */
#include "lib/core/arena.h"
#include "lib/core/err.h"

#include <cjson/cJSON.h>

void json_str(cJSON *object, const char *key, const char *value); /* NULL: no key */
void json_num(cJSON *object, const char *key, double value);      /* NAN: no key */
void json_bool(cJSON *object, const char *key, bool value);
void json_push_str(cJSON *array, const char *value);
cJSON *json_object(cJSON *object, const char *key); /* adds {} */
cJSON *json_array(cJSON *object, const char *key);  /* adds [] */
cJSON *json_push_object(cJSON *array);
char *utf8_mend(struct arena *a, const char *s);

/* Reading: absent or of another type gives NULL / the default. */
const char *json_get_str(const cJSON *object, const char *key);
double json_get_num(const cJSON *object, const char *key, double otherwise);
cJSON *json_parse(const char *text, size_t n, size_t max_depth, struct err *e) MUST_CHECK;

#endif
