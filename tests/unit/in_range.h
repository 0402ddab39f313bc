#ifndef TESTS_UNIT_IN_RANGE_H
#define TESTS_UNIT_IN_RANGE_H
/* cmocka 1 has one assert_in_range, cmocka 2 wants to know of what. Include it after cmocka.h. */

#ifndef assert_uint_in_range
#define assert_uint_in_range assert_in_range
#endif

#endif
