#include "lib/net/secure.h"

#include "lib/core/bytes.h"
#include "lib/net/hello.h"

#include <endian.h>
#include <sodium.h>

enum {
	STREAM_HEADER = crypto_secretstream_xchacha20poly1305_HEADERBYTES,
	SEAL = crypto_secretstream_xchacha20poly1305_ABYTES,
	PROVING = PROOF_SIZE + STREAM_HEADER,
	LENGTH = sizeof(uint32_t),
	TYPE = sizeof(uint16_t),
};
_Static_assert(PROVING >= (int)HELLO_SIZE, "one array takes both steps");

enum step { AT_HELLO, AT_PROOF, AT_FRAMES, AT_FAILED };

struct secure {
	enum secure_role role;
	enum step step;
	bool sealed, ended, own_ended;
	struct token token;
	struct hello hello; /* ours */
	struct pact pact;
	unsigned char early[PROVING]; /* the step being received, hello or proof */
	size_t nearly;
	crypto_secretstream_xchacha20poly1305_state send, recv;
	struct bytes in, out; /* an incomplete frame; what is to be sent */
};

struct secure *secure_new(enum secure_role role, const struct token *t, struct err *e)
{
	struct secure *s;

	if (sodium_init() < 0) {
		err_set(e, ERR_SYS, "this host has no randomness for a secure connection");
		return NULL;
	}
	s = calloc(1, sizeof(*s));
	if (!s) {
		err_sys(e, "cannot make a secure connection");
		return NULL;
	}
	s->role = role;
	s->sealed = t != NULL;
	if (t)
		s->token = *t;
	hello_make(&s->hello, role, s->sealed);
	if (role == SECURE_CONNECTOR && bytes_add(&s->out, s->hello.bytes, HELLO_SIZE, e)) {
		secure_free(s);
		return NULL;
	}
	return s;
}

/* What a run says may be the code of another, and without a token nothing of it is sealed. */
static void wipe(struct bytes *b)
{
	if (b->cap)
		sodium_memzero(b->p, b->cap);
	bytes_done(b);
}

void secure_free(struct secure *s)
{
	if (!s)
		return;
	wipe(&s->in);
	wipe(&s->out);
	sodium_memzero(s, sizeof(*s));
	free(s);
}

static int show_proof(struct secure *s, struct err *e)
{
	unsigned char both[PROVING];

	memcpy(both, s->pact.proof[s->role], PROOF_SIZE);
	crypto_secretstream_xchacha20poly1305_init_push(&s->send, both + PROOF_SIZE,
							s->pact.key[s->role]);
	return bytes_add(&s->out, both, sizeof(both), e);
}

static int take_hello(struct secure *s, struct err *e)
{
	struct hello peer;
	bool accepts = s->role == SECURE_ACCEPTOR;

	memcpy(peer.bytes, s->early, HELLO_SIZE);
	s->step = s->sealed ? AT_PROOF : AT_FRAMES;
	if (s->sealed)
		pact_make(&s->pact, &s->token, accepts ? &peer : &s->hello,
			  accepts ? &s->hello : &peer);
	sodium_memzero(&s->token, sizeof(s->token));
	if (!accepts)
		return 0;
	if (bytes_add(&s->out, s->hello.bytes, HELLO_SIZE, e))
		return -1;
	return s->sealed ? show_proof(s, e) : 0;
}

static int take_proof(struct secure *s, struct err *e)
{
	enum secure_role peer = s->role == SECURE_CONNECTOR ? SECURE_ACCEPTOR : SECURE_CONNECTOR;

	if (sodium_memcmp(s->early, s->pact.proof[peer], PROOF_SIZE) != 0)
		return err_set(e, ERR_SYS, "the peer holds another token: it is of another run");
	if (crypto_secretstream_xchacha20poly1305_init_pull(&s->recv, s->early + PROOF_SIZE,
							    s->pact.key[peer]))
		return err_set(e, ERR_SYS, "the peer began its stream wrongly");
	if (s->role == SECURE_CONNECTOR && show_proof(s, e))
		return -1;
	s->step = AT_FRAMES;
	sodium_memzero(&s->pact, sizeof(s->pact));
	return 0;
}

