/* Codes: exact letters, every slip of a finger refused, nothing secret in what is said. */
#include "lib/net/token.h"

#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

enum { LETTERS = 28, CODE_LEN = 34 };
static const char alphabet[] = "23456789ABCDEFGHJKLMNPQRSTUVWXYZ";
static struct err err;

static const struct token counted = {
	{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
};

/* Computed apart, with Python. */
static const struct {
	struct token token;
	const char *code;
} known[] = {
	{{{0}}, "2222-2222-2222-2222-2222-2222-238F"},
	{{{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}},
	 "222J-62S6-2N52-G42B-3A7J-S5AG-3X8W"},
	{{{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
	   0xff}},
	 "ZZZZ-ZZZZ-ZZZZ-ZZZZ-ZZZZ-ZZZZ-ZXWH"},
};

static void t_known(void **state)
{
	char code[TOKEN_CODE_SIZE];
	struct token t;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(known); i++) {
		token_code(&known[i].token, code);
		assert_string_equal(code, known[i].code);
		assert_int_equal(token_parse(code, &t, &err), 0);
		assert_memory_equal(&t, &known[i].token, sizeof(t));
	}
}

static void t_round_trip(void **state)
{
	char code[TOKEN_CODE_SIZE];
	struct token t, back, last = {0};

	(void)state;
	for (int i = 0; i < 2000; i++) {
		assert_int_equal(token_new(&t, &err), 0);
		assert_memory_not_equal(&t, &last, sizeof(t));
		last = t;
		token_code(&t, code);
		assert_int_equal(strlen(code), CODE_LEN);
		assert_int_equal(strspn(code, "23456789ABCDEFGHJKLMNPQRSTUVWXYZ-"), CODE_LEN);
		assert_int_equal(token_parse(code, &back, &err), 0);
		assert_memory_equal(&t, &back, sizeof(t));
	}
	token_wipe(&t);
	assert_memory_equal(&t, &(struct token){0}, sizeof(t));
}

static void t_blanks_dashes_case(void **state)
{
	char code[TOKEN_CODE_SIZE], odd[128];
	struct token t;
	size_t n = 0;

	(void)state;
	token_code(&counted, code);
	odd[n++] = '\t';
	for (const char *p = code; *p; p++) {
		if (*p == '-')
			continue;
		odd[n++] = (char)tolower((unsigned char)*p);
		odd[n] = n % 3 ? ' ' : '-', n++;
	}
	memcpy(odd + n, "\r\n", 3);
	assert_int_equal(token_parse(odd, &t, &err), 0);
	assert_memory_equal(&t, &counted, sizeof(t));
}

/* What openssl rand -hex 16 prints, and what else is written so (a UUID). */
static void t_hexadecimal(void **state)
{
	static const char *const same[] = {
		"000102030405060708090a0b0c0d0e0f",
		"000102030405060708090A0B0C0D0E0F\n",
		" 00010203-0405-0607-0809-0a0b0c0d0e0f",
	};
	struct token t;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(same); i++) {
		t = (struct token){0};
		assert_int_equal(token_parse(same[i], &t, &err), 0);
		assert_memory_equal(&t, &counted, sizeof(t));
		assert_true(token_is_hex(same[i]));
	}
	for (size_t i = 0; i < ARRAY_LEN(known); i++)
		assert_false(token_is_hex(known[i].code));
	assert_false(token_is_hex("node0"));
}

static void refused(const char *code, const char *why)
{
	struct token t = counted;

	err = (struct err){0};
	assert_int_equal(token_parse(code, &t, &err), -1);
	assert_memory_equal(&t, &counted, sizeof(t));
	assert_int_equal(err.kind, ERR_USAGE);
	assert_non_null(strstr(err.msg, why));
	assert_true(*err.hint);
}

static void t_refused(void **state)
{
	char code[TOKEN_CODE_SIZE], longer[TOKEN_CODE_SIZE + 8];

	(void)state;
	refused("", "empty");
	refused(" - - ", "empty");
	refused("ABCD", "missing");
	refused("000102030405060708090a0b0c0d0e0", "no code has");
	refused("000102030405060708090a0b0c0d0e0f0", "no code has");
	refused("000102030405060708090a0b0c0d0e0f10", "no code has");
	token_code(&counted, code);
	snprintf(longer, sizeof(longer), "%sA", code);
	refused(longer, "too long");
	code[CODE_LEN - 1] = '\0';
	refused(code, "missing");
	for (const char *p = "01IiOo_.,:/+=\x80\xff"; *p; p++) {
		token_code(&counted, code);
		code[7] = *p;
		refused(code, "no code has");
	}
	/* An all-alike code is what a person tries, and what a cleared memory looks like. */
	refused("2222-2222-2222-2222-2222-2222-2222", "wrong");
	refused("ZZZZ-ZZZZ-ZZZZ-ZZZZ-ZZZZ-ZZZZ-ZZZZ", "wrong");
}

/* Not most of them: all. And the message must not help to mend the code. */
static void t_every_wrong_letter(void **state)
{
	char code[TOKEN_CODE_SIZE];

	(void)state;
	token_code(&counted, code);
	for (size_t i = 0; i < CODE_LEN; i++) {
		char right = code[i];

		if (right == '-')
			continue;
		for (const char *p = alphabet; *p; p++) {
			code[i] = *p;
			if (*p != right)
				refused(code, "a letter of it is wrong");
		}
		code[i] = right;
	}
}

static void t_every_swap(void **state)
{
	(void)state;
	for (int round = 0; round < 200; round++) {
		char code[TOKEN_CODE_SIZE];
		struct token t;

		assert_int_equal(token_new(&t, &err), 0);
		token_code(&t, code);
		for (size_t i = 0; i + 1 < CODE_LEN; i++) {
			size_t next = i + 1 + (code[i + 1] == '-');
			char c = code[i];

			if (c == '-' || c == code[next])
				continue;
			code[i] = code[next], code[next] = c;
			refused(code, "a letter of it is wrong");
			code[next] = code[i], code[i] = c;
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(t_known),
		cmocka_unit_test(t_round_trip),
		cmocka_unit_test(t_blanks_dashes_case),
		cmocka_unit_test(t_hexadecimal),
		cmocka_unit_test(t_refused),
		cmocka_unit_test(t_every_wrong_letter),
		cmocka_unit_test(t_every_swap),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
