/*
 * value.c: from a value of any SQL type to its kind and its 64-bit hash.
 *
 * The rule of a type follows from its default equality, never from its name:
 *
 * 1. A built-in type of the table `rules` has canonical bytes of our own. Found without any catalog access.
 * 2. A domain goes by its base type.
 * 3. Any other type goes by the input type of its default hash operator class (without one: of its btree
 *    operator class). If that is in `rules`, the type is binary coercible to it, compares by its operators,
 *    and so has its rule: varchar to text, regclass to oid, cidr to inet, and user types likewise.
 *    This needs the hash class to agree with the type's `=`, which the type cache tells: no agreement, no
 *    hash function.
 * 4. What is left is hashed by its own extended hash function: arrays, ranges, records, jsonb, types of
 *    extensions. Such a hash is stable only as far as that function is. All components of such a value are
 *    hashed by the server's functions too: an enum inside an array goes by its OID.
 *
 * The canonical bytes are published in doc/format.md and frozen. They are little-endian everywhere.
 */
#include "postgres.h"

#include <math.h>
#include <sys/socket.h>

#include "access/hash.h"
#include "access/htup_details.h"
#include "access/transam.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_conversion.h"
#include "catalog/pg_enum.h"
#include "catalog/pg_language.h"
#include "catalog/pg_namespace.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_range.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "parser/parse_coerce.h"
#include "utils/builtins.h"
#include "utils/date.h"
#include "utils/inet.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/numeric.h"
#include "utils/regproc.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"
#include "utils/typcache.h"
#include "utils/uuid.h"
#include "utils/varbit.h"

#include "compat.h"
#include "core/hash.h"
#include "type/value.h"

/* src/type/io.c: the input function of type pbf, by which that type is known. */
extern PGDLLEXPORT Datum pbf_in(PG_FUNCTION_ARGS);

/* The hash functions of single values: one signature, few of them need the hasher. */
#define VALUE_HASH(name) static uint64 name(PbfHasher *hasher pg_attribute_unused(), Datum value)

/* ---- helpers ---- */

/* Writes the low n bytes of v, least significant first. */
static inline void
put_le(uint8 *to, uint64 v, int n)
{
	for (int i = 0; i < n; i++)
		to[i] = (uint8) (v >> (8 * i));
}

static inline uint16
get_be16(const uint8 *from)
{
	return (uint16) (from[0] << 8 | from[1]);
}

/* Division that rounds towards minus infinity; b > 0. */
static inline int64
floor_div(int64 a, int64 b)
{
	return a / b - (a % b < 0);
}

/* Frees what detoasting `value` allocated, if it did. */
static inline void
free_copy(void *detoasted, Datum value)
{
	if (detoasted != DatumGetPointer(value))
		pfree(detoasted);
}

static bool
is_ascii(const char *s, size_t n)
{
	unsigned char all = 0;

	for (size_t i = 0; i < n; i++)
		all |= (unsigned char) s[i];
	return !IS_HIGHBIT_SET(all);
}

/* The server's conversion from the database encoding to UTF-8, whatever the search_path has; NULL: none. */
static FmgrInfo *
utf8_conversion(void)
{
	static FmgrInfo function;
	static bool known = false;
	Oid oid;

	if (!known)
	{
		oid = FindDefaultConversion(PG_CATALOG_NAMESPACE, GetDatabaseEncoding(), PG_UTF8);
		if (OidIsValid(oid))
			fmgr_info_cxt(oid, &function, TopMemoryContext);
		known = true;
	}
	return OidIsValid(function.fn_oid) ? &function : NULL;
}

/* A copy of a string of the database encoding as UTF-8; NULL: it has characters that UTF-8 has not. */
static char *
to_utf8(const char *s, size_t n)
{
	FmgrInfo *conversion = utf8_conversion();
	char *utf8;

	if (conversion == NULL)
		return NULL;
	utf8 = MemoryContextAllocHuge(CurrentMemoryContext, n * MAX_CONVERSION_GROWTH + 1);
	if (DatumGetInt32(FunctionCall6(conversion, Int32GetDatum(GetDatabaseEncoding()), Int32GetDatum(PG_UTF8),
	                                CStringGetDatum(s), CStringGetDatum(utf8), Int32GetDatum((int32) n),
	                                BoolGetDatum(true))) == (int32) n)
		return utf8;
	pfree(utf8);
	return NULL;
}

