/*
 * paths.h: whether the keys that the server extracts of a jsonpath are in every document that matches.
 *
 * For three kinds of expressions they are not, see paths.c; a GIN index loses rows by them.
 */
#ifndef PBF_INDEX_PATHS_H
#define PBF_INDEX_PATHS_H

/* Of a condition with that function on a constant. Other functions than those of @? and @@: always. */
extern bool pbfidx_is_path_sound(Oid function, Datum path);

#endif
