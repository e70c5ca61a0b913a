/*
 * distinct.c: sorted lists of hashes.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "type/distinct.h"

#define ST_SORT sort_hashes
#define ST_ELEMENT_TYPE uint64
#define ST_COMPARE(a, b) (*(a) < *(b) ? -1 : *(a) > *(b))
#define ST_SCOPE static
#define ST_CHECK_FOR_INTERRUPTS
#define ST_DEFINE
#include "lib/sort_template.h"

int
pbf_distinct_hashes(uint64 *hashes, int n)
{
	int kept = 0;

	sort_hashes(hashes, n);
	for (int i = 0; i < n; i++)
	{
		if (i == 0 || hashes[i] != hashes[kept - 1])
			hashes[kept++] = hashes[i];
	}
	return kept;
}