bool
pbf_converts_text(void)
{
	int encoding = GetDatabaseEncoding();

	return encoding != PG_UTF8 && encoding != PG_SQL_ASCII && encoding != PG_LATIN1;
}

/*
 * Hash of a string in the database encoding: its bytes as UTF-8, so that databases of different encodings
 * can exchange filters. Its bytes as they are if it has no such form: no value that the server stores may be
 * refused. What encoding a SQL_ASCII database holds is not known.
 */
static uint64
hash_string(const char *s, size_t n)
{
	int encoding = GetDatabaseEncoding();
	char *utf8;
	uint64 hash;

	if (encoding == PG_UTF8 || encoding == PG_SQL_ASCII || is_ascii(s, n) || (utf8 = to_utf8(s, n)) == NULL)
		return pbf_hash_bytes(s, n);
	hash = pbf_hash_bytes(utf8, strlen(utf8));
	pfree(utf8);
	return hash;
}

/* ---- whole numbers, and what is stored as one: 8 bytes ---- */

VALUE_HASH(value_int2)
{
	return pbf_hash_int64(DatumGetInt16(value));
}

VALUE_HASH(value_int4)
{
	return pbf_hash_int64(DatumGetInt32(value));
}

VALUE_HASH(value_int8)
{
	return pbf_hash_int64(DatumGetInt64(value));
}

VALUE_HASH(value_uint4)
{
	return pbf_hash_int64((int64) DatumGetUInt32(value));
}

/* ---- one byte ---- */

VALUE_HASH(value_bool)
{
	uint8 byte = DatumGetBool(value) ? 1 : 0;

	return pbf_hash_bytes(&byte, 1);
}

/* C `char` is signed on some machines and not on others; the byte is the same. */
VALUE_HASH(value_char)
{
	uint8 byte = (uint8) DatumGetChar(value);

	return pbf_hash_bytes(&byte, 1);
}

/* ---- real numbers: the bits of a float8; one zero, one NaN ---- */

static uint64
hash_float8(float8 v)
{
	uint64 bits;

	if (isnan(v))
		bits = UINT64CONST(0x7ff8000000000000);
	else if (v == 0)
		bits = 0;
	else
		memcpy(&bits, &v, sizeof(bits));
	return pbf_hash_int64((int64) bits);
}

VALUE_HASH(value_float4)
{
	return hash_float8((float8) DatumGetFloat4(value));
}

VALUE_HASH(value_float8)
{
	return hash_float8(DatumGetFloat8(value));
}

/* ---- numeric ---- */

/*
 * Canonical numeric: a tag byte (0 finite, 1 NaN, 2 infinity, 3 -infinity); if finite also a sign byte (0
 * plus, 1 minus), int16 weight (the power of 10000 of the first digit) and the int16 digits in base 10000,
 * without zero digits at either end. Zero is plus, of weight 0, without digits. The display scale is left
 * out.
 *
 * `wire` is the payload of numeric_send: uint16 count of digits, int16 weight, uint16 sign, uint16 scale,
 * digits, all big-endian. It is overwritten: the canonical head (4 bytes) takes the place before the first
 * kept digit, where the longer wire head was.
 */
static uint64
hash_wire_numeric(uint8 *wire)
{
	int ndigits = get_be16(wire);
	int weight = (int16) get_be16(wire + 2);
	uint16 sign = get_be16(wire + 4);
	uint8 *digits = wire + 8;
	uint8 *head;

	if (sign == 0xC000 || sign == 0xD000 || sign == 0xF000)
	{
		wire[0] = sign == 0xC000 ? 1 : sign == 0xD000 ? 2 : 3;
		return pbf_hash_bytes(wire, 1);
	}

	for (; ndigits > 0 && get_be16(digits) == 0; digits += 2, ndigits--)
		weight--;
	while (ndigits > 0 && get_be16(digits + 2 * (ndigits - 1)) == 0)
		ndigits--;
	for (int i = 0; i < ndigits; i++)
		put_le(digits + 2 * i, get_be16(digits + 2 * i), 2);

	head = digits - 4;
	head[0] = 0;
	head[1] = ndigits > 0 && sign != 0;
	put_le(head + 2, ndigits > 0 ? (uint64) (int64) weight : 0, 2);
	return pbf_hash_bytes(head, 4 + 2 * (size_t) ndigits);
}

