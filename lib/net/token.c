#include "lib/net/token.h"

#include <sodium.h>

/*
 * The code: 28 letters of 5 bits, first bit first: the 16 bytes, then a CRC-12
 * of them. That guards against typing, not against anybody: it finds every
 * wrong letter and every swapped pair, where a hash would find most.
 */
enum { LETTERS = 28, GROUP = 4, CRC_BITS = 12, CRC_START = 0xfff, CRC_POLYNOMIAL = 0x80f };

static const char alphabet[] = "23456789ABCDEFGHJKLMNPQRSTUVWXYZ"; /* no 0 O, no 1 I */
static const char between[] = " -\t\r\n";

/* The token with its check behind it: 17.5 bytes. */
struct coded {
	unsigned char bytes[TOKEN_BYTES + 2];
};
static void coded_wipe(struct coded *c) { sodium_memzero(c, sizeof(*c)); }

int token_new(struct token *ret, struct err *e)
{
	if (sodium_init() < 0)
		return err_set(e, ERR_SYS, "this host has no randomness to make a token of");
	randombytes_buf(ret->bytes, sizeof(ret->bytes));
	return 0;
}

void token_wipe(struct token *t) { sodium_memzero(t, sizeof(*t)); }

static unsigned crc12(const unsigned char *p, size_t n)
{
	unsigned crc = CRC_START;

	for (size_t i = 0; i < n * 8; i++) {
		unsigned in = p[i / 8] >> (7 - i % 8) & 1, out = crc >> (CRC_BITS - 1) & 1;

		crc = (crc << 1 & CRC_START) ^ (in != out ? CRC_POLYNOMIAL : 0);
	}
	return crc;
}

static void add_check(struct coded *c)
{
	unsigned crc = crc12(c->bytes, TOKEN_BYTES);

	c->bytes[TOKEN_BYTES] = (unsigned char)(crc >> 4);
	c->bytes[TOKEN_BYTES + 1] = (unsigned char)(crc << 4);
}

void token_code(const struct token *t, char ret[TOKEN_CODE_SIZE])
{
	AUTO(coded_wipe) struct coded c;

	memcpy(c.bytes, t->bytes, TOKEN_BYTES);
	add_check(&c);
	for (unsigned i = 0; i < LETTERS; i++) {
		unsigned v = 0;

		for (unsigned bit = i * 5; bit < i * 5 + 5; bit++)
			v = v << 1 | (c.bytes[bit / 8] >> (7 - bit % 8) & 1);
		if (i && i % GROUP == 0)
			*ret++ = '-';
		*ret++ = alphabet[v];
	}
	*ret = '\0';
}

/* 0..31, or -1. */
static int value_of(char c)
{
	const char *at;

	if (c >= 'a' && c <= 'z')
		c = (char)(c - 'a' + 'A');
	at = c ? strchr(alphabet, c) : NULL;
	return at ? (int)(at - alphabet) : -1;
}

/* What is wrong is said without showing the code: it is a secret, nearly right as well. */
static int refuse(struct err *e, const char *why)
{
	err_set(e, ERR_USAGE, "that is not a code of ours: %s", why);
	return err_hint(e, "copy the whole line again that the first machine printed");
}

static bool from_hex(const char *code, struct token *ret)
{
	size_t n;

	return !sodium_hex2bin(ret->bytes, sizeof(ret->bytes), code, strlen(code), between, &n,
			       NULL) &&
	       n == sizeof(ret->bytes);
}

bool token_is_hex(const char *code)
{
	AUTO(token_wipe) struct token t;

	return from_hex(code, &t);
}

int token_parse(const char *code, struct token *ret, struct err *e)
{
	AUTO(coded_wipe) struct coded c = {0}, check;
	AUTO(token_wipe) struct token hex;
	unsigned n = 0;

	if (from_hex(code, &hex)) {
		*ret = hex;
		return 0;
	}
	for (; *code; code++) {
		int v = value_of(*code);

		if (strchr(between, *code))
			continue;
		if (v < 0)
			return refuse(e, "it holds a character that no code has");
		if (n == LETTERS)
			return refuse(e, "it is too long");
		for (unsigned i = 0, bit = n++ * 5; i < 5; i++, bit++)
			c.bytes[bit / 8] |= (unsigned char)((v >> (4 - i) & 1) << (7 - bit % 8));
	}
	if (n < LETTERS)
		return refuse(e, n ? "a part of it is missing" : "it is empty");
	check = c;
	add_check(&check);
	if (sodium_memcmp(check.bytes, c.bytes, sizeof(c.bytes)) != 0)
		return refuse(e, "a letter of it is wrong");
	memcpy(ret->bytes, c.bytes, TOKEN_BYTES);
	return 0;
}
