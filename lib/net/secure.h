#ifndef LIB_NET_SECURE_H
#define LIB_NET_SECURE_H
/*
 * Both ends prove that they hold the run's token and then talk sealed: a pure
 * state machine over bytes, no sockets, so that it can be tested and fuzzed.
 * libsodium does the cryptography: keyed hashes (crypto_generichash) over both
 * hellos with their fresh nonces and a label per role for the proof, keys per
 * direction derived from the same, crypto_secretstream for the messages.
 *
 *	connector                              acceptor
 *	hello                        ->
 *	                             <-        hello, proof, stream header
 *	proof, stream header, frames ->
 *	                             <-        frames
 *
 * Before the proof a peer may send that and nothing else; the first wrong byte
 * ends it. With token NULL (a foreign launcher without WINDSOCK_TOKEN) frames
 * travel unsealed right after the hellos, which say so; an end that requires a
 * token refuses. Layout: lib/net/hello.h for what is before the frames. A frame
 * is its length (u32) and as much: the type (u16) and the message, sealed or
 * not. An empty message of no type is the end of the stream.
 */
#include "lib/core/err.h"
#include "lib/net/token.h"

enum secure_role { SECURE_CONNECTOR, SECURE_ACCEPTOR };
enum { SECURE_MAX_MESSAGE = 1 << 20 };

struct secure;
/* Copies the token. NULL with @e: no memory, or no randomness on this host. */
struct secure *secure_new(enum secure_role role, const struct token *t, struct err *e) MUST_CHECK;
void secure_free(struct secure *s); /* not from within secure_feed() */

/* Who gets each whole message, in order; it may seal answers, and stops the feeding with -1. */
struct secure_sink {
	int (*message)(void *arg, uint16_t type, const void *data, size_t n);
	void *arg;
};
/*
 * Feeds what was received. -1 with @e when @to stopped it, or
 * when the peer is not one of ours, holds another token, sent junk or a frame
 * beyond the limit: close the connection, say @e at debug level only. What
 * secure_output() has then may still be sent: a hello that tells the peer why.
 */
int secure_feed(struct secure *s, const void *data, size_t n, const struct secure_sink *to,
		struct err *e) MUST_CHECK;
/* Seals one message; only when secure_is_open() and not after secure_end(). */
int secure_seal(struct secure *s, uint16_t type, const void *data, size_t n,
		struct err *e) MUST_CHECK;
/* Seals the end of the stream, so that the peer can tell it from a cut. */
int secure_end(struct secure *s, struct err *e) MUST_CHECK;
/* What has to be sent now (hello, proof, sealed frames); secure_sent() drops it. */
const void *secure_output(const struct secure *s, size_t *ret_n);
void secure_sent(struct secure *s, size_t n);
bool secure_is_open(const struct secure *s);  /* both proofs were good */
bool secure_is_ended(const struct secure *s); /* the peer's end came */

#endif
