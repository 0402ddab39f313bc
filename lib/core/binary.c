#include "lib/core/binary.h"

#include "lib/core/utf8.h"

enum {
	ENOUGH = 64, /* bytes that are not NUL */
	CONTROL_LEAST =
		5,	/* percent: of docker's headers there are fewer where lines are long ... */
	ODD_LEAST = 13, /* ... and they are not UTF-8 in hardly any place */
};

/* No terminal and no program that writes text has a use for it. */
static bool is_control(unsigned char c)
{
	return (c > 0 && c < '\a') || (c > '\r' && c < 27) || (c > 27 && c < ' ') || c == 127;
}

/* Of a character in UTF-8, whose end may lie behind these @n bytes; 0: it is none. */
static size_t length_of(const unsigned char *s, size_t n)
{
	size_t len = utf8_length(*s);

	for (size_t i = 1; i < len; i++)
		if (i < n && (s[i] & 0xc0) != 0x80)
			return 0;
	return len;
}

bool binary_begins(const char *head, size_t n)
{
	const unsigned char *s = (const unsigned char *)head;
	size_t known = 0, control = 0, broken = 0;

	n = n < BINARY_HEAD ? n : BINARY_HEAD;
	for (size_t i = 0; i < n;) {
		size_t len = length_of(s + i, n - i);

		known += s[i] != 0;
		control += is_control(s[i]);
		broken += !len;
		i += len ? len : 1;
	}
	return known >= ENOUGH && control * 100 >= known * CONTROL_LEAST &&
	       (control + broken) * 100 >= known * ODD_LEAST;
}
