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

/* Support functions: 1 is a hash function, (type, bigint) -> bigint; 7 is for options. */
static void
check_function(Form_pg_amproc proc, const char *opclass, bool *valid)
{
	bool ok = false;

	if (proc->amprocnum == PBFIDX_HASH_PROC)
		ok = check_amproc_signature(proc->amproc, INT8OID, false, 2, 2, proc->amproclefttype, INT8OID);
	else if (proc->amprocnum == PBFIDX_OPTIONS_PROC)
		ok = check_amoptsproc_signature(proc->amproc);
	if (!ok)
		complain(valid, opclass, "support function with wrong number or signature",
		         format_procedure(proc->amproc));
}

/* Operators: equality only, as a search operator. */
static void
check_operator(Form_pg_amop op, const char *opclass, bool *valid)
{
	if (op->amopstrategy != PBFIDX_EQUAL_STRATEGY)
		complain(valid, opclass, "operator with a strategy other than 1 (=)", format_operator(op->amopopr));
	if (op->amoppurpose != AMOP_SEARCH || OidIsValid(op->amopsortfamily))
		complain(valid, opclass, "ORDER BY operator", format_operator(op->amopopr));
	if (!check_amop_signature(op->amopopr, BOOLOID, op->amoplefttype, op->amoprighttype))
		complain(valid, opclass, "operator with wrong signature", format_operator(op->amopopr));
}

static bool
has_own_hash(Oid family, Oid type)
{
	return OidIsValid(get_opfamily_proc(family, type, type, PBFIDX_HASH_PROC));
}

bool
pbfidx_validate(Oid opclass)
{
	HeapTuple tuple = SearchSysCache1(CLAOID, ObjectIdGetDatum(opclass));
	Form_pg_opclass form;
	CatCList *operators, *functions;
	bool valid = true, has_equality = false;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for operator class %u", opclass);
	form = (Form_pg_opclass) GETSTRUCT(tuple);
	operators = SearchSysCacheList1(AMOPSTRATEGY, ObjectIdGetDatum(form->opcfamily));
	functions = SearchSysCacheList1(AMPROCNUM, ObjectIdGetDatum(form->opcfamily));
	for (int i = 0; i < functions->n_members; i++)
		check_function((Form_pg_amproc) GETSTRUCT(&functions->members[i]->tuple), NameStr(form->opcname),
		               &valid);
	for (int i = 0; i < operators->n_members; i++)
	{
		Form_pg_amop op = (Form_pg_amop) GETSTRUCT(&operators->members[i]->tuple);

		check_operator(op, NameStr(form->opcname), &valid);
		if (has_own_hash(form->opcfamily, op->amoplefttype) !=
		    has_own_hash(form->opcfamily, op->amoprighttype))
			complain(&valid, NameStr(form->opcname), "hash function for one side only of operator",
			         format_operator(op->amopopr));
		has_equality =
		    has_equality || (op->amoplefttype == form->opcintype && op->amoprighttype == form->opcintype);
	}
	if (!has_equality)
		complain(&valid, NameStr(form->opcname), "no equality operator for", format_type_be(form->opcintype));
	ReleaseCatCacheList(functions);
	ReleaseCatCacheList(operators);
	ReleaseSysCache(tuple);
	return valid;
}
