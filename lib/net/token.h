#ifndef LIB_NET_TOKEN_H
#define LIB_NET_TOKEN_H
/*
 * The secret of one run: 128 random bits. Pasted by a person as a code, handed
 * to our own processes over a control channel, never put on a command line by
 * us and never sent over a network in any form (see lib/net/secure.h).
 */
#include "lib/core/err.h"

enum { TOKEN_BYTES = 16, TOKEN_CODE_SIZE = 40 };
/* What a person types to make one: TOKEN_BYTES as hexadecimal digits, which are a code as well. */
#define TOKEN_RECIPE "openssl rand -hex 16"

struct token {
	unsigned char bytes[TOKEN_BYTES];
};

int token_new(struct token *ret, struct err *e) MUST_CHECK;
/* "AB3D-EF7H-...": letters and digits that cannot be taken for one another, with a check. */
void token_code(const struct token *t, char ret[TOKEN_CODE_SIZE]);
/* Blanks, dashes and case do not matter; a mistyped code is refused, not guessed. (32 hexadecimal
 * digits have no check: mistyped ones are another token.) */
int token_parse(const char *code, struct token *ret, struct err *e) MUST_CHECK;
/* Are these 32 hexadecimal digits? */
bool token_is_hex(const char *code);
void token_wipe(struct token *t);

#endif