/* The digits of a numeric are private to the server; its wire form is their one stable interface. */
VALUE_HASH(value_numeric)
{
	Numeric num = DatumGetNumeric(value);
	bytea *wire = DatumGetByteaPP(DirectFunctionCall1(numeric_send, NumericGetDatum(num)));
	uint64 hash = hash_wire_numeric((uint8 *) VARDATA_ANY(wire));

	pfree(wire);
	free_copy(num, value);
	return hash;
}

/* ---- strings of characters, bytes and bits ---- */

VALUE_HASH(value_text)
{
	text *v = DatumGetTextPP(value);
	uint64 hash = hash_string(VARDATA_ANY(v), VARSIZE_ANY_EXHDR(v));

	free_copy(v, value);
	return hash;
}

/* Trailing blanks of a char(n) mean nothing; no server encoding has a blank as the end of a longer character.
 */
VALUE_HASH(value_bpchar)
{
	BpChar *v = DatumGetBpCharPP(value);
	const char *s = VARDATA_ANY(v);
	size_t n = VARSIZE_ANY_EXHDR(v);
	uint64 hash;

	while (n > 0 && s[n - 1] == ' ')
		n--;
	hash = hash_string(s, n);
	free_copy(v, value);
	return hash;
}

VALUE_HASH(value_name)
{
	const char *s = NameStr(*DatumGetName(value));

	return hash_string(s, strlen(s));
}

VALUE_HASH(value_bytea)
{
	bytea *v = DatumGetByteaPP(value);
	uint64 hash = pbf_hash_bytes(VARDATA_ANY(v), VARSIZE_ANY_EXHDR(v));

	free_copy(v, value);
	return hash;
}

/* int32 length in bits, then the bits, the first one highest; those that fill up the last byte are zero. */
VALUE_HASH(value_bit)
{
	VarBit *v = DatumGetVarBitP(value);
	size_t n = VARBITBYTES(v);
	uint8 *bytes = palloc(4 + n);
	uint64 hash;

	put_le(bytes, (uint64) VARBITLEN(v), 4);
	memcpy(bytes + 4, VARBITS(v), n);
	hash = pbf_hash_bytes(bytes, 4 + n);
	pfree(bytes);
	free_copy(v, value);
	return hash;
}

/* ---- fixed numbers of bytes ---- */

VALUE_HASH(value_uuid)
{
	return pbf_hash_bytes(DatumGetUUIDP(value)->data, UUID_LEN);
}

VALUE_HASH(value_macaddr)
{
	StaticAssertStmt(sizeof(macaddr) == 6, "macaddr is 6 bytes");
	return pbf_hash_bytes(DatumGetMacaddrP(value), sizeof(macaddr));
}

VALUE_HASH(value_macaddr8)
{
	StaticAssertStmt(sizeof(macaddr8) == 8, "macaddr8 is 8 bytes");
	return pbf_hash_bytes(DatumGetMacaddr8P(value), sizeof(macaddr8));
}

/* The IP version, the prefix length, the address with its host bits: what `=` of inet and cidr compares. */
VALUE_HASH(value_inet)
{
	inet *v = DatumGetInetPP(value);
	int n = ip_addrsize(v);
	uint8 bytes[2 + 16];

	bytes[0] = ip_family(v) == PGSQL_AF_INET ? 4 : 6;
	bytes[1] = ip_bits(v);
	memcpy(bytes + 2, ip_addr(v), n);
	free_copy(v, value);
	return pbf_hash_bytes(bytes, 2 + (size_t) n);
}

/* ---- times ---- */

/* int64 microseconds of local time, int32 zone in seconds west of Greenwich: `=` is true only if both are
 * equal. */
VALUE_HASH(value_timetz)
{
	const TimeTzADT *v = DatumGetTimeTzADTP(value);
	uint8 bytes[12];

	put_le(bytes, (uint64) v->time, 8);
	put_le(bytes + 8, (uint32) v->zone, 4);
	return pbf_hash_bytes(bytes, sizeof(bytes));
}

/*
 * `=` of interval takes a month for 30 days and a day for 24 hours, and compares microseconds, which need
 * more than 64 bits: the canonical form is that number in 128 bits, two's complement.
 *
 * A day of microseconds is 10546875 * 2^13. So the number is high * 2^13 + low where high, at most about
 * 2^36 days times 2^24, fits 64 bits: no 128-bit arithmetic, which 32-bit machines lack.
 * The infinite intervals of 17 and later are the extremes of all three fields and need no rule of their own.
 */
