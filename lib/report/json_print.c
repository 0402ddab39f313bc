/*
 * cJSON's own printer indents with tabs, gives every number of a list its own
 * line and writes 0.1 + 0.2 with all its digits.
 */
#include "lib/report/json.h"

#include "lib/core/term.h"

#include <math.h>

enum { LINE = 100 };

static void print(FILE *out, const cJSON *v, unsigned indent);

static void put_string(FILE *out, const char *s)
{
	static const char plain[] = "\"\\\b\f\n\r\t", letter[] = "\"\\bfnrt";
	uint32_t c;

	fputc('"', out);
	for (size_t took; *s; s += took) {
		const char *p = strchr(plain, *s);

		took = utf8_next(s, 4, &c);
		if (p)
			fprintf(out, "\\%c", letter[p - plain]);
		else if (c > 0xffff && !term_prints(c) && c != UTF8_BAD)
			fprintf(out, "\\u%04x\\u%04x", 0xd7c0 + (c >> 10), 0xdc00 + (c & 0x3ff));
		else if (!term_prints(c) && c != UTF8_BAD)
			fprintf(out, "\\u%04x", c);
		else
			fwrite(s, 1, took, out);
	}
	fputc('"', out);
}

static int number(char *buf, size_t n, double v)
{
	if (!isfinite(v))
		return snprintf(buf, n, "null");
	if (v == 0)
		return snprintf(buf, n, "0");	       /* -0 puzzles readers */
	if (fabs(v) < 1e17 && v == (double)(int64_t)v) /* floor() would bring libm */
		return snprintf(buf, n, "%.0f", v);
	snprintf(buf, n, "%.15g", v);
	return strtod(buf, NULL) == v ? (int)strlen(buf) : snprintf(buf, n, "%.17g", v);
}

/* Columns on one line; counting stops beyond LINE. An upper bound where text is not ASCII. */
static size_t width(const cJSON *v)
{
	char buf[40];
	size_t w = v->string ? strlen(v->string) + 4 : 0;

	if (cJSON_IsString(v))
		return w + strlen(v->valuestring) + 2;
	if (cJSON_IsNumber(v))
		return w + (size_t)number(buf, sizeof(buf), v->valuedouble);
	if (!cJSON_IsArray(v) && !cJSON_IsObject(v))
		return w + 5;
	w += 2;
	for (const cJSON *c = v->child; c && w <= LINE; c = c->next)
		w += width(c) + 2;
	return w;
}

static bool has_parts(const cJSON *v)
{
	for (const cJSON *c = v->child; c; c = c->next)
		if (cJSON_IsArray(c) || cJSON_IsObject(c))
			return true;
	return false;
}

static void put_children(FILE *out, const cJSON *v, unsigned indent, bool lines)
{
	for (const cJSON *c = v->child; c; c = c->next) {
		if (lines)
			fprintf(out, "\n%*s", (int)indent + 2, "");
		if (cJSON_IsObject(v)) {
			put_string(out, c->string);
			fputs(": ", out);
		}
		print(out, c, indent + 2);
		if (c->next)
			fputs(lines ? "," : ", ", out);
	}
	if (lines)
		fprintf(out, "\n%*s", (int)indent, "");
}

static void print(FILE *out, const cJSON *v, unsigned indent)
{
	char buf[40];

	if (cJSON_IsString(v)) {
		put_string(out, v->valuestring);
	} else if (cJSON_IsNumber(v)) {
		number(buf, sizeof(buf), v->valuedouble);
		fputs(buf, out);
	} else if (cJSON_IsArray(v)) {
		bool rows = has_parts(v) && v->child;

		fputc('[', out);
		put_children(out, v, indent, rows && (indent == 2 || indent + width(v) > LINE));
		fputc(']', out);
	} else if (cJSON_IsObject(v)) {
		fputc('{', out);
		put_children(out, v, indent, v->child && (!indent || indent + width(v) > LINE));
		fputc('}', out);
	} else {
		fputs(cJSON_IsBool(v) ? (cJSON_IsTrue(v) ? "true" : "false") : "null", out);
	}
}

void json_print(FILE *out, const cJSON *v) { print(out, v, 0); }
