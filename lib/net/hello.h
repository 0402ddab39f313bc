#ifndef LIB_NET_HELLO_H
#define LIB_NET_HELLO_H
/*
 * What two ends show each other before they talk (see lib/net/secure.h): the
 * hello, the proofs and the keys. Pure functions over bytes; every secret in
 * them comes from libsodium.
 *
 *	0  8  "\x8fwindsck"  magic: no text protocol begins with it
 *	8  2  version, little-endian
 *	10 1  role: 0 connector, 1 acceptor
 *	11 1  sealed: 0 or 1
 *	12 32 nonce
 */
#include "lib/net/secure.h"

enum {
	HELLO_VERSION = 1,
	HELLO_MAGIC_SIZE = 8,
	HELLO_NONCE_AT = 12,
	HELLO_SIZE = 44,
	PROOF_SIZE = 32,
	KEY_SIZE = 32,
};

struct hello {
	unsigned char bytes[HELLO_SIZE];
};

/* @own with a fresh nonce; call sodium_init() before. */
void hello_make(struct hello *ret, enum secure_role role, bool sealed);
/*
 * Judges the first @n bytes of a peer's hello as far as they go: 0, or -1 with
 * the reason in @e. @own is this end's.
 */
int hello_check(const struct hello *own, const unsigned char *peer, size_t n,
		struct err *e) MUST_CHECK;

/* What both hellos said, under the token. */
struct pact {
	unsigned char proof[2][PROOF_SIZE]; /* by role: what that end has to show */
	unsigned char key[2][KEY_SIZE];	    /* by role: of what that end sends */
};
void pact_make(struct pact *ret, const struct token *t, const struct hello *connector,
	       const struct hello *acceptor);

#endif
