/*
 * paths.c: whether the keys that the server extracts of a jsonpath are in every document that matches.
 *
 * The server's extraction goes through the expression as this here does, and errs in:
 *
 * - a negated AND, which is an OR of the negations: if nothing can be extracted of one of these, it takes
 * what it has of the other one, as for an AND;
 * - a literal that is followed by a method or a filter: it takes the literal alone;
 * - in strict mode, the document itself compared with a string: a string that is a whole document has the key
 * of an element of an array, and it looks for that of a value.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/fmgroids.h"
#include "utils/jsonpath.h"

#include "index/paths.h"

static bool is_predicate_sound(JsonPathItem *predicate, bool strict, bool at_root, bool negated);

/* at_root: @ is the whole document. to_string: the path is compared with a string. */
static bool
is_chain_sound(JsonPathItem *first, bool strict, bool at_root, bool to_string)
{
	JsonPathItem item = *first, filter, next;

	for (;;)
	{
		if (item.type == jpiRoot)
			at_root = true;
		else if (item.type == jpiFilter)
		{
			jspGetArg(&item, &filter);
			if (!is_predicate_sound(&filter, strict, at_root, false))
				return false;
		}
		else if (item.type != jpiCurrent)
			at_root = false;
		if (!jspGetNext(&item, &next))
			return !(strict && to_string && at_root);
		item = next;
	}
}

static bool
is_literal(const JsonPathItem *item)
{
	return item->type == jpiNull || item->type == jpiString || item->type == jpiNumeric ||
	       item->type == jpiBool;
}

static bool
is_equality_sound(JsonPathItem *equality, bool strict, bool at_root)
{
	JsonPathItem left, right, *literal, *path;

	jspGetLeftArg(equality, &left);
	jspGetRightArg(equality, &right);
	if (!is_literal(&left) && !is_literal(&right))
		return true; /* nothing is extracted */
	literal = is_literal(&left) ? &left : &right;
	path = is_literal(&left) ? &right : &left;
	return !jspHasNext(literal) && is_chain_sound(path, strict, at_root, literal->type == jpiString);
}

static bool
is_predicate_sound(JsonPathItem *predicate, bool strict, bool at_root, bool negated)
{
	JsonPathItem arg;

	check_stack_depth();
	if (jspHasNext(predicate))
		return false; /* it is a path, or its result is but the beginning of one */
	switch (predicate->type)
	{
		case jpiAnd:
		case jpiOr:
			if (negated && predicate->type == jpiAnd)
				return false;
			jspGetLeftArg(predicate, &arg);
			if (!is_predicate_sound(&arg, strict, at_root, negated))
				return false;
			jspGetRightArg(predicate, &arg);
			return is_predicate_sound(&arg, strict, at_root, negated);
		case jpiNot:
			jspGetArg(predicate, &arg);
			return is_predicate_sound(&arg, strict, at_root, !negated);
		case jpiExists:
			jspGetArg(predicate, &arg);
			return negated || is_chain_sound(&arg, strict, at_root, false);
		case jpiEqual:
			return negated || is_equality_sound(predicate, strict, at_root);
		default:
			return true; /* nothing is extracted */
	}
}

bool
pbfidx_is_path_sound(Oid function, Datum path)
{
	JsonPath *p;
	JsonPathItem first;
	bool strict;

	if (function != F_JSONB_PATH_EXISTS_OPR && function != F_JSONB_PATH_MATCH_OPR)
		return true;
	p = DatumGetJsonPathP(path);
	strict = (p->header & JSONPATH_LAX) == 0;
	jspInit(&first, p);
	return function == F_JSONB_PATH_EXISTS_OPR ? is_chain_sound(&first, strict, false, false)
	                                           : is_predicate_sound(&first, strict, false, false);
}