VALUE_HASH(value_interval)
{
	const Interval *v = DatumGetIntervalP(value);
	int64 days = v->month * INT64CONST(30) + v->day + floor_div(v->time, USECS_PER_DAY);
	int64 rest = v->time % USECS_PER_DAY;
	int64 high;
	uint8 bytes[16];

	StaticAssertStmt(USECS_PER_DAY == INT64CONST(10546875) * 8192, "a day has a factor of 2^13");
	if (rest < 0)
		rest += USECS_PER_DAY;
	high = days * 10546875 + rest / 8192;
	put_le(bytes, (uint64) high * 8192 + (uint64) rest % 8192, 8);
	put_le(bytes + 8, (uint64) floor_div(high, INT64CONST(1) << (64 - 13)), 8);
	return pbf_hash_bytes(bytes, sizeof(bytes));
}

/* ---- enums: see PbfEnumHash ---- */

VALUE_HASH(value_enum_label)
{
	Oid oid = DatumGetObjectId(value);
	HeapTuple row = SearchSysCache1(ENUMOID, ObjectIdGetDatum(oid));
	const char *label;
	uint64 hash;

	if (!HeapTupleIsValid(row))
		ereport(ERROR, errcode(ERRCODE_INVALID_BINARY_REPRESENTATION),
		        errmsg("invalid internal value for enum: %u", oid));
	label = NameStr(((Form_pg_enum) GETSTRUCT(row))->enumlabel);
	hash = hash_string(label, strlen(label));
	ReleaseSysCache(row);
	return hash;
}

/* ---- everything else ---- */

/*
 * The type's own extended hash function with seed 0, then XXH3 of its 8 bytes. It runs under the collation
 * "C", so that its hash is that of the bytes of strings: refuse_collation has kept away those collations
 * under which strings of other bytes are equal.
 */
static uint64
value_fallback(PbfHasher *hasher, Datum value)
{
	return pbf_hash_int64(
	    DatumGetInt64(FunctionCall2Coll(&hasher->fallback, C_COLLATION_OID, value, Int64GetDatum(0))));
}

/* ---- which rule for which type ---- */

typedef struct ValueRule
{
	Oid type;
	PbfKind kind;
	uint64 (*hash)(PbfHasher *hasher, Datum value);
} ValueRule;

/* The frequent ones first: it is searched from the top, for every row if need be. */
/* clang-format off */
static const ValueRule rules[] = {
	{INT8OID, PBF_KIND_INTEGER, value_int8},
	{INT4OID, PBF_KIND_INTEGER, value_int4},
	{TEXTOID, PBF_KIND_TEXT, value_text},
	{UUIDOID, PBF_KIND_UUID, value_uuid},
	{VARCHAROID, PBF_KIND_TEXT, value_text},
	{TIMESTAMPTZOID, PBF_KIND_TIMESTAMPTZ, value_int8},
	{NUMERICOID, PBF_KIND_NUMERIC, value_numeric},
	{BYTEAOID, PBF_KIND_BYTEA, value_bytea},
	{INT2OID, PBF_KIND_INTEGER, value_int2},
	{DATEOID, PBF_KIND_DATE, value_int4},
	{TIMESTAMPOID, PBF_KIND_TIMESTAMP, value_int8},
	{FLOAT8OID, PBF_KIND_REAL, value_float8},
	{FLOAT4OID, PBF_KIND_REAL, value_float4},
	{BPCHAROID, PBF_KIND_TEXT, value_bpchar},
	{INETOID, PBF_KIND_INET, value_inet},
	{OIDOID, PBF_KIND_OID, value_uint4},
	{NAMEOID, PBF_KIND_TEXT, value_name},
	{BOOLOID, PBF_KIND_BOOLEAN, value_bool},
	{CHAROID, PBF_KIND_CHAR, value_char},
	{TIMEOID, PBF_KIND_TIME, value_int8},
	{TIMETZOID, PBF_KIND_TIMETZ, value_timetz},
	{INTERVALOID, PBF_KIND_INTERVAL, value_interval},
	{MACADDROID, PBF_KIND_MACADDR, value_macaddr},
	{MACADDR8OID, PBF_KIND_MACADDR8, value_macaddr8},
	{CASHOID, PBF_KIND_MONEY, value_int8},
	{BITOID, PBF_KIND_BIT, value_bit},
	{VARBITOID, PBF_KIND_BIT, value_bit},
	{XIDOID, PBF_KIND_XID, value_uint4},
	{XID8OID, PBF_KIND_XID8, value_int8},
	{CIDOID, PBF_KIND_CID, value_uint4},
	{PG_LSNOID, PBF_KIND_LSN, value_int8},
};
/* clang-format on */

