#ifndef LIB_FLIGHT_SHAPE_H
#define LIB_FLIGHT_SHAPE_H
/* Of entries.c: what an entry was called with, and where, as words that many have in common. */
#include "lib/flight/flight.h"
#include "lib/flight/value.h"

flight_word shape_sizes(struct flight *f, const struct value *list);
flight_word shape_types(struct flight *f, const struct value *list);
/* Where the program itself was. */
flight_word shape_frame(struct flight *f, const struct value *list);

#endif
