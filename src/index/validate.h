/*
 * validate.h: amvalidate.
 */
#ifndef PBF_INDEX_VALIDATE_H
#define PBF_INDEX_VALIDATE_H

extern bool pbfidx_validate(Oid opclass);

#endif