static const ValueRule *
find_rule(Oid type)
{
	for (size_t i = 0; i < lengthof(rules); i++)
		if (rules[i].type == type)
			return &rules[i];
	return NULL;
}

/* Enums have two rules, of one kind. */
static const ValueRule enum_by_label = {ANYENUMOID, PBF_KIND_ENUM, value_enum_label};
static const ValueRule enum_by_oid = {ANYENUMOID, PBF_KIND_ENUM, value_uint4};

/* The kind of a type without canonical bytes, by the input type of its hash operator class. */
static PbfKind
fallback_kind(Oid opintype)
{
	switch (opintype)
	{
		case ANYARRAYOID:
			return PBF_KIND_ARRAY;
		case ANYRANGEOID:
			return PBF_KIND_RANGE;
		case ANYMULTIRANGEOID:
			return PBF_KIND_MULTIRANGE;
		case RECORDOID:
			return PBF_KIND_RECORD;
		case JSONBOID:
			return PBF_KIND_JSONB;
		default:
			return PBF_KIND_OTHER;
	}
}

/* ---- what cannot be hashed ---- */

/*
 * Under a nondeterministic collation strings of different bytes can be equal. The default collation of a
 * database is always deterministic (in all versions up to 18), and so is "C": no look-up for these two.
 */
static inline void
refuse_collation(Oid collation)
{
	if (!OidIsValid(collation) || collation == DEFAULT_COLLATION_OID || collation == C_COLLATION_OID)
		return;
	if (!get_collation_isdeterministic(collation))
		ereport(ERROR, errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
		        errmsg("nondeterministic collation \"%s\" is not supported in Bloom filters",
		               get_collation_name(collation)),
		        errdetail("Strings that are equal under it can differ in their bytes."),
		        errhint("Use a deterministic collation, for example COLLATE \"C\"."));
}

/* Types that no value can have, or whose values tell nothing of how to compare them. */
static void
refuse_pseudo_type(Oid type)
{
	if (!OidIsValid(type) || type == UNKNOWNOID)
		ereport(ERROR, errcode(ERRCODE_INDETERMINATE_DATATYPE),
		        errmsg("could not determine the data type of the value to hash"),
		        errhint("Cast the value to its type, for example 'abc'::text."));
	if (get_typtype(type) == TYPTYPE_PSEUDO && type != RECORDOID)
		ereport(ERROR, errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
		        errmsg("values of pseudo-type %s cannot be stored in a Bloom filter", format_type_be(type)),
		        errhint("Cast the value to the type that it really has."));
}

/*
 * A user's string type with an equality of its own, such as citext: it is stored as text, probed with text
 * (a literal, a parameter) and its hash depends on the locale, so that a filter of it would hold strings that
 * a probe for text misses. Inside arrays and records it is hashed by its own function, which agrees with its
 * own equality: there it is allowed, and as stable as that function.
 */
static void
refuse_string_type(Oid type, Oid opintype)
{
	char category;
	bool preferred;

	if (type < FirstNormalObjectId || opintype != type)
		return;
	get_type_category_preferred(type, &category, &preferred);
	if (category == TYPCATEGORY_STRING && IsBinaryCoercible(type, TEXTOID))
		ereport(ERROR, errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
		        errmsg("values of type %s cannot be stored in a Bloom filter", format_type_be(type)),
		        errdetail("It is a string type with an equality of its own."),
		        errhint("Use the text by which its values compare, for example lower(x)::text."));
}

/* A filter is no element of a filter. Its type is known by its input function: it may have any name and OID.
 */
