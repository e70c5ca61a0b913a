/*
 * validate.c: amvalidate: whether an operator class makes sense for pbfidx.
 */
#include "postgres.h"

#include "access/amvalidate.h"
#include "access/htup_details.h"
#include "catalog/pg_amop.h"
#include "catalog/pg_amproc.h"
#include "catalog/pg_opclass.h"
#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/catcache.h"
#include "utils/lsyscache.h"
#include "utils/regproc.h"
#include "utils/syscache.h"

#include "index/keys.h"
#include "index/validate.h"

static void
complain(bool *valid, const char *opclass, const char *detail, const char *object)
{
	ereport(INFO, errcode(ERRCODE_INVALID_OBJECT_DEFINITION),
	        errmsg("pbfidx operator family of class \"%s\": %s: %s", opclass, detail, object));
	*valid = false;
}

/* The operator class being looked at. */
typedef struct Checked
{
	const char *name;
	Oid family;
	Oid intype;
	Oid keytype;
	bool multikey;
	bool valid;
} Checked;

/* 1: (key type, bigint) -> bigint. The keys of a multi-key class are of its storage type. */
static bool
is_hash_function(const Checked *c, Form_pg_amproc proc)
{
	Oid type = c->multikey ? c->keytype : proc->amproclefttype;

	return check_amproc_signature(proc->amproc, INT8OID, false, 2, 2, type, INT8OID);
}

/* 2 to 7 as GIN has them. */
static bool
is_multikey_function(Form_pg_amproc proc, Oid keytype)
{
	Oid type = proc->amproclefttype, function = proc->amproc;

	switch (proc->amprocnum)
	{
		case PBFIDX_EXTRACT_VALUE_PROC:
			return check_amproc_signature(function, INTERNALOID, false, 2, 3, type, INTERNALOID, INTERNALOID);
		case PBFIDX_EXTRACT_QUERY_PROC:
			return check_amproc_signature(function, INTERNALOID, false, 5, 7, type, INTERNALOID, INT2OID,
			                              INTERNALOID, INTERNALOID, INTERNALOID, INTERNALOID);
		case PBFIDX_CONSISTENT_PROC:
			return check_amproc_signature(function, BOOLOID, false, 6, 8, INTERNALOID, INT2OID, type, INT4OID,
			                              INTERNALOID, INTERNALOID, INTERNALOID, INTERNALOID);
		case PBFIDX_COMPARE_PARTIAL_PROC:
			return check_amproc_signature(function, INT4OID, false, 4, 4, keytype, keytype, INT2OID,
			                              INTERNALOID);
		case PBFIDX_TRICONSISTENT_PROC:
			return check_amproc_signature(function, CHAROID, false, 7, 7, INTERNALOID, INT2OID, type, INT4OID,
			                              INTERNALOID, INTERNALOID, INTERNALOID);
		case PBFIDX_OPTIONS_PROC:
			return check_amoptsproc_signature(function);
		default:
			return false;
	}
}

static void
check_function(Checked *c, Form_pg_amproc proc)
{
	bool ok = proc->amprocnum == PBFIDX_HASH_PROC ? is_hash_function(c, proc)
	                                              : is_multikey_function(proc, c->keytype);

	if (!ok)
		complain(&c->valid, c->name, "support function with wrong number or signature",
		         format_procedure(proc->amproc));
	if (proc->amproclefttype != proc->amprocrighttype)
		complain(&c->valid, c->name, "support function for two different types",
		         format_procedure(proc->amproc));
}

static bool
has_function(const Checked *c, Oid type, int number)
{
	return OidIsValid(get_opfamily_proc(c->family, type, type, (int16) number));
}

