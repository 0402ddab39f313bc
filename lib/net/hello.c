#include "lib/net/hello.h"

#include <sodium.h>

enum { VERSION_AT = HELLO_MAGIC_SIZE, ROLE_AT = 10, SEALED_AT = 11 };
_Static_assert(TOKEN_BYTES >= crypto_generichash_KEYBYTES_MIN, "a token is a hash key");
_Static_assert(KEY_SIZE == crypto_secretstream_xchacha20poly1305_KEYBYTES, "and makes stream keys");

static const unsigned char magic[HELLO_MAGIC_SIZE] = {0x8f, 'w', 'i', 'n', 'd', 's', 'c', 'k'};

void hello_make(struct hello *ret, enum secure_role role, bool sealed)
{
	memcpy(ret->bytes, magic, sizeof(magic));
	ret->bytes[VERSION_AT] = HELLO_VERSION & 0xff;
	ret->bytes[VERSION_AT + 1] = HELLO_VERSION >> 8;
	ret->bytes[ROLE_AT] = role;
	ret->bytes[SEALED_AT] = sealed;
	randombytes_buf(ret->bytes + HELLO_NONCE_AT, HELLO_SIZE - HELLO_NONCE_AT);
}

static int other_version(const unsigned char *peer, struct err *e)
{
	err_set(e, ERR_SYS, "the peer speaks version %d of windsock's protocol, this end %d",
		peer[VERSION_AT] | peer[VERSION_AT + 1] << 8, HELLO_VERSION);
	return err_hint(e, "install the same windsock on every host");
}

static int other_sealing(bool sealed, struct err *e)
{
	if (sealed)
		return err_set(e, ERR_SYS, "the peer has no token, and this end requires one");
	err_set(e, ERR_SYS, "the peer requires the token of its run, and this end has none");
	return err_hint(e, "set WINDSOCK_TOKEN to the same value on every host");
}

int hello_check(const struct hello *own, const unsigned char *peer, size_t n, struct err *e)
{
	const unsigned char *mine = own->bytes;

	if (memcmp(peer, magic, n < sizeof(magic) ? n : sizeof(magic)) != 0)
		return err_set(e, ERR_SYS, "the peer is not one of ours");
	if (n >= ROLE_AT && memcmp(peer + VERSION_AT, mine + VERSION_AT, ROLE_AT - VERSION_AT) != 0)
		return other_version(peer, e);
	if (n > ROLE_AT && peer[ROLE_AT] != !mine[ROLE_AT])
		return err_set(e, ERR_SYS, "the peer plays the same part as this end");
	if (n > SEALED_AT && peer[SEALED_AT] != mine[SEALED_AT])
		return other_sealing(mine[SEALED_AT], e);
	return 0;
}

/* Every label is as long as the others, so that no two inputs can be the same. */
static void derive(unsigned char ret[32], const char label[17], const struct token *t,
		   const struct hello *connector, const struct hello *acceptor)
{
	crypto_generichash_state hash;

	crypto_generichash_init(&hash, t->bytes, sizeof(t->bytes), 32);
	crypto_generichash_update(&hash, (const void *)label, 16);
	crypto_generichash_update(&hash, connector->bytes, HELLO_SIZE);
	crypto_generichash_update(&hash, acceptor->bytes, HELLO_SIZE);
	crypto_generichash_final(&hash, ret, 32);
	sodium_memzero(&hash, sizeof(hash));
}

void pact_make(struct pact *ret, const struct token *t, const struct hello *connector,
	       const struct hello *acceptor)
{
	derive(ret->proof[SECURE_CONNECTOR], "windsock proof c", t, connector, acceptor);
	derive(ret->proof[SECURE_ACCEPTOR], "windsock proof a", t, connector, acceptor);
	derive(ret->key[SECURE_CONNECTOR], "windsock sends c", t, connector, acceptor);
	derive(ret->key[SECURE_ACCEPTOR], "windsock sends a", t, connector, acceptor);
}