static void
refuse_filter(Oid type)
{
	Oid input;
	Oid param;
	FmgrInfo function;

	if (type < FirstNormalObjectId)
		return;
	getTypeInputInfo(type, &input, &param);
	fmgr_info(input, &function);
	if (function.fn_addr == pbf_in)
		ereport(ERROR, errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
		        errmsg("a filter cannot be an element of a filter"),
		        errhint("Use pbf_union to merge filters and pbf_contains_filter to compare them."));
}

/* ---- the fallback ---- */

static void examine(PbfHasher *hasher, Oid type);

bool
pbf_is_compiled(Oid function)
{
	HeapTuple row = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
	Oid language;

	if (!HeapTupleIsValid(row))
		elog(ERROR, "cache lookup failed for function %u", function);
	language = ((Form_pg_proc) GETSTRUCT(row))->prolang;
	ReleaseSysCache(row);
	return language == INTERNALlanguageId || language == ClanguageId;
}

/*
 * For a column of a composite value the server calls the hash function without saying whether its second
 * argument, the seed, is NULL (hash_record_extended sets the flag of the first one twice): functions in C do
 * not look, others would see whatever was in memory, and hash equal values differently.
 */
static void
require_compiled(Oid type)
{
	Oid function = lookup_type_cache(getBaseType(type), TYPECACHE_HASH_EXTENDED_PROC)->hash_extended_proc;

	if (OidIsValid(function) && !pbf_is_compiled(function))
		ereport(ERROR, errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
		        errmsg("hash function %s of type %s cannot be used inside composite values",
		               format_procedure(function), format_type_be(type)),
		        errdetail("It is not written in C."),
		        errhint("Hash the columns by themselves, or their text."));
}

/* A range's bounds are compared as its operator class and collation say, and hashed as their type's default
 * class says. */
static void
refuse_other_equality(Oid range)
{
	HeapTuple row = SearchSysCache1(RANGETYPE, ObjectIdGetDatum(range));
	const TypeCacheEntry *entry;
	Oid opclass, subtype, collation, compared, hashed;

	if (!HeapTupleIsValid(row))
		elog(ERROR, "cache lookup failed for range type %u", range);
	opclass = ((Form_pg_range) GETSTRUCT(row))->rngsubopc;
	subtype = ((Form_pg_range) GETSTRUCT(row))->rngsubtype;
	collation = ((Form_pg_range) GETSTRUCT(row))->rngcollation;
	ReleaseSysCache(row);
	refuse_collation(collation);
	compared = get_opfamily_member(get_opclass_family(opclass), get_opclass_input_type(opclass),
	                               get_opclass_input_type(opclass), BTEqualStrategyNumber);
	entry = lookup_type_cache(subtype, TYPECACHE_HASH_OPFAMILY);
	if (!OidIsValid(entry->hash_opf))
		return; /* that is an error of its own */
	hashed = get_opfamily_member(entry->hash_opf, entry->hash_opintype, entry->hash_opintype,
	                             HTEqualStrategyNumber);
	if (compared != hashed)
		ereport(ERROR, errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
		        errmsg("values of type %s cannot be hashed", format_type_be(range)),
		        errdetail("Its bounds are not compared by the operator of the default hash operator class of "
		                  "type %s.",
		                  format_type_be(subtype)),
		        errhint("Hash the bounds by themselves, or their text."));
}

static void
examine_columns(PbfHasher *hasher, Oid type)
{
	TupleDesc columns = lookup_rowtype_tupdesc(type, -1);

	for (int i = 0; i < columns->natts; i++)
	{
		if (TupleDescAttr(columns, i)->attisdropped)
			continue;
		refuse_collation(TupleDescAttr(columns, i)->attcollation);
		require_compiled(TupleDescAttr(columns, i)->atttypid);
		examine(hasher, TupleDescAttr(columns, i)->atttypid);
	}
	ReleaseTupleDesc(columns);
}

/*
 * A filter must answer tomorrow as it did today: the hash function of the type must be IMMUTABLE, and so
 * must those of its elements, bounds or columns, which it calls. An anonymous record's columns are not
 * known before there is a value: they are taken on trust. Notes if one of them is not written in C, or is
 * of a user's string type, whose equality may be up to the locale.
 */
