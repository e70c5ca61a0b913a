/*
 * keys.c: from values to keys.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/parallel.h"
#include "access/relscan.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_opclass.h"
#include "catalog/pg_type.h"
#include "nodes/nodeFuncs.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/regproc.h"
#include "utils/syscache.h"

#include "index/directory.h"
#include "index/folding.h"
#include "index/keys.h"
#include "index/options.h"

/*
 * ALTER TYPE ... ADD ATTRIBUTE changes the hash of composite values without rewriting tables, so nothing that
 * holds them can be in an index that outlives it.
 */
static void
refuse_composite(Oid type)
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
		        errdetail("Type %s is or contains a composite type.", format_type_be_qualified(type)),
		        errhint("Index its fields, or an expression that makes one scalar of them."));
}

/* What the kind and the type of a column's keys follow from. */
typedef struct ColumnClass
{
	const char *index; /* its name; a class alone has no values of other types */
	Oid family;
	Oid intype;  /* input type of the class */
	Oid keytype; /* of what is hashed where nothing else is said: the class's storage type, if it has one */
	Oid extract; /* extractValue, of a multi-key class */
	Oid collation;
} ColumnClass;

/* The attributes of the index have the storage types, resolved. */
static ColumnClass
index_column_class(Relation index, int column)
{
	return (ColumnClass){.index = RelationGetRelationName(index),
	                     .family = index->rd_opfamily[column],
	                     .intype = index->rd_opcintype[column],
	                     .keytype = TupleDescAttr(RelationGetDescr(index), column)->atttypid,
	                     .extract = index_getprocid(index, column + 1, PBFIDX_EXTRACT_VALUE_PROC),
	                     .collation = index->rd_indcollation[column]};
}

static Oid
class_function(const ColumnClass *class, int number)
{
	return get_opfamily_proc(class->family, class->intype, class->intype, (int16) number);
}

/* Whether the class brings a hash function of its own; that for values of `type` then. */
static bool
use_own_function(PbfidxHasher *hasher, const ColumnClass *class, Oid type, MemoryContext mcxt)
{
	Oid function = class_function(class, PBFIDX_HASH_PROC);

	if (!OidIsValid(function))
		return false;
	if (!hasher->multikey && type != class->intype && get_typtype(class->intype) != TYPTYPE_PSEUDO)
		function = get_opfamily_proc(class->family, type, type, PBFIDX_HASH_PROC);
	if (!OidIsValid(function))
		ereport(ERROR, errcode(ERRCODE_UNDEFINED_FUNCTION),
		        errmsg("operator family of index \"%s\" has no hash function for type %s", class->index,
		               format_type_be(type)),
		        errhint("Add it to the family as FUNCTION 1 (%s, %s).", format_type_be(type),
		                format_type_be(type)));
	/* GIN's support function 1 compares keys. */
	if (get_func_rettype(function) != INT8OID)
		ereport(
		    ERROR, errcode(ERRCODE_INVALID_OBJECT_DEFINITION),
		    errmsg(
		        "support function 1 of a pbfidx operator class must be a hash function that returns bigint"),
		    errdetail("Function %s does not.", format_procedure(function)),
		    errhint("Leave it out, and keys are hashed by their type."));
	hasher->own = true;
	hasher->interpreted =
	    !pbf_is_compiled(function) || type_is_array(type) || type_is_range(type) || type_is_multirange(type);
	fmgr_info_cxt(function, &hasher->function, mcxt);
	return true;
}

/* Hashing of `type`; of the class's own type if that is none. */
static void
init_hash(PbfidxHasher *hasher, const ColumnClass *class, Oid type, MemoryContext mcxt)
{
	Oid own_type = class->intype;

	/*
	 * The operators of the class are what counts, not what the column's type has for equality: a type that is
	 * binary coercible to the class's is hashed as that. A polymorphic class leaves the column's own type.
	 */
	if (hasher->multikey || get_typtype(own_type) == TYPTYPE_PSEUDO)
		own_type = class->keytype;
	if (hasher->multikey || !OidIsValid(type) || get_typtype(type) == TYPTYPE_PSEUDO)
		type = own_type;
	if (use_own_function(hasher, class, type, mcxt))
		return;
	refuse_composite(type);
	pbf_hasher_init(&hasher->value, type, hasher->collation, PBF_ENUM_BY_OID, mcxt);
	hasher->interpreted = hasher->value.interpreted;
}