/*
 * A peer of ours that cannot be talked to (another version, no token) gets the
 * hello that tells it so; a stranger gets nothing.
 */
static int refuse_hello(struct secure *s)
{
	struct err ignored;

	if (s->role == SECURE_ACCEPTOR && s->nearly == HELLO_SIZE &&
	    hello_check(&s->hello, s->early, HELLO_MAGIC_SIZE, &ignored) == 0)
		(void)!bytes_add(&s->out, s->hello.bytes, HELLO_SIZE, &ignored);
	return -1;
}

/* Takes what the present step lacks and not a byte more. */
static int take_early(struct secure *s, const unsigned char **p, size_t *n, struct err *e)
{
	size_t whole = s->step == AT_HELLO ? (size_t)HELLO_SIZE : (size_t)PROVING;
	size_t take = *n < whole - s->nearly ? *n : whole - s->nearly;

	memcpy(s->early + s->nearly, *p, take);
	s->nearly += take;
	*p += take;
	*n -= take;
	if (s->step == AT_HELLO && hello_check(&s->hello, s->early, s->nearly, e))
		return refuse_hello(s);
	if (s->nearly < whole)
		return 0;
	s->nearly = 0;
	if (s->step == AT_PROOF)
		return take_proof(s, e);
	if (*n && s->role == SECURE_ACCEPTOR)
		return err_set(e, ERR_SYS, "the peer sent more than a hello");
	return take_hello(s, e);
}

/* @plain: type and message, or nothing. */
static int hand_out(struct secure *s, const unsigned char *plain, size_t n,
		    const struct secure_sink *to, struct err *e)
{
	uint16_t type;

	if (!n) {
		s->ended = true;
		return 0;
	}
	memcpy(&type, plain, TYPE);
	if (to->message(to->arg, le16toh(type), plain + TYPE, n - TYPE))
		return err_set(e, ERR_SYS, "the peer sent a message that makes no sense");
	return 0;
}

/* Whoever changes the length before a frame makes it another frame, and none of ours. */
static int unseal(struct secure *s, const unsigned char *frame, size_t n,
		  const struct secure_sink *to, struct err *e)
{
	AUTO_FREE unsigned char *plain = malloc(n);
	const size_t plain_n = n - SEAL;
	unsigned char tag = 0;
	int rc;

	if (!plain)
		return err_sys(e, "cannot take a message of %zu bytes", n);
	if (crypto_secretstream_xchacha20poly1305_pull(&s->recv, plain, NULL, &tag, frame + LENGTH,
						       n, NULL, 0))
		return err_set(e, ERR_SYS, "a message was changed on its way");
	if ((tag == crypto_secretstream_xchacha20poly1305_TAG_FINAL) != !plain_n)
		rc = err_set(e, ERR_SYS, "the peer ended its stream wrongly");
	else
		rc = hand_out(s, plain, plain_n, to, e);
	sodium_memzero(plain, n);
	return rc;
}

/* The size of the frame that begins with the @n bytes at @p as far as they tell, or 0: impossible.
 */
static size_t frame_size(const struct secure *s, const unsigned char *p, size_t n)
{
	size_t seal = s->sealed ? SEAL : 0;
	uint32_t len;

	if (n < LENGTH)
		return LENGTH;
	memcpy(&len, p, LENGTH);
	len = le32toh(len);
	if (len < seal || len > seal + TYPE + SECURE_MAX_MESSAGE)
		return 0;
	return len == seal || len >= seal + TYPE ? LENGTH + len : 0;
}

static int take_frame(struct secure *s, const unsigned char *frame, size_t size,
		      const struct secure_sink *to, struct err *e)
{
	if (s->sealed)
		return unseal(s, frame, size - LENGTH, to, e);
	return hand_out(s, frame + LENGTH, size - LENGTH, to, e);
}

