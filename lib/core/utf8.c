#include "lib/core/utf8.h"

#include "lib/core/text.h"

size_t utf8_length(unsigned char first)
{
	if (first < 0x80)
		return 1;
	if (first >= 0xc2 && first <= 0xdf)
		return 2;
	if (first >= 0xe0 && first <= 0xef)
		return 3;
	return first >= 0xf0 && first <= 0xf4 ? 4 : 0;
}

size_t utf8_next(const char *text, size_t n, uint32_t *ret)
{
	const unsigned char *s = (const void *)text;
	/* The second byte has a narrower range where longer forms and surrogates begin. */
	unsigned char lo = s[0] == 0xe0 ? 0xa0 : s[0] == 0xf0 ? 0x90 : 0x80;
	unsigned char hi = s[0] == 0xed ? 0x9f : s[0] == 0xf4 ? 0x8f : 0xbf;
	size_t len = utf8_length(s[0]);
	uint32_t c = len < 2 ? s[0] : s[0] & (0x7fu >> len);

	*ret = UTF8_BAD;
	if (!len)
		return 1;
	for (size_t i = 1; i < len; i++, lo = 0x80, hi = 0xbf) {
		if (i >= n || s[i] < lo || s[i] > hi)
			return i;
		c = c << 6 | (s[i] & 0x3f);
	}
	*ret = c;
	return len;
}

static const char *first_bad(const char *s)
{
	uint32_t c = 0;

	for (size_t took; *s; s += took) {
		took = utf8_next(s, 4, &c);
		if (c == UTF8_BAD)
			break;
	}
	return s;
}

const char *utf8_mend(struct arena *a, const char *s)
{
	const char *bad = first_bad(s);
	struct text t;
	uint32_t c;

	if (!*bad)
		return s;
	text_init(&t, a);
	while (text_addn(&t, s, (size_t)(bad - s)), *bad) {
		s = bad + utf8_next(bad, 4, &c);
		text_add(&t, "\xef\xbf\xbd");
		bad = first_bad(s);
	}
	return t.s;
}

size_t utf8_put(uint32_t c, char ret[4])
{
	if (c < 0x80) {
		ret[0] = (char)c;
		return 1;
	}
	ret[0] = (char)(c < 0x800     ? 0xc0 | c >> 6
			: c < 0x10000 ? 0xe0 | c >> 12
				      : 0xf0 | (c >> 18 & 7));
	ret[1] = (char)(0x80 | (c < 0x800 ? c & 63 : c < 0x10000 ? c >> 6 & 63 : c >> 12 & 63));
	ret[2] = (char)(0x80 | (c < 0x10000 ? c & 63 : c >> 6 & 63));
	ret[3] = (char)(0x80 | (c & 63));
	return c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
}