static void
init_column(PbfidxHasher *hasher, const ColumnClass *class, int column, Oid type, MemoryContext mcxt)
{
	bool extracts_from_text;

	memset(hasher, 0, sizeof(*hasher));
	hasher->column = column;
	hasher->collation = class->collation;
	hasher->support_collation = OidIsValid(class->collation) ? class->collation : DEFAULT_COLLATION_OID;
	hasher->multikey = OidIsValid(class->extract);
	if (hasher->multikey)
		hasher->default_bits = pbfidx_default_bits_per_key(class_function(class, PBFIDX_OPTIONS_PROC));
	init_hash(hasher, class, type, mcxt);
	/* Without a function of the class single values are hashed by their bytes, elements of arrays too. */
	extracts_from_text = hasher->multikey && class->extract != F_GINARRAYEXTRACT_ANYARRAY_INTERNAL_INTERNAL;
	hasher->by_locale =
	    hasher->value.by_locale || (OidIsValid(class->collation) && (hasher->own || extracts_from_text));
}

void
pbfidx_init_hasher(PbfidxHasher *hasher, Relation index, int column, Oid type, MemoryContext mcxt)
{
	ColumnClass class = index_column_class(index, column);

	init_column(hasher, &class, column, type, mcxt);
	/* With the options of the class, which the relation cache attaches. */
	if (hasher->multikey)
		fmgr_info_copy(&hasher->extract, index_getprocinfo(index, column + 1, PBFIDX_EXTRACT_VALUE_PROC),
		               mcxt);
}

/* The storage type of a class for a column of that type, resolved as the server does it for an index. */
static Oid
resolved_key_type(Form_pg_opclass class, Oid type)
{
	if (!OidIsValid(class->opckeytype))
		return type;
	if (class->opckeytype == ANYELEMENTOID && class->opcintype == ANYARRAYOID)
		return get_base_element_type(type);
	return class->opckeytype;
}

void
pbfidx_init_class_hasher(PbfidxHasher *hasher, Oid opclass, int column, Oid type, Oid collation,
                         MemoryContext mcxt)
{
	HeapTuple tuple = SearchSysCache1(CLAOID, ObjectIdGetDatum(opclass));
	Form_pg_opclass form;
	ColumnClass class;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for operator class %u", opclass);
	form = (Form_pg_opclass) GETSTRUCT(tuple);
	class = (ColumnClass){.family = form->opcfamily,
	                      .intype = form->opcintype,
	                      .keytype = resolved_key_type(form, type),
	                      .collation = collation};
	ReleaseSysCache(tuple);
	class.extract = class_function(&class, PBFIDX_EXTRACT_VALUE_PROC);
	init_column(hasher, &class, column, InvalidOid, mcxt);
	if (hasher->multikey)
		fmgr_info_cxt(class.extract, &hasher->extract, mcxt);
}

/* ---- groups ---- */

int
pbfidx_assign_groups(PbfidxHasher *hashers, int n)
{
	int groups = 0, scalar = -1;

	for (int i = 0; i < n; i++)
	{
		if (hashers[i].multikey || scalar < 0)
			hashers[i].group = groups++;
		else
			hashers[i].group = scalar;
		if (!hashers[i].multikey)
			scalar = hashers[i].group;
	}
	if (groups > PBFIDX_MAX_GROUPS)
		ereport(ERROR, errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
		        errmsg("too many columns with several keys for a value in a pbfidx index"),
		        errdetail("All scalar columns and each such column are a group; there are %d, at most %d are "
		                  "possible.",
		                  groups, PBFIDX_MAX_GROUPS),
		        errhint("Use several indexes: their bitmaps are combined."));
	return groups;
}

uint8
pbfidx_column_code(const PbfidxHasher *hasher)
{
	return (uint8) (hasher->group | (hasher->multikey ? PBFIDX_GROUP_MULTIKEY : 0) |
	                (hasher->own ? PBFIDX_GROUP_OWN_HASH : 0) |
	                (pbfidx_uses_server_hash(hasher, 1) ? PBFIDX_GROUP_SERVER_HASH : 0));
}

