#ifndef PROBES_PREFLIGHT_DRIFT_VALUES_H
#define PROBES_PREFLIGHT_DRIFT_VALUES_H
/*
 * In one respect: what each host said, which of them are alike, and what most have. What comes
 * from another host is taken as the kind it must be, or not at all.
 */
#include "probes/preflight/drift.h"

#define DRIFT_NONE "none"
#define DRIFT_AS_USUAL "" /* drift_kind.none: the same fix */

struct drift_value {
	const char *host, *text;
	const char *more;	   /* or NULL */
	double number;		   /* of all kinds but TEXT */
	const struct answer *from; /* what it said beside it; or NULL */
	size_t alike;		   /* hosts that have this */
};
typedef LIST(struct drift_value) drift_values;

struct drift_kind {
	const char *key, *subject;
	enum {
		TEXT,
		COUNT,
		SIZE,
		ROOM, /* a size of which only less than the others' is odd, */
		RATE, /* and measured */
		LIMIT /* in digits, or "unlimited" */
	} type;
	/* Better than any other, however few have it: the highest number; or each text that does
	 * not begin so (NULL: none is worse). Otherwise what most have is the measure. */
	bool more_is_better;
	const char *worse;
	enum status st;
	const char *fix;   /* %s: what the others, or better ones, have; NULL: ours goes there */
	const char *above; /* the fix of a COUNT that is more than the others'; NULL: the same */
	/* A host that names none has none: the fix there. NULL: of one that names none it is not
	 * known. */
	const char *none;
	const char *part_of; /* the key of the whole of which it is a part; or NULL */
	double usual_part;   /* ... this one where nobody decided otherwise; 0: all of it */
	double enough;	     /* of a ROOM: so much of what the others have; 0: all of it */
	const char *more;    /* the key of a text that tells more of the odd one; or NULL */
	/* what the others have, as the fix takes it; NULL: as it is. Its text is one to type */
	const char *(*typed)(struct arena *a, const struct drift_value *v);
};
extern const struct drift_kind drift_kinds[];
extern const size_t drift_kinds_n;

/* The kind of this key; NULL: none is compared by it. */
const struct drift_kind *drift_kind_of(const char *key);
/* Of this key, wherever its run has put it; NULL: it names none. */
const cJSON *drift_fact(const struct answer *from, const char *key);
/* What one host said; false: it cannot be one of these. The host is not its matter. */
bool drift_read(struct arena *a, const struct drift_kind *k, const cJSON *said,
		struct drift_value *ret);
/* Of the hosts that said one, and "none" of those that have none of what half of them have. */
void drift_collect(struct arena *a, const struct answers *all, const struct drift_kind *k,
		   drift_values *ret);
bool drift_alike(const struct drift_kind *k, const struct drift_value *x,
		 const struct drift_value *y);
/* The value that most have; NULL: all are alike. */
const struct drift_value *drift_usual(struct arena *a, const struct drift_kind *k, drift_values *l);
/* What the others are judged by: @usual, or a better one that some have. */
const struct drift_value *drift_measure(const struct drift_kind *k, const drift_values *l,
					const struct drift_value *usual);

#endif