/* Without extractValue a class is scalar, and has nothing else of GIN's. */
static void
check_set_of_functions(Checked *c)
{
	const char *type = format_type_be(c->intype);

	if (!c->multikey)
	{
		for (int number = PBFIDX_EXTRACT_QUERY_PROC; number <= PBFIDX_TRICONSISTENT_PROC; number++)
		{
			if (has_function(c, c->intype, number))
				complain(&c->valid, c->name, "no support function 2 (extractValue) for", type);
		}
		return;
	}
	if (!has_function(c, c->intype, PBFIDX_EXTRACT_QUERY_PROC))
		complain(&c->valid, c->name, "no support function 3 (extractQuery) for", type);
	if (!has_function(c, c->intype, PBFIDX_TRICONSISTENT_PROC) &&
	    !has_function(c, c->intype, PBFIDX_CONSISTENT_PROC))
		complain(&c->valid, c->name, "no support function 6 (triConsistent) or 4 (consistent) for", type);
}

/* A scalar class has equality only; what the strategies of a multi-key class mean its functions know. */
static void
check_operator(Checked *c, Form_pg_amop op)
{
	const char *name = format_operator(op->amopopr);
	RegProcedure hash;

	if (op->amoppurpose != AMOP_SEARCH || OidIsValid(op->amopsortfamily))
		complain(&c->valid, c->name, "ORDER BY operator", name);
	if (!check_amop_signature(op->amopopr, BOOLOID, op->amoplefttype, op->amoprighttype))
		complain(&c->valid, c->name, "operator with wrong signature", name);
	if (c->multikey)
		return;
	if (op->amopstrategy != PBFIDX_EQUAL_STRATEGY)
		complain(&c->valid, c->name, "operator with a strategy other than 1 (=)", name);
	else if (has_function(c, op->amoplefttype, PBFIDX_HASH_PROC) !=
	         has_function(c, op->amoprighttype, PBFIDX_HASH_PROC))
		complain(&c->valid, c->name, "hash function for one side only of operator", name);
	else if (!has_function(c, op->amoplefttype, PBFIDX_HASH_PROC) &&
	         get_mergejoin_opfamilies(op->amopopr) == NIL && !get_op_hash_functions(op->amopopr, &hash, NULL))
		complain(&c->valid, c->name, "no support function 1 (hash) for an operator other than =", name);
}

/* Whether the class has any use: an operator with its type on the left, `=` for a scalar class. */
static void
check_members(Checked *c)
{
	CatCList *operators = SearchSysCacheList1(AMOPSTRATEGY, ObjectIdGetDatum(c->family));
	CatCList *functions = SearchSysCacheList1(AMPROCNUM, ObjectIdGetDatum(c->family));
	bool useful = false;

	for (int i = 0; i < functions->n_members; i++)
		check_function(c, (Form_pg_amproc) GETSTRUCT(&functions->members[i]->tuple));
	for (int i = 0; i < operators->n_members; i++)
	{
		Form_pg_amop op = (Form_pg_amop) GETSTRUCT(&operators->members[i]->tuple);

		check_operator(c, op);
		useful = useful || (op->amoplefttype == c->intype && (c->multikey || op->amoprighttype == c->intype));
	}
	if (!useful)
		complain(&c->valid, c->name, c->multikey ? "no operator for" : "no equality operator for",
		         format_type_be(c->intype));
	ReleaseCatCacheList(functions);
	ReleaseCatCacheList(operators);
}

bool
pbfidx_validate(Oid opclass)
{
	HeapTuple tuple = SearchSysCache1(CLAOID, ObjectIdGetDatum(opclass));
	Form_pg_opclass form;
	Checked c;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for operator class %u", opclass);
	form = (Form_pg_opclass) GETSTRUCT(tuple);
	c = (Checked){.name = NameStr(form->opcname),
	              .family = form->opcfamily,
	              .intype = form->opcintype,
	              .keytype = OidIsValid(form->opckeytype) ? form->opckeytype : form->opcintype,
	              .valid = true};
	c.multikey = has_function(&c, c.intype, PBFIDX_EXTRACT_VALUE_PROC);
	check_set_of_functions(&c);
	check_members(&c);
	ReleaseSysCache(tuple);
	return c.valid;
}