/* Adds to the incomplete frame what it lacks as far as that is known, and takes it when whole. */
static int gather(struct secure *s, const unsigned char **p, size_t *n,
		  const struct secure_sink *to, struct err *e)
{
	size_t lacks = frame_size(s, s->in.p, s->in.n) - s->in.n, take = *n < lacks ? *n : lacks;
	size_t size;
	int rc;

	if (bytes_add(&s->in, *p, take, e))
		return -1;
	*p += take;
	*n -= take;
	size = frame_size(s, s->in.p, s->in.n);
	if (!size)
		return err_set(e, ERR_SYS, "the peer sent a message of an impossible length");
	if (s->in.n < size)
		return 0;
	rc = take_frame(s, s->in.p, size, to, e);
	bytes_drop(&s->in, size);
	return rc;
}

/* A whole frame is taken where it lies. */
static int take_late(struct secure *s, const unsigned char **p, size_t *n,
		     const struct secure_sink *to, struct err *e)
{
	const unsigned char *frame = *p;
	size_t size = frame_size(s, frame, *n);

	if (s->ended)
		return err_set(e, ERR_SYS, "the peer spoke after the end of its stream");
	if (s->in.n || !size || size > *n)
		return gather(s, p, n, to, e);
	*p += size;
	*n -= size;
	return take_frame(s, frame, size, to, e);
}

int secure_feed(struct secure *s, const void *data, size_t n, const struct secure_sink *to,
		struct err *e)
{
	const unsigned char *p = data;
	int rc = 0;

	if (s->step == AT_FAILED)
		return err_set(e, ERR_SYS, "this connection failed before");
	while (!rc && n)
		rc = s->step == AT_FRAMES ? take_late(s, &p, &n, to, e) : take_early(s, &p, &n, e);
	if (rc)
		s->step = AT_FAILED;
	return rc;
}

/* What is to be sealed is laid behind the frame: libsodium does not promise to work in place. */
static int put_frame(struct secure *s, uint16_t type, const void *data, size_t n, bool last,
		     struct err *e)
{
	size_t plain_n = last ? 0 : TYPE + n, len = plain_n + (s->sealed ? (size_t)SEAL : 0);
	unsigned char *frame = bytes_room(&s->out, LENGTH + len + plain_n), *plain;
	uint32_t le_len = htole32((uint32_t)len);

	if (!frame)
		return err_sys(e, "cannot keep a message of %zu bytes", n);
	memcpy(frame, &le_len, LENGTH);
	type = htole16(type);
	plain = frame + LENGTH + (s->sealed ? len : 0);
	if (!last)
		memcpy(plain, &type, TYPE);
	if (n)
		memcpy(plain + TYPE, data, n);
	if (s->sealed) {
		crypto_secretstream_xchacha20poly1305_push(
			&s->send, frame + LENGTH, NULL, plain, plain_n, NULL, 0,
			last ? crypto_secretstream_xchacha20poly1305_TAG_FINAL : 0);
		sodium_memzero(plain, plain_n);
	}
	s->out.n += LENGTH + len;
	return 0;
}

int secure_seal(struct secure *s, uint16_t type, const void *data, size_t n, struct err *e)
{
	if (s->step != AT_FRAMES || s->own_ended)
		return err_set(e, ERR_SYS, "this connection is not open");
	if (n > SECURE_MAX_MESSAGE)
		return err_set(e, ERR_SYS, "a message of %zu bytes is too long", n);
	return put_frame(s, type, data, n, false, e);
}

int secure_end(struct secure *s, struct err *e)
{
	if (s->step != AT_FRAMES || s->own_ended)
		return err_set(e, ERR_SYS, "this connection is not open");
	s->own_ended = true;
	return put_frame(s, 0, NULL, 0, true, e);
}

const void *secure_output(const struct secure *s, size_t *ret_n)
{
	*ret_n = bytes_left(&s->out);
	return *ret_n ? bytes_first(&s->out) : NULL;
}

void secure_sent(struct secure *s, size_t n) { bytes_drop(&s->out, n); }
bool secure_is_open(const struct secure *s) { return s->step == AT_FRAMES; }
bool secure_is_ended(const struct secure *s) { return s->ended; }
