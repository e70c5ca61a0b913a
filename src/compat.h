/*
 * compat.h: the only place that looks at PG_VERSION_NUM.
 */
#ifndef PBF_COMPAT_H
#define PBF_COMPAT_H

#include "postgres.h"

#if PG_VERSION_NUM < 150000
#error "pbf needs PostgreSQL 15 or newer"
#endif

/* Soft errors in input functions came with 16; before that an error is an error. */
#if PG_VERSION_NUM >= 160000
#include "nodes/miscnodes.h"
#else
#define ereturn(context, dummy, ...) ereport(ERROR, __VA_ARGS__)
#endif

/* varatt.h was split off postgres.h in 16. */
#if PG_VERSION_NUM >= 160000
#include "varatt.h"
#endif

#endif