static void
examine(PbfHasher *hasher, Oid type)
{
	TypeCacheEntry *entry;

	check_stack_depth();
	type = getBaseType(type);
	entry = lookup_type_cache(type, TYPECACHE_HASH_EXTENDED_PROC);
	if (OidIsValid(entry->hash_extended_proc) &&
	    func_volatile(entry->hash_extended_proc) != PROVOLATILE_IMMUTABLE)
		ereport(ERROR, errcode(ERRCODE_INVALID_OBJECT_DEFINITION),
		        errmsg("hash function %s of type %s is not IMMUTABLE",
		               format_procedure(entry->hash_extended_proc), format_type_be(type)),
		        errhint("Cast the values to a type whose hash function is, for example text."));

	if (OidIsValid(entry->hash_extended_proc) && !pbf_is_compiled(entry->hash_extended_proc))
		hasher->interpreted = true;
	if (type_is_array(type))
		examine(hasher, get_element_type(type));
	else if (type_is_range(type))
	{
		refuse_other_equality(type);
		examine(hasher, get_range_subtype(type));
	}
	else if (type_is_multirange(type))
		examine(hasher, get_multirange_range(type));
	else if (entry->typtype == TYPTYPE_COMPOSITE)
		examine_columns(hasher, type);
	else if (type >= FirstNormalObjectId && OidIsValid(entry->typcollation))
		hasher->by_locale = true;
}

/*
 * The extended hash function of a type, InvalidOid if it has none or none that agrees with its `=`.
 * The type cache claims none for anonymous records, as their columns are not known. We try: if a column
 * cannot be hashed, the server says so for the value.
 */
static Oid
extended_hash_function(const TypeCacheEntry *entry)
{
	if (entry->type_id == RECORDOID && OidIsValid(entry->hash_opf))
		return get_opfamily_proc(entry->hash_opf, RECORDOID, RECORDOID, HASHEXTENDED_PROC);
	return entry->hash_extended_proc;
}

/* Sets up hashing by rule 4. */
static void
init_fallback(PbfHasher *hasher, Oid type, Oid opintype, Oid function, MemoryContext mcxt)
{
	examine(hasher, type);
	fmgr_info_cxt(function, &hasher->fallback, mcxt);
	hasher->kind = fallback_kind(opintype);
	hasher->hash = value_fallback;
}

static void
apply_rule(PbfHasher *hasher, const ValueRule *rule)
{
	hasher->kind = rule->kind;
	hasher->hash = rule->hash;
}

/* Rules 3 and 4, for a type that is not a domain and not in `rules`. */
static void
init_by_operators(PbfHasher *hasher, Oid type, PbfEnumHash enums, MemoryContext mcxt)
{
	const TypeCacheEntry *entry =
	    lookup_type_cache(type, TYPECACHE_EQ_OPR | TYPECACHE_BTREE_OPFAMILY | TYPECACHE_HASH_OPFAMILY |
	                                TYPECACHE_HASH_EXTENDED_PROC);
	bool hashable = OidIsValid(entry->hash_opf);
	Oid opintype = hashable ? entry->hash_opintype : entry->btree_opintype;
	Oid function = extended_hash_function(entry);
	const ValueRule *rule = find_rule(opintype);

	if (opintype == ANYENUMOID)
		rule = enums == PBF_ENUM_BY_LABEL ? &enum_by_label : &enum_by_oid;

	if (rule == NULL)
	{
		refuse_string_type(type, opintype);
		refuse_filter(type);
	}
	if (!OidIsValid(function) && (hashable || rule == NULL))
		ereport(ERROR, errcode(ERRCODE_UNDEFINED_FUNCTION),
		        errmsg("could not identify an extended hash function for type %s", format_type_be(type)),
		        errhint("Cast the values to a type that has one, for example text. An operator class for an "
		                "index may "
		                "bring one, as FUNCTION 1."));
	if (rule != NULL)
		apply_rule(hasher, rule);
	else
		init_fallback(hasher, type, opintype, function, mcxt);
}

void
pbf_hasher_init(PbfHasher *hasher, Oid type, Oid collation, PbfEnumHash enums, MemoryContext mcxt)
{
	const ValueRule *rule = find_rule(type);
	Oid base;

	hasher->interpreted = hasher->by_locale = false;
	refuse_collation(collation);
	if (rule != NULL)
		apply_rule(hasher, rule);
	else
	{
		refuse_pseudo_type(type);
		base = getBaseType(type);
		rule = find_rule(base);
		if (rule != NULL)
			apply_rule(hasher, rule);
		else
			init_by_operators(hasher, base, enums, mcxt);
	}
	hasher->type = type;
}
