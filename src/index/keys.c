/*
 * keys.c: from values to keys.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/relscan.h"
#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "index/keys.h"

/*
 * ALTER TYPE ... ADD ATTRIBUTE changes the hash of composite values without rewriting tables, so nothing that
 * holds them can be in an index that outlives it.
 */
void
pbfidx_refuse_composite(Oid type)
{
	Oid inner = getBaseType(type);

	for (;;)
	{
		if (type_is_array(inner))
			inner = getBaseType(get_element_type(inner));
		else if (type_is_range(inner))
			inner = getBaseType(get_range_subtype(inner));
		else if (type_is_multirange(inner))
			inner = get_multirange_range(inner);
		else
			break;
	}
	if (get_typtype(inner) == TYPTYPE_COMPOSITE || inner == RECORDOID)
		ereport(ERROR, errcode(ERRCODE_FEATURE_NOT_SUPPORTED), errmsg("pbfidx cannot index composite values"),
		        errdetail("Type %s is or contains a composite type.", format_type_be(type)),
		        errhint("Index its fields, or an expression that makes one scalar of them."));
}

/* Whether the class brings a hash function of its own; that for values of `type` then. */
static bool
use_own_function(PbfidxHasher *hasher, Relation index, int column, Oid type, MemoryContext mcxt)
{
	Oid function = index_getprocid(index, column + 1, PBFIDX_HASH_PROC);

	if (!OidIsValid(function))
		return false;
	if (type != index->rd_opcintype[column] && get_typtype(index->rd_opcintype[column]) != TYPTYPE_PSEUDO)
		function = get_opfamily_proc(index->rd_opfamily[column], type, type, PBFIDX_HASH_PROC);
	if (!OidIsValid(function))
		ereport(ERROR, errcode(ERRCODE_UNDEFINED_FUNCTION),
		        errmsg("operator family of index \"%s\" has no hash function for type %s",
		               RelationGetRelationName(index), format_type_be(type)),
		        errhint("Add it to the family as FUNCTION 1 (%s, %s).", format_type_be(type),
		                format_type_be(type)));
	hasher->own = true;
	fmgr_info_cxt(function, &hasher->function, mcxt);
	return true;
}

void
pbfidx_init_hasher(PbfidxHasher *hasher, Relation index, int column, Oid type, MemoryContext mcxt)
{
	Oid own_type = index->rd_opcintype[column];

	memset(hasher, 0, sizeof(*hasher));
	hasher->column = column;
	hasher->collation = index->rd_indcollation[column];
	/*
	 * The operators of the class are what counts, not what the column's type has for equality: a type that is
	 * binary coercible to the class's is hashed as that. A polymorphic class leaves the column's own type.
	 */
	if (get_typtype(own_type) == TYPTYPE_PSEUDO)
		own_type = TupleDescAttr(RelationGetDescr(index), column)->atttypid;
	if (!OidIsValid(type) || get_typtype(type) == TYPTYPE_PSEUDO)
		type = own_type;
	if (use_own_function(hasher, index, column, type, mcxt))
		return;
	pbfidx_refuse_composite(type);
	pbf_hasher_init(&hasher->value, type, hasher->collation, PBF_ENUM_BY_OID, mcxt);
}

PbfidxHasher *
pbfidx_hashers(Relation index, MemoryContext mcxt)
{
	int n = IndexRelationGetNumberOfKeyAttributes(index);
	PbfidxHasher *hashers = MemoryContextAlloc(mcxt, n * sizeof(PbfidxHasher));

	for (int i = 0; i < n; i++)
		pbfidx_init_hasher(&hashers[i], index, i, InvalidOid, mcxt);
	return hashers;
}

bool
pbfidx_uses_server_hash(const PbfidxHasher *hashers, int n)
{
	for (int i = 0; i < n; i++)
	{
		if (hashers[i].own || hashers[i].value.kind >= PBF_KIND_ARRAY)
			return true;
	}
	return false;
}

uint64
pbfidx_value_key(PbfidxHasher *hasher, Datum value)
{
	uint64 hash;

	if (hasher->own)
		hash = (uint64) DatumGetInt64(
		    FunctionCall2Coll(&hasher->function, hasher->collation, value, Int64GetDatum(0)));
	else
		hash = pbf_hash_value(&hasher->value, value);
	return pbfidx_column_key(hasher->column, hash);
}

int
pbfidx_row_keys(PbfidxHasher *hashers, int columns, bool row_key, const Datum *values, const bool *isnull,
                uint64 *keys)
{
	int n = 0;

	for (int i = 0; i < columns; i++)
		keys[n++] = isnull[i] ? pbfidx_null_key(i) : pbfidx_value_key(&hashers[i], values[i]);
	if (row_key)
		keys[n++] = PBFIDX_ROW_KEY_VALUE;
	return n;
}