void
pbfidx_require_same_kind(Relation index, const PbfidxHasher *hasher)
{
	uint8 then = pbfidx_cache(index)->column_group[hasher->column];
	uint8 changed = (then ^ pbfidx_column_code(hasher)) & ~PBFIDX_GROUP_NUMBER;
	const char *what;

	if (changed == 0)
		return;
	if (changed & PBFIDX_GROUP_MULTIKEY)
		what = then & PBFIDX_GROUP_MULTIKEY ? "several keys" : "one key";
	else if (changed & PBFIDX_GROUP_OWN_HASH)
		what = then & PBFIDX_GROUP_OWN_HASH ? "a hash function of its own" : "no hash function of its own";
	else
		what = "another hash function";
	ereport(ERROR, errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
	        errmsg("operator class of column %d of index \"%s\" has changed since it was built",
	               hasher->column + 1, RelationGetRelationName(index)),
	        errdetail("Then it had %s for a value.", what), errhint("REINDEX it."));
}

/* Of the types of one kind bpchar alone is hashed otherwise. */
static bool
is_blank_padded(const PbfidxHasher *hasher)
{
	return getBaseType(hasher->value.type) == BPCHAROID;
}

void
pbfidx_require_same_hash(const PbfidxHasher *hasher, const PbfidxHasher *column)
{
	/* Enums, and what the server hashes, are hashed by their type, or by that of what is in them. */
	bool by_type = column->value.kind == PBF_KIND_ENUM || column->value.kind >= PBF_KIND_ARRAY;

	if (hasher->own || (hasher->value.kind == column->value.kind &&
	                    (!by_type || getBaseType(hasher->value.type) == getBaseType(column->value.type)) &&
	                    is_blank_padded(hasher) == is_blank_padded(column)))
		return;
	ereport(ERROR, errcode(ERRCODE_INVALID_OBJECT_DEFINITION),
	        errmsg("values of type %s are not hashed as those of type %s", format_type_be(hasher->value.type),
	               format_type_be(column->value.type)),
	        errdetail("An operator of the operator family compares them."),
	        errhint("Give the operator family a support function 1, a hash that suits the operator, for both "
	                "types."));
}

PbfidxHasher *
pbfidx_hashers(Relation index, MemoryContext mcxt)
{
	int n = IndexRelationGetNumberOfKeyAttributes(index);
	PbfidxHasher *hashers = MemoryContextAlloc(mcxt, n * sizeof(PbfidxHasher));

	for (int i = 0; i < n; i++)
		pbfidx_init_hasher(&hashers[i], index, i, InvalidOid, mcxt);
	pbfidx_assign_groups(hashers, n);
	return hashers;
}

/* Support functions of operator classes count too: what they extract may change with the version; and so may
 * what strings are converted to. */
bool
pbfidx_uses_server_hash(const PbfidxHasher *hashers, int n)
{
	for (int i = 0; i < n; i++)
	{
		PbfKind kind = hashers[i].value.kind;

		if (hashers[i].own || hashers[i].multikey || kind >= PBF_KIND_ARRAY ||
		    (kind == PBF_KIND_TEXT && pbf_converts_text()))
			return true;
	}
	return false;
}

bool
pbfidx_are_hashes_trusted(Relation index, const char **why)
{
	const PbfidxCache *cache = pbfidx_cache(index);
	uint32 major = cache->server_major, locale = pbfidx_get_locale_version(index);
	bool other_major = (cache->flags & PBFIDX_SERVER_HASH) && major != PG_VERSION_NUM / 10000;

	if (!other_major && (locale == 0 || locale == pbfidx_locale_version()))
		return true;
	if (why != NULL)
		*why = other_major ? psprintf("by PostgreSQL %u and uses hash functions of the server", major)
		                   : "with another version of the database's locale";
	return false;
}

bool
pbfidx_trust_or_warn(Relation index)
{
	static List *warned = NIL; /* of which indexes this session was told */
	MemoryContext old;
	const char *why;

	if (pbfidx_are_hashes_trusted(index, &why))
		return true;
	if (IsParallelWorker() || list_member_oid(warned, RelationGetRelid(index)))
		return false;
	ereport(WARNING, errmsg("index \"%s\" was built %s", RelationGetRelationName(index), why),
	        errdetail("Until it is rebuilt, it returns the whole table."), errhint("REINDEX it."));
	old = MemoryContextSwitchTo(TopMemoryContext);
	warned = lappend_oid(warned, RelationGetRelid(index));
	MemoryContextSwitchTo(old);
	return false;
}

