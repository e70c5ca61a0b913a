/*
 * options.c: WITH (...) of CREATE INDEX. They are frozen in the metapage when the index is built: ALTER INDEX
 * SET takes effect with the next REINDEX.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/reloptions.h"
#include "fmgr.h"
#include "utils/relcache.h"

#include "index/keys.h"
#include "index/options.h"
#include "index/size.h"

PG_FUNCTION_INFO_V1(pbfidx_element_options);
PG_FUNCTION_INFO_V1(pbfidx_document_options);
PG_FUNCTION_INFO_V1(pbfidx_gram_options);

static relopt_kind pbfidx_relopt_kind;

void
pbfidx_init_options(void)
{
	pbfidx_relopt_kind = add_reloption_kind();
	add_real_reloption(
	    pbfidx_relopt_kind, "false_positive_rate",
	    "Rate at which a range of heap pages is read in vain (1e-9 to 0.5); by default CREATE INDEX chooses.",
	    PBFIDX_CHOSEN_FPR, PBFIDX_MIN_FPR, PBFIDX_MAX_FPR, AccessExclusiveLock);
	add_int_reloption(pbfidx_relopt_kind, "pages_per_range",
	                  "Heap pages in a range; 0 lets CREATE INDEX choose (0 to 131072).", 0, 0,
	                  PBFIDX_MAX_PAGES_PER_RANGE, AccessExclusiveLock);
}

bytea *
pbfidx_options(Datum reloptions, bool validate)
{
	static const relopt_parse_elt table[] = {
	    {.optname = "false_positive_rate",
	     .opttype = RELOPT_TYPE_REAL,
	     .offset = offsetof(PbfidxOptions, false_positive_rate)},
	    {.optname = "pages_per_range",
	     .opttype = RELOPT_TYPE_INT,
	     .offset = offsetof(PbfidxOptions, pages_per_range)},
	};

	return build_reloptions(reloptions, validate, pbfidx_relopt_kind, sizeof(PbfidxOptions), table,
	                        lengthof(table));
}

/* ---- options of operator classes ---- */

/*
 * Measured by test/bench/multikey.sh (doc/benchmarks.md). Of a query of one or two keys each should bring few
 * false ranges; a query of many, as patterns over trigrams are, multiplies the rates of all. Arrays come
 * between: GIN stores the elements that many rows share in so few bytes that more bits would not be worth it.
 */
#define ELEMENT_BITS 11.3
#define DOCUMENT_BITS 16.0
#define GRAM_BITS 7.0

static void
define_options(FunctionCallInfo fcinfo, double bits_per_key)
{
	local_relopts *relopts = (local_relopts *) PG_GETARG_POINTER(0);

	init_local_reloptions(relopts, sizeof(PbfidxClassOptions));
	add_local_real_reloption(relopts, "bits_per_key",
	                         "Bits of the index for each distinct key of a range (1 to 32).", bits_per_key,
	                         PBFIDX_MIN_BITS, PBFIDX_MAX_BITS, offsetof(PbfidxClassOptions, bits_per_key));
}

/* For arrays and sets. */
Datum
pbfidx_element_options(PG_FUNCTION_ARGS)
{
	define_options(fcinfo, ELEMENT_BITS);
	PG_RETURN_VOID();
}

/* For documents: keys and values, words. */
Datum
pbfidx_document_options(PG_FUNCTION_ARGS)
{
	define_options(fcinfo, DOCUMENT_BITS);
	PG_RETURN_VOID();
}

/* For classes whose queries have many keys: trigrams and the like. */
Datum
pbfidx_gram_options(PG_FUNCTION_ARGS)
{
	define_options(fcinfo, GRAM_BITS);
	PG_RETURN_VOID();
}

/* Whether options are ours, and their default; a class without such a function is taken for one of documents.
 */
static bool
is_our_function(Oid function, double *bits_per_key)
{
	FmgrInfo info = {.fn_addr = NULL};

	if (OidIsValid(function))
		fmgr_info(function, &info);
	*bits_per_key = info.fn_addr == pbfidx_element_options ? ELEMENT_BITS
	                : info.fn_addr == pbfidx_gram_options  ? GRAM_BITS
	                                                       : DOCUMENT_BITS;
	return info.fn_addr == pbfidx_element_options || info.fn_addr == pbfidx_document_options ||
	       info.fn_addr == pbfidx_gram_options;
}

double
pbfidx_default_bits_per_key(Oid function)
{
	double bits_per_key;

	is_our_function(function, &bits_per_key);
	return bits_per_key;
}

double
pbfidx_bits_per_key(Relation index, int column)
{
	double bits_per_key;
	bool ours = is_our_function(index_getprocid(index, column + 1, PBFIDX_OPTIONS_PROC), &bits_per_key);
	bytea *options = RelationGetIndexAttOptions(index, true)[column];

	return ours && options != NULL ? ((PbfidxClassOptions *) options)->bits_per_key : bits_per_key;
}