void
pbfidx_note_locale(Relation index)
{
	uint32 locale = pbfidx_cache(index)->locale_version;

	if (locale != 0 && locale != PBFIDX_MIXED_LOCALES && locale != pbfidx_locale_version())
		pbfidx_set_locale_version(index, PBFIDX_MIXED_LOCALES);
}

static bool
is_interpreted(const PbfidxHasher *h)
{
	return h->interpreted || (h->multikey && !pbf_is_compiled(h->extract.fn_oid));
}

bool
pbfidx_is_any_interpreted(const PbfidxHasher *hashers, int n)
{
	for (int i = 0; i < n; i++)
	{
		if (is_interpreted(&hashers[i]))
			return true;
	}
	return false;
}

static bool
is_users_function(Oid function, void *context)
{
	(void) context;
	return function >= FirstNormalObjectId;
}

/* Constraints of a domain may be anything. */
static bool
calls_users_functions(Node *node, void *context)
{
	return node != NULL &&
	       (IsA(node, CoerceToDomain) || check_functions_in_node(node, is_users_function, context) ||
	        pbf_walk_expression(node, calls_users_functions, context));
}

bool
pbfidx_may_look_up(const PbfidxHasher *hashers, int n, List *expressions, List *predicate)
{
	return pbfidx_is_any_interpreted(hashers, n) || calls_users_functions((Node *) expressions, NULL) ||
	       calls_users_functions((Node *) predicate, NULL);
}

/* ---- keys ---- */

#define FIRST_ROOM 1024

void
pbfidx_init_key_list(PbfidxKeyList *list, MemoryContext mcxt)
{
	list->keys = MemoryContextAlloc(mcxt, FIRST_ROOM * sizeof(uint64));
	list->n = 0;
	list->room = FIRST_ROOM;
}

/* Room for n more; a value has fewer keys than bytes, so that int is enough. */
static void
reserve(PbfidxKeyList *list, int n)
{
	if (n <= list->room - list->n)
		return;
	list->room = Max(list->n + n, list->room * 2);
	list->keys = repalloc_huge(list->keys, (Size) list->room * sizeof(uint64));
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

/* All keys of a value, by the class's extractValue. */
static void
extract_keys(PbfidxHasher *hasher, Datum value, PbfidxKeyList *list)
{
	int32 n = 0;
	bool *nulls = NULL;
	Datum *entries = (Datum *) DatumGetPointer(FunctionCall3Coll(
	    &hasher->extract, hasher->support_collation, value, PointerGetDatum(&n), PointerGetDatum(&nulls)));

	if (entries == NULL || n <= 0)
	{
		reserve(list, 1);
		list->keys[list->n++] = pbfidx_empty_key(hasher->column);
		return;
	}
	reserve(list, n);
	for (int32 i = 0; i < n; i++)
		list->keys[list->n++] = nulls != NULL && nulls[i] ? pbfidx_null_item_key(hasher->column)
		                                                  : pbfidx_value_key(hasher, entries[i]);
}

void
pbfidx_column_keys(PbfidxHasher *hasher, Datum value, bool isnull, PbfidxKeyList *list)
{
	if (!isnull && hasher->multikey)
	{
		extract_keys(hasher, value, list);
		return;
	}
	reserve(list, 1);
	list->keys[list->n++] = isnull ? pbfidx_null_key(hasher->column) : pbfidx_value_key(hasher, value);
}

void
pbfidx_row_keys(PbfidxHasher *hashers, int columns, int group, bool row_key, const Datum *values,
                const bool *isnull, PbfidxKeyList *list)
{
	for (int i = 0; i < columns; i++)
	{
		if (hashers[i].group == group)
			pbfidx_column_keys(&hashers[i], values[i], isnull[i], list);
	}
	if (row_key && group == PBFIDX_ROW_KEY_GROUP)
	{
		reserve(list, 1);
		list->keys[list->n++] = PBFIDX_ROW_KEY_VALUE;
	}
}
