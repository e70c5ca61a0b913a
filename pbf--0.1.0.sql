/* pbf: partitioned Bloom filters. Install script; doc/reference.md describes what is defined here. */

-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION pbf" to load this file. \quit

---- the type ----

CREATE TYPE pbf;

CREATE FUNCTION pbf_in(cstring) RETURNS pbf
	AS 'MODULE_PATHNAME', 'pbf_in' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION pbf_in(cstring) IS
	'input: \x and the external form in hexadecimal (doc/format.md)';

CREATE FUNCTION pbf_out(pbf) RETURNS cstring
	AS 'MODULE_PATHNAME', 'pbf_out' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION pbf_out(pbf) IS
	'output: \x and the external form in hexadecimal';

CREATE FUNCTION pbf_recv(internal) RETURNS pbf
	AS 'MODULE_PATHNAME', 'pbf_recv' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION pbf_recv(internal) IS
	'binary input: the external form';

CREATE FUNCTION pbf_send(pbf) RETURNS bytea
	AS 'MODULE_PATHNAME', 'pbf_send' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION pbf_send(pbf) IS
	'binary output: the external form';

CREATE TYPE pbf (
	INPUT = pbf_in, OUTPUT = pbf_out, RECEIVE = pbf_recv, SEND = pbf_send,
	INTERNALLENGTH = VARIABLE, ALIGNMENT = double, STORAGE = external
);
COMMENT ON TYPE pbf IS
	'partitioned Bloom filter: a set of values in a few bits each; may claim to contain more, never misses one; up to 512 MB';

---- casts: the external form as bytea ----

CREATE FUNCTION pbf_to_bytea(pbf) RETURNS bytea
	AS 'MODULE_PATHNAME', 'pbf_to_bytea' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION pbf_to_bytea(pbf) IS
	'the external form of the filter, for clients (doc/format.md)';

CREATE FUNCTION pbf_from_bytea(bytea) RETURNS pbf
	AS 'MODULE_PATHNAME', 'pbf_from_bytea' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION pbf_from_bytea(bytea) IS
	'the filter with this external form; anything else is an error';

CREATE CAST (pbf AS bytea) WITH FUNCTION pbf_to_bytea(pbf);
COMMENT ON CAST (pbf AS bytea) IS 'external form of the filter';
CREATE CAST (bytea AS pbf) WITH FUNCTION pbf_from_bytea(bytea);
COMMENT ON CAST (bytea AS pbf) IS 'filter from its external form, validated';

---- new filters ----

CREATE FUNCTION pbf_new(capacity float8, fpr float8 = 0.01, layout text = 'auto') RETURNS pbf
	AS 'MODULE_PATHNAME', 'pbf_new' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION pbf_new(float8, float8, text) IS
	'an empty filter for that many distinct elements (0, which counts as 1, or 1 to 1e18; 512 MB at most) at that false positive rate (1e-15 to below 1) when full; layout auto, plain or blocked';

CREATE FUNCTION pbf_new_geometry(blocks int, parts int, part_bits bigint, layout text = 'auto') RETURNS pbf
	AS 'MODULE_PATHNAME', 'pbf_new_geometry' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION pbf_new_geometry(int, int, bigint, text) IS
	'an empty filter of blocks x parts x part_bits bits: blocked with any number of blocks and 1 to 8 parts of 64 bits, or plain with 1 block and 1 to 64 parts of any length; layout auto is blocked whenever these numbers allow it';

CREATE FUNCTION pbf_new_like(pbf) RETURNS pbf
	AS 'MODULE_PATHNAME', 'pbf_new_like' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION pbf_new_like(pbf) IS
	'an empty filter of the same layout, blocks, parts and part_bits';

CREATE FUNCTION pbf_optimal(n float8, fpr float8, OUT layout text, OUT blocks int, OUT parts int, OUT part_bits bigint, OUT bytes bigint)
	AS 'MODULE_PATHNAME', 'pbf_optimal' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION pbf_optimal(float8, float8) IS
	'the geometry and size in bytes that pbf_new(n, fpr) would choose';

---- elements ----

CREATE FUNCTION pbf_hash(anycompatible) RETURNS bigint
	AS 'MODULE_PATHNAME', 'pbf_hash' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION pbf_hash(anycompatible) IS
	'the 64-bit hash of a value under the hash contract (doc/format.md): XXH3 of its canonical bytes';

CREATE FUNCTION pbf_add(pbf, anycompatiblenonarray) RETURNS pbf
	AS 'MODULE_PATHNAME', 'pbf_add' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION pbf_add(pbf, anycompatiblenonarray) IS
	'a copy of the filter with the element added';

CREATE FUNCTION pbf_add(pbf, anycompatiblearray) RETURNS pbf
	AS 'MODULE_PATHNAME', 'pbf_add_array' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION pbf_add(pbf, anycompatiblearray) IS
	'a copy of the filter with all elements added; NULL elements are left out';

CREATE FUNCTION pbf_add_hash(pbf, bigint) RETURNS pbf
	AS 'MODULE_PATHNAME', 'pbf_add_hash' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION pbf_add_hash(pbf, bigint) IS
	'a copy of the filter with the element of that pbf_hash added';

CREATE FUNCTION pbf_build(anycompatiblearray, fpr float8 = 0.01) RETURNS pbf
	AS 'MODULE_PATHNAME', 'pbf_build' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION pbf_build(anycompatiblearray, float8) IS
	'a filter of the elements of an array, sized for their distinct number at that false positive rate (1e-15 to below 1)';

---- planner support ----

CREATE FUNCTION pbf_contains_sel(internal, oid, internal, integer) RETURNS float8
	AS 'MODULE_PATHNAME', 'pbf_contains_sel' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION pbf_contains_sel(internal, oid, internal, integer) IS
	'restriction selectivity of membership: a constant filter is tried on the column''s statistics';

CREATE FUNCTION pbf_contains_joinsel(internal, oid, internal, smallint, internal) RETURNS float8
	AS 'MODULE_PATHNAME', 'pbf_contains_joinsel' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION pbf_contains_joinsel(internal, oid, internal, smallint, internal) IS
	'join selectivity of membership';

CREATE FUNCTION pbf_contains_support(internal) RETURNS internal
	AS 'MODULE_PATHNAME', 'pbf_contains_support' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION pbf_contains_support(internal) IS
	'planner support: membership written as a function is estimated like the operator';

---- membership ----

CREATE FUNCTION pbf_contains(pbf, anycompatiblenonarray) RETURNS bool
	AS 'MODULE_PATHNAME', 'pbf_contains' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE SUPPORT pbf_contains_support;
COMMENT ON FUNCTION pbf_contains(pbf, anycompatiblenonarray) IS
	'may the filter contain the element? false is certain';

CREATE FUNCTION pbf_contained(anycompatiblenonarray, pbf) RETURNS bool
	AS 'MODULE_PATHNAME', 'pbf_contained' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE SUPPORT pbf_contains_support;
COMMENT ON FUNCTION pbf_contained(anycompatiblenonarray, pbf) IS
	'may the filter contain the element? false is certain';

CREATE FUNCTION pbf_contains_all(pbf, anycompatiblearray) RETURNS bool
	AS 'MODULE_PATHNAME', 'pbf_contains_all' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE SUPPORT pbf_contains_support;
COMMENT ON FUNCTION pbf_contains_all(pbf, anycompatiblearray) IS
	'may the filter contain all elements? NULL elements are ignored, true for none';

CREATE FUNCTION pbf_contained_all(anycompatiblearray, pbf) RETURNS bool
	AS 'MODULE_PATHNAME', 'pbf_contained_all' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE SUPPORT pbf_contains_support;
COMMENT ON FUNCTION pbf_contained_all(anycompatiblearray, pbf) IS
	'may the filter contain all elements? NULL elements are ignored, true for none';

CREATE FUNCTION pbf_contains_any(pbf, anycompatiblearray) RETURNS bool
	AS 'MODULE_PATHNAME', 'pbf_contains_any' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE SUPPORT pbf_contains_support;
COMMENT ON FUNCTION pbf_contains_any(pbf, anycompatiblearray) IS
	'may the filter contain at least one of the elements? NULL elements are ignored, false for none';

CREATE FUNCTION pbf_contained_any(anycompatiblearray, pbf) RETURNS bool
	AS 'MODULE_PATHNAME', 'pbf_contained_any' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE SUPPORT pbf_contains_support;
COMMENT ON FUNCTION pbf_contained_any(anycompatiblearray, pbf) IS
	'may the filter contain at least one of the elements? NULL elements are ignored, false for none';

CREATE FUNCTION pbf_contains_hash(pbf, bigint) RETURNS bool
	AS 'MODULE_PATHNAME', 'pbf_contains_hash' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION pbf_contains_hash(pbf, bigint) IS
	'may the filter contain the element of that pbf_hash? false is certain';

CREATE FUNCTION pbf_matching(pbf, anycompatiblearray) RETURNS anycompatiblearray
	AS 'MODULE_PATHNAME', 'pbf_matching' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION pbf_matching(pbf, anycompatiblearray) IS
	'the elements of the array that the filter may contain, in their order';

---- sets ----

CREATE FUNCTION pbf_union(a pbf, b pbf) RETURNS pbf
	AS 'MODULE_PATHNAME', 'pbf_union' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION pbf_union(pbf, pbf) IS
	'union: contains whatever either contains';

CREATE FUNCTION pbf_intersect(a pbf, b pbf) RETURNS pbf
	AS 'MODULE_PATHNAME', 'pbf_intersect' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION pbf_intersect(pbf, pbf) IS
	'intersection: contains whatever both contain, and some that only look so';

CREATE FUNCTION pbf_overlaps(a pbf, b pbf) RETURNS bool
	AS 'MODULE_PATHNAME', 'pbf_overlaps' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION pbf_overlaps(pbf, pbf) IS
	'may the filters have a common element? false is certain';

CREATE FUNCTION pbf_disjoint(a pbf, b pbf) RETURNS bool
	AS 'MODULE_PATHNAME', 'pbf_disjoint' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION pbf_disjoint(pbf, pbf) IS
	'have the filters certainly no common element?';

CREATE FUNCTION pbf_contains_filter(a pbf, b pbf) RETURNS bool
	AS 'MODULE_PATHNAME', 'pbf_contains_filter' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION pbf_contains_filter(pbf, pbf) IS
	'may every element of the second filter be in the first? false is certain, unless the second came from an intersection or from a union of filters of different sizes';

CREATE FUNCTION pbf_same_geometry(a pbf, b pbf) RETURNS bool
	AS 'MODULE_PATHNAME', 'pbf_same_geometry' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION pbf_same_geometry(pbf, pbf) IS
	'have the filters the same layout, blocks, parts and part_bits?';

CREATE FUNCTION pbf_is_empty(pbf) RETURNS bool
	AS 'MODULE_PATHNAME', 'pbf_is_empty' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION pbf_is_empty(pbf) IS
	'is no bit set?';

---- size reduction ----

CREATE FUNCTION pbf_reduce(pbf, parts int) RETURNS pbf
	AS 'MODULE_PATHNAME', 'pbf_reduce' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION pbf_reduce(pbf, int) IS
	'the filter''s first parts (1 to all): smaller, higher false positive rate';

CREATE FUNCTION pbf_fold(pbf, times int = 1) RETURNS pbf
	AS 'MODULE_PATHNAME', 'pbf_fold' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION pbf_fold(pbf, int) IS
	'the filter folded in half that many times; the number of blocks (bits of a part, if plain) must allow it';

CREATE FUNCTION pbf_shrink(pbf, max_bytes bigint) RETURNS pbf
	AS 'MODULE_PATHNAME', 'pbf_shrink' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION pbf_shrink(pbf, bigint) IS
	'the filter reduced to at most that many bytes, header included, by the folds and dropped parts that keep the false positive rate lowest';

CREATE FUNCTION pbf_shrink_to_fpr(pbf, fpr float8) RETURNS pbf
	AS 'MODULE_PATHNAME', 'pbf_shrink_to_fpr' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION pbf_shrink_to_fpr(pbf, float8) IS
	'the smallest reduction of the filter whose false positive rate is at most fpr (1e-15 to below 1); unchanged if it is above that already';

---- estimates ----

CREATE FUNCTION pbf_cardinality(pbf) RETURNS float8
	AS 'MODULE_PATHNAME', 'pbf_cardinality' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION pbf_cardinality(pbf) IS
	'estimated number of distinct elements, from the fill (Swamidass and Baldi 2007); infinite when every bit is set';

CREATE FUNCTION pbf_union_cardinality(a pbf, b pbf) RETURNS float8
	AS 'MODULE_PATHNAME', 'pbf_union_cardinality' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION pbf_union_cardinality(pbf, pbf) IS
	'estimated number of distinct elements in either filter';

CREATE FUNCTION pbf_intersection_cardinality(a pbf, b pbf) RETURNS float8
	AS 'MODULE_PATHNAME', 'pbf_intersection_cardinality' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION pbf_intersection_cardinality(pbf, pbf) IS
	'estimated number of distinct elements in both filters';

CREATE FUNCTION pbf_jaccard(a pbf, b pbf) RETURNS float8
	AS 'MODULE_PATHNAME', 'pbf_jaccard' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION pbf_jaccard(pbf, pbf) IS
	'estimated size of the intersection over that of the union, 0 to 1; 1 for two empty filters';

CREATE FUNCTION pbf_fpr(pbf) RETURNS float8
	AS 'MODULE_PATHNAME', 'pbf_fpr' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION pbf_fpr(pbf) IS
	'false positive rate of the filter with the bits it has now: product of the fills of its parts, mean over blocks';

CREATE FUNCTION pbf_fill(pbf) RETURNS float8
	AS 'MODULE_PATHNAME', 'pbf_fill' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION pbf_fill(pbf) IS
	'set bits over all bits, 0 to 1';

CREATE FUNCTION pbf_info(pbf, OUT kind text, OUT layout text, OUT blocks int, OUT parts int, OUT part_bits bigint, OUT bits bigint,
	OUT bytes bigint, OUT set_bits bigint, OUT fill float8, OUT cardinality float8, OUT fpr float8)
	AS 'MODULE_PATHNAME', 'pbf_info' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION pbf_info(pbf) IS
	'kind of element, geometry, size in bytes with header, set bits, fill, estimated distinct elements, false positive rate';

---- theory: formulas of A Case for Partitioned Bloom Filters (Almeida 2022), exact to 12 digits ----

CREATE FUNCTION pbf_fpr_standard(n bigint, m bigint, k int) RETURNS float8
	AS 'MODULE_PATHNAME', 'pbf_sql_fpr_standard' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION pbf_fpr_standard(bigint, bigint, int) IS
	'exact false positive rate F_s of a standard Bloom filter of m bits (1 or more) with k hash functions (1 to 64) that holds n elements (0 or more)';

CREATE FUNCTION pbf_fpr_standard_approx(n bigint, m bigint, k int) RETURNS float8
	AS 'MODULE_PATHNAME', 'pbf_sql_fpr_standard_approx' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION pbf_fpr_standard_approx(bigint, bigint, int) IS
	'the usual approximation F_a = (1 - (1 - 1/m)^(n k))^k of pbf_fpr_standard, a lower bound; n: elements, m: bits, k: hash functions';

CREATE FUNCTION pbf_fpr_standard_element(n bigint, m bigint, k int, d int) RETURNS float8
	AS 'MODULE_PATHNAME', 'pbf_sql_fpr_standard_element' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION pbf_fpr_standard_element(bigint, bigint, int, int) IS
	'exact false positive rate F_s(n,m,k,d) of an element whose k hashes give d distinct positions (1 to the smaller of k and m) in standard Bloom filters; n: elements, m: bits, k: hash functions';

CREATE FUNCTION pbf_fpr_partitioned(n bigint, m bigint, k int) RETURNS float8
	AS 'MODULE_PATHNAME', 'pbf_sql_fpr_partitioned' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION pbf_fpr_partitioned(bigint, bigint, int) IS
	'exact false positive rate F_p = (1 - (1 - k/m)^n)^k of a partitioned Bloom filter (layout plain) of m bits (k or more) in k parts (1 to 64) that holds n elements (0 or more); the same for every element';

CREATE FUNCTION pbf_fpr_blocked(n bigint, blocks bigint, parts int, part_bits bigint) RETURNS float8
	AS 'MODULE_PATHNAME', 'pbf_sql_fpr_blocked' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION pbf_fpr_blocked(bigint, bigint, int, bigint) IS
	'exact false positive rate of a blocked partitioned Bloom filter: blocks (1 or more) of parts (1 to 64) of part_bits bits (1 or more, 64 in this extension) that holds n elements (0 or more) (Putze, Sanders, Singler 2009)';

CREATE FUNCTION pbf_collision_probability(m bigint, k int, c int) RETURNS float8
	AS 'MODULE_PATHNAME', 'pbf_sql_collision_probability' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION pbf_collision_probability(bigint, int, int) IS
	'probability that the k hashes (1 to 64) of an element give exactly k - c distinct positions out of m (1 or more): c collisions (0 to k - 1)';

CREATE FUNCTION pbf_false_overlap_standard(n1 bigint, n2 bigint, m bigint, k int) RETURNS float8
	AS 'MODULE_PATHNAME', 'pbf_sql_false_overlap_standard' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION pbf_false_overlap_standard(bigint, bigint, bigint, int) IS
	'probability P_s = 1 - (1 - 1/m)^(k^2 n1 n2) that the standard Bloom filters of two disjoint sets of n1 and n2 elements have a common bit; m: bits, k: hash functions; takes pairs for independent';

CREATE FUNCTION pbf_false_overlap_partitioned(n1 bigint, n2 bigint, m bigint, k int) RETURNS float8
	AS 'MODULE_PATHNAME', 'pbf_sql_false_overlap_partitioned' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION pbf_false_overlap_partitioned(bigint, bigint, bigint, int) IS
	'probability P_p = (1 - (1 - k/m)^(n1 n2))^k that the partitioned Bloom filters of two disjoint sets of n1 and n2 elements have a common bit in every part; m: bits, k: parts; takes pairs for independent';

---- operators ----

CREATE OPERATOR @> (
	LEFTARG = pbf, RIGHTARG = anycompatiblenonarray, FUNCTION = pbf_contains,
	COMMUTATOR = <@,
	RESTRICT = pbf_contains_sel, JOIN = pbf_contains_joinsel
);
COMMENT ON OPERATOR @> (pbf, anycompatiblenonarray) IS 'may contain the element; false is certain';

CREATE OPERATOR <@ (
	LEFTARG = anycompatiblenonarray, RIGHTARG = pbf, FUNCTION = pbf_contained,
	COMMUTATOR = @>,
	RESTRICT = pbf_contains_sel, JOIN = pbf_contains_joinsel
);
COMMENT ON OPERATOR <@ (anycompatiblenonarray, pbf) IS 'may be contained in the filter; false is certain';

CREATE OPERATOR @> (
	LEFTARG = pbf, RIGHTARG = anycompatiblearray, FUNCTION = pbf_contains_all,
	COMMUTATOR = <@,
	RESTRICT = pbf_contains_sel, JOIN = pbf_contains_joinsel
);
COMMENT ON OPERATOR @> (pbf, anycompatiblearray) IS 'may contain all elements';

CREATE OPERATOR <@ (
	LEFTARG = anycompatiblearray, RIGHTARG = pbf, FUNCTION = pbf_contained_all,
	COMMUTATOR = @>,
	RESTRICT = pbf_contains_sel, JOIN = pbf_contains_joinsel
);
COMMENT ON OPERATOR <@ (anycompatiblearray, pbf) IS 'may all be contained in the filter';

CREATE OPERATOR && (
	LEFTARG = pbf, RIGHTARG = anycompatiblearray, FUNCTION = pbf_contains_any,
	COMMUTATOR = &&,
	RESTRICT = pbf_contains_sel, JOIN = pbf_contains_joinsel
);
COMMENT ON OPERATOR && (pbf, anycompatiblearray) IS 'may contain at least one of the elements';

CREATE OPERATOR && (
	LEFTARG = anycompatiblearray, RIGHTARG = pbf, FUNCTION = pbf_contained_any,
	COMMUTATOR = &&,
	RESTRICT = pbf_contains_sel, JOIN = pbf_contains_joinsel
);
COMMENT ON OPERATOR && (anycompatiblearray, pbf) IS 'at least one of the elements may be contained in the filter';

CREATE OPERATOR && (
	LEFTARG = pbf, RIGHTARG = pbf, FUNCTION = pbf_overlaps,
	COMMUTATOR = &&,
	NEGATOR = !&&,
	RESTRICT = contsel, JOIN = contjoinsel
);
COMMENT ON OPERATOR && (pbf, pbf) IS 'may have a common element; false is certain';

CREATE OPERATOR !&& (
	LEFTARG = pbf, RIGHTARG = pbf, FUNCTION = pbf_disjoint,
	COMMUTATOR = !&&,
	NEGATOR = &&
);
COMMENT ON OPERATOR !&& (pbf, pbf) IS 'have certainly no common element';

CREATE OPERATOR | (
	LEFTARG = pbf, RIGHTARG = pbf, FUNCTION = pbf_union,
	COMMUTATOR = |
);
COMMENT ON OPERATOR | (pbf, pbf) IS 'union';

CREATE OPERATOR & (
	LEFTARG = pbf, RIGHTARG = pbf, FUNCTION = pbf_intersect,
	COMMUTATOR = &
);
COMMENT ON OPERATOR & (pbf, pbf) IS 'intersection';

CREATE OPERATOR + (
	LEFTARG = pbf, RIGHTARG = anycompatiblenonarray, FUNCTION = pbf_add
);
COMMENT ON OPERATOR + (pbf, anycompatiblenonarray) IS 'add an element';

CREATE OPERATOR + (
	LEFTARG = pbf, RIGHTARG = anycompatiblearray, FUNCTION = pbf_add
);
COMMENT ON OPERATOR + (pbf, anycompatiblearray) IS 'add all elements';

CREATE OPERATOR -> (
	LEFTARG = pbf, RIGHTARG = int, FUNCTION = pbf_reduce
);
COMMENT ON OPERATOR -> (pbf, int) IS 'the filter''s first parts';

---- bytewise order: DISTINCT, GROUP BY, ORDER BY ----

CREATE FUNCTION pbf_eq(pbf, pbf) RETURNS bool
	AS 'MODULE_PATHNAME', 'pbf_eq' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION pbf_eq(pbf, pbf) IS
	'equal: same geometry, kind of element and bits';

CREATE FUNCTION pbf_ne(pbf, pbf) RETURNS bool
	AS 'MODULE_PATHNAME', 'pbf_ne' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION pbf_ne(pbf, pbf) IS
	'not equal';

CREATE FUNCTION pbf_lt(pbf, pbf) RETURNS bool
	AS 'MODULE_PATHNAME', 'pbf_lt' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION pbf_lt(pbf, pbf) IS
	'less, bytewise';

CREATE FUNCTION pbf_le(pbf, pbf) RETURNS bool
	AS 'MODULE_PATHNAME', 'pbf_le' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION pbf_le(pbf, pbf) IS
	'less or equal, bytewise';

CREATE FUNCTION pbf_gt(pbf, pbf) RETURNS bool
	AS 'MODULE_PATHNAME', 'pbf_gt' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION pbf_gt(pbf, pbf) IS
	'greater, bytewise';

CREATE FUNCTION pbf_ge(pbf, pbf) RETURNS bool
	AS 'MODULE_PATHNAME', 'pbf_ge' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION pbf_ge(pbf, pbf) IS
	'greater or equal, bytewise';

CREATE FUNCTION pbf_cmp(pbf, pbf) RETURNS int
	AS 'MODULE_PATHNAME', 'pbf_cmp' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION pbf_cmp(pbf, pbf) IS
	'bytewise comparison: negative, 0 or positive';

CREATE FUNCTION pbf_hash_value(pbf) RETURNS int
	AS 'MODULE_PATHNAME', 'pbf_hash_value32' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION pbf_hash_value(pbf) IS
	'hash of the filter itself, for hash joins and GROUP BY';

CREATE FUNCTION pbf_hash_value(pbf, bigint) RETURNS bigint
	AS 'MODULE_PATHNAME', 'pbf_hash_value64' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION pbf_hash_value(pbf, bigint) IS
	'seeded hash of the filter itself, for hash partitioning';

CREATE OPERATOR = (
	LEFTARG = pbf, RIGHTARG = pbf, FUNCTION = pbf_eq,
	COMMUTATOR = =, NEGATOR = <>,
	RESTRICT = eqsel, JOIN = eqjoinsel, HASHES, MERGES
);
COMMENT ON OPERATOR = (pbf, pbf) IS 'equal';

CREATE OPERATOR <> (
	LEFTARG = pbf, RIGHTARG = pbf, FUNCTION = pbf_ne,
	COMMUTATOR = <>, NEGATOR = =,
	RESTRICT = neqsel, JOIN = neqjoinsel
);
COMMENT ON OPERATOR <> (pbf, pbf) IS 'not equal';

CREATE OPERATOR < (
	LEFTARG = pbf, RIGHTARG = pbf, FUNCTION = pbf_lt,
	COMMUTATOR = >, NEGATOR = >=,
	RESTRICT = scalarltsel, JOIN = scalarltjoinsel
);
COMMENT ON OPERATOR < (pbf, pbf) IS 'less, bytewise';

CREATE OPERATOR <= (
	LEFTARG = pbf, RIGHTARG = pbf, FUNCTION = pbf_le,
	COMMUTATOR = >=, NEGATOR = >,
	RESTRICT = scalarlesel, JOIN = scalarlejoinsel
);
COMMENT ON OPERATOR <= (pbf, pbf) IS 'less or equal, bytewise';

CREATE OPERATOR > (
	LEFTARG = pbf, RIGHTARG = pbf, FUNCTION = pbf_gt,
	COMMUTATOR = <, NEGATOR = <=,
	RESTRICT = scalargtsel, JOIN = scalargtjoinsel
);
COMMENT ON OPERATOR > (pbf, pbf) IS 'greater, bytewise';

CREATE OPERATOR >= (
	LEFTARG = pbf, RIGHTARG = pbf, FUNCTION = pbf_ge,
	COMMUTATOR = <=, NEGATOR = <,
	RESTRICT = scalargesel, JOIN = scalargejoinsel
);
COMMENT ON OPERATOR >= (pbf, pbf) IS 'greater or equal, bytewise';

CREATE OPERATOR CLASS pbf_ops DEFAULT FOR TYPE pbf USING btree AS
	OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >,
	FUNCTION 1 pbf_cmp(pbf, pbf);
COMMENT ON OPERATOR CLASS pbf_ops USING btree IS 'bytewise order of filters';
COMMENT ON OPERATOR FAMILY pbf_ops USING btree IS 'bytewise order of filters';

CREATE OPERATOR CLASS pbf_ops DEFAULT FOR TYPE pbf USING hash AS
	OPERATOR 1 =,
	FUNCTION 1 pbf_hash_value(pbf),
	FUNCTION 2 pbf_hash_value(pbf, bigint);
COMMENT ON OPERATOR CLASS pbf_ops USING hash IS 'equality of filters';
COMMENT ON OPERATOR FAMILY pbf_ops USING hash IS 'equality of filters';

---- aggregates ----
--
-- The state is a pbf; text and binary form carry it between servers. The typed forms exist beside the polymorphic
-- ones because a distributed engine calls transition functions without telling the argument types.

CREATE FUNCTION pbf_agg_combine(pbf, pbf) RETURNS pbf
	AS 'MODULE_PATHNAME', 'pbf_agg_combine' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION pbf_agg_combine(pbf, pbf) IS
	'combines two states of pbf_agg, pbf_agg_like or pbf_agg_hash';

CREATE FUNCTION pbf_agg_final(pbf) RETURNS pbf
	AS 'MODULE_PATHNAME', 'pbf_agg_final' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION pbf_agg_final(pbf) IS
	'the filter of an aggregate''s state: an empty one if there was no row';

CREATE FUNCTION pbf_agg_trans(pbf, anycompatiblenonarray) RETURNS pbf
	AS 'MODULE_PATHNAME', 'pbf_agg_element' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION pbf_agg_trans(pbf, anycompatiblenonarray) IS
	'adds to the state';

CREATE FUNCTION pbf_agg_trans(pbf, anycompatiblenonarray, float8) RETURNS pbf
	AS 'MODULE_PATHNAME', 'pbf_agg_element' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION pbf_agg_trans(pbf, anycompatiblenonarray, float8) IS
	'adds to the state';

CREATE FUNCTION pbf_agg_trans(pbf, anycompatiblenonarray, float8, float8) RETURNS pbf
	AS 'MODULE_PATHNAME', 'pbf_agg_element' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION pbf_agg_trans(pbf, anycompatiblenonarray, float8, float8) IS
	'adds to the state';

CREATE FUNCTION pbf_agg_like_trans(pbf, anycompatiblenonarray, pbf) RETURNS pbf
	AS 'MODULE_PATHNAME', 'pbf_agg_like_element' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION pbf_agg_like_trans(pbf, anycompatiblenonarray, pbf) IS
	'adds to the state';

CREATE AGGREGATE pbf_agg(anycompatiblenonarray) (
	SFUNC = pbf_agg_trans, STYPE = pbf, SSPACE = 1024,
	FINALFUNC = pbf_agg_final, COMBINEFUNC = pbf_agg_combine, PARALLEL = SAFE
);
COMMENT ON AGGREGATE pbf_agg(anycompatiblenonarray) IS
	'filter of elements of any type with a place in the hash contract (doc/format.md), NULLs left out, sized by their distinct number for a false positive rate of 0.01 (up to about 1e8)';

CREATE AGGREGATE pbf_agg(anycompatiblenonarray, float8) (
	SFUNC = pbf_agg_trans, STYPE = pbf, SSPACE = 16384,
	FINALFUNC = pbf_agg_final, COMBINEFUNC = pbf_agg_combine, PARALLEL = SAFE
);
COMMENT ON AGGREGATE pbf_agg(anycompatiblenonarray, float8) IS
	'filter of elements of any type with a place in the hash contract (doc/format.md), NULLs left out; second argument: capacity, the expected distinct number (0, which counts as 1, or 1 to 1e18; NULL: found from the data); false positive rate 0.01';

CREATE AGGREGATE pbf_agg(anycompatiblenonarray, float8, float8) (
	SFUNC = pbf_agg_trans, STYPE = pbf, SSPACE = 16384,
	FINALFUNC = pbf_agg_final, COMBINEFUNC = pbf_agg_combine, PARALLEL = SAFE
);
COMMENT ON AGGREGATE pbf_agg(anycompatiblenonarray, float8, float8) IS
	'filter of elements of any type with a place in the hash contract (doc/format.md), NULLs left out; second argument: capacity, the expected distinct number (0, which counts as 1, or 1 to 1e18; NULL: found from the data); third: false positive rate (1e-15 to below 1)';

CREATE AGGREGATE pbf_agg_like(anycompatiblenonarray, pbf) (
	SFUNC = pbf_agg_like_trans, STYPE = pbf, SSPACE = 16384,
	FINALFUNC = pbf_agg_final, COMBINEFUNC = pbf_agg_combine, PARALLEL = SAFE
);
COMMENT ON AGGREGATE pbf_agg_like(anycompatiblenonarray, pbf) IS
	'filter of elements of any type with a place in the hash contract (doc/format.md), NULLs left out, in the geometry of the filter given';

CREATE FUNCTION pbf_agg_trans(pbf, anycompatiblearray) RETURNS pbf
	AS 'MODULE_PATHNAME', 'pbf_agg_array' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION pbf_agg_trans(pbf, anycompatiblearray) IS
	'adds to the state';

CREATE FUNCTION pbf_agg_trans(pbf, anycompatiblearray, float8) RETURNS pbf
	AS 'MODULE_PATHNAME', 'pbf_agg_array' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION pbf_agg_trans(pbf, anycompatiblearray, float8) IS
	'adds to the state';

CREATE FUNCTION pbf_agg_trans(pbf, anycompatiblearray, float8, float8) RETURNS pbf
	AS 'MODULE_PATHNAME', 'pbf_agg_array' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION pbf_agg_trans(pbf, anycompatiblearray, float8, float8) IS
	'adds to the state';

CREATE FUNCTION pbf_agg_like_trans(pbf, anycompatiblearray, pbf) RETURNS pbf
	AS 'MODULE_PATHNAME', 'pbf_agg_like_array' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION pbf_agg_like_trans(pbf, anycompatiblearray, pbf) IS
	'adds to the state';

CREATE AGGREGATE pbf_agg(anycompatiblearray) (
	SFUNC = pbf_agg_trans, STYPE = pbf, SSPACE = 1024,
	FINALFUNC = pbf_agg_final, COMBINEFUNC = pbf_agg_combine, PARALLEL = SAFE
);
COMMENT ON AGGREGATE pbf_agg(anycompatiblearray) IS
	'filter of elements of arrays, NULLs left out, sized by their distinct number for a false positive rate of 0.01 (up to about 1e8)';

CREATE AGGREGATE pbf_agg(anycompatiblearray, float8) (
	SFUNC = pbf_agg_trans, STYPE = pbf, SSPACE = 16384,
	FINALFUNC = pbf_agg_final, COMBINEFUNC = pbf_agg_combine, PARALLEL = SAFE
);
COMMENT ON AGGREGATE pbf_agg(anycompatiblearray, float8) IS
	'filter of elements of arrays, NULLs left out; second argument: capacity, the expected distinct number (0, which counts as 1, or 1 to 1e18; NULL: found from the data); false positive rate 0.01';

CREATE AGGREGATE pbf_agg(anycompatiblearray, float8, float8) (
	SFUNC = pbf_agg_trans, STYPE = pbf, SSPACE = 16384,
	FINALFUNC = pbf_agg_final, COMBINEFUNC = pbf_agg_combine, PARALLEL = SAFE
);
COMMENT ON AGGREGATE pbf_agg(anycompatiblearray, float8, float8) IS
	'filter of elements of arrays, NULLs left out; second argument: capacity, the expected distinct number (0, which counts as 1, or 1 to 1e18; NULL: found from the data); third: false positive rate (1e-15 to below 1)';

CREATE AGGREGATE pbf_agg_like(anycompatiblearray, pbf) (
	SFUNC = pbf_agg_like_trans, STYPE = pbf, SSPACE = 16384,
	FINALFUNC = pbf_agg_final, COMBINEFUNC = pbf_agg_combine, PARALLEL = SAFE
);
COMMENT ON AGGREGATE pbf_agg_like(anycompatiblearray, pbf) IS
	'filter of elements of arrays, NULLs left out, in the geometry of the filter given';

CREATE FUNCTION pbf_agg_trans(pbf, smallint) RETURNS pbf
	AS 'MODULE_PATHNAME', 'pbf_agg_int2' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION pbf_agg_trans(pbf, smallint) IS
	'adds to the state';

CREATE FUNCTION pbf_agg_trans(pbf, smallint, float8) RETURNS pbf
	AS 'MODULE_PATHNAME', 'pbf_agg_int2' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION pbf_agg_trans(pbf, smallint, float8) IS
	'adds to the state';

CREATE FUNCTION pbf_agg_trans(pbf, smallint, float8, float8) RETURNS pbf
	AS 'MODULE_PATHNAME', 'pbf_agg_int2' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION pbf_agg_trans(pbf, smallint, float8, float8) IS
	'adds to the state';

CREATE FUNCTION pbf_agg_like_trans(pbf, smallint, pbf) RETURNS pbf
	AS 'MODULE_PATHNAME', 'pbf_agg_like_int2' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION pbf_agg_like_trans(pbf, smallint, pbf) IS
	'adds to the state';

CREATE AGGREGATE pbf_agg(smallint) (
	SFUNC = pbf_agg_trans, STYPE = pbf, SSPACE = 1024,
	FINALFUNC = pbf_agg_final, COMBINEFUNC = pbf_agg_combine, PARALLEL = SAFE
);
COMMENT ON AGGREGATE pbf_agg(smallint) IS
	'filter of smallint values, NULLs left out, sized by their distinct number for a false positive rate of 0.01 (up to about 1e8)';

CREATE AGGREGATE pbf_agg(smallint, float8) (
	SFUNC = pbf_agg_trans, STYPE = pbf, SSPACE = 16384,
	FINALFUNC = pbf_agg_final, COMBINEFUNC = pbf_agg_combine, PARALLEL = SAFE
);
COMMENT ON AGGREGATE pbf_agg(smallint, float8) IS
	'filter of smallint values, NULLs left out; second argument: capacity, the expected distinct number (0, which counts as 1, or 1 to 1e18; NULL: found from the data); false positive rate 0.01';

CREATE AGGREGATE pbf_agg(smallint, float8, float8) (
	SFUNC = pbf_agg_trans, STYPE = pbf, SSPACE = 16384,
	FINALFUNC = pbf_agg_final, COMBINEFUNC = pbf_agg_combine, PARALLEL = SAFE
);
COMMENT ON AGGREGATE pbf_agg(smallint, float8, float8) IS
	'filter of smallint values, NULLs left out; second argument: capacity, the expected distinct number (0, which counts as 1, or 1 to 1e18; NULL: found from the data); third: false positive rate (1e-15 to below 1)';

CREATE AGGREGATE pbf_agg_like(smallint, pbf) (
	SFUNC = pbf_agg_like_trans, STYPE = pbf, SSPACE = 16384,
	FINALFUNC = pbf_agg_final, COMBINEFUNC = pbf_agg_combine, PARALLEL = SAFE
);
COMMENT ON AGGREGATE pbf_agg_like(smallint, pbf) IS
	'filter of smallint values, NULLs left out, in the geometry of the filter given';

CREATE FUNCTION pbf_agg_trans(pbf, int) RETURNS pbf
	AS 'MODULE_PATHNAME', 'pbf_agg_int4' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION pbf_agg_trans(pbf, int) IS
	'adds to the state';

CREATE FUNCTION pbf_agg_trans(pbf, int, float8) RETURNS pbf
	AS 'MODULE_PATHNAME', 'pbf_agg_int4' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION pbf_agg_trans(pbf, int, float8) IS
	'adds to the state';

CREATE FUNCTION pbf_agg_trans(pbf, int, float8, float8) RETURNS pbf
	AS 'MODULE_PATHNAME', 'pbf_agg_int4' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION pbf_agg_trans(pbf, int, float8, float8) IS
	'adds to the state';

CREATE FUNCTION pbf_agg_like_trans(pbf, int, pbf) RETURNS pbf
	AS 'MODULE_PATHNAME', 'pbf_agg_like_int4' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION pbf_agg_like_trans(pbf, int, pbf) IS
	'adds to the state';

CREATE AGGREGATE pbf_agg(int) (
	SFUNC = pbf_agg_trans, STYPE = pbf, SSPACE = 1024,
	FINALFUNC = pbf_agg_final, COMBINEFUNC = pbf_agg_combine, PARALLEL = SAFE
);
COMMENT ON AGGREGATE pbf_agg(int) IS
	'filter of int values, NULLs left out, sized by their distinct number for a false positive rate of 0.01 (up to about 1e8)';

CREATE AGGREGATE pbf_agg(int, float8) (
	SFUNC = pbf_agg_trans, STYPE = pbf, SSPACE = 16384,
	FINALFUNC = pbf_agg_final, COMBINEFUNC = pbf_agg_combine, PARALLEL = SAFE
);
COMMENT ON AGGREGATE pbf_agg(int, float8) IS
	'filter of int values, NULLs left out; second argument: capacity, the expected distinct number (0, which counts as 1, or 1 to 1e18; NULL: found from the data); false positive rate 0.01';

CREATE AGGREGATE pbf_agg(int, float8, float8) (
	SFUNC = pbf_agg_trans, STYPE = pbf, SSPACE = 16384,
	FINALFUNC = pbf_agg_final, COMBINEFUNC = pbf_agg_combine, PARALLEL = SAFE
);
COMMENT ON AGGREGATE pbf_agg(int, float8, float8) IS
	'filter of int values, NULLs left out; second argument: capacity, the expected distinct number (0, which counts as 1, or 1 to 1e18; NULL: found from the data); third: false positive rate (1e-15 to below 1)';

CREATE AGGREGATE pbf_agg_like(int, pbf) (
	SFUNC = pbf_agg_like_trans, STYPE = pbf, SSPACE = 16384,
	FINALFUNC = pbf_agg_final, COMBINEFUNC = pbf_agg_combine, PARALLEL = SAFE
);
COMMENT ON AGGREGATE pbf_agg_like(int, pbf) IS
	'filter of int values, NULLs left out, in the geometry of the filter given';

CREATE FUNCTION pbf_agg_trans(pbf, bigint) RETURNS pbf
	AS 'MODULE_PATHNAME', 'pbf_agg_int8' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION pbf_agg_trans(pbf, bigint) IS
	'adds to the state';

CREATE FUNCTION pbf_agg_trans(pbf, bigint, float8) RETURNS pbf
	AS 'MODULE_PATHNAME', 'pbf_agg_int8' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION pbf_agg_trans(pbf, bigint, float8) IS
	'adds to the state';

CREATE FUNCTION pbf_agg_trans(pbf, bigint, float8, float8) RETURNS pbf
	AS 'MODULE_PATHNAME', 'pbf_agg_int8' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION pbf_agg_trans(pbf, bigint, float8, float8) IS
	'adds to the state';

CREATE FUNCTION pbf_agg_like_trans(pbf, bigint, pbf) RETURNS pbf
	AS 'MODULE_PATHNAME', 'pbf_agg_like_int8' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION pbf_agg_like_trans(pbf, bigint, pbf) IS
	'adds to the state';

CREATE AGGREGATE pbf_agg(bigint) (
	SFUNC = pbf_agg_trans, STYPE = pbf, SSPACE = 1024,
	FINALFUNC = pbf_agg_final, COMBINEFUNC = pbf_agg_combine, PARALLEL = SAFE
);
COMMENT ON AGGREGATE pbf_agg(bigint) IS
	'filter of bigint values, NULLs left out, sized by their distinct number for a false positive rate of 0.01 (up to about 1e8)';

CREATE AGGREGATE pbf_agg(bigint, float8) (
	SFUNC = pbf_agg_trans, STYPE = pbf, SSPACE = 16384,
	FINALFUNC = pbf_agg_final, COMBINEFUNC = pbf_agg_combine, PARALLEL = SAFE
);
COMMENT ON AGGREGATE pbf_agg(bigint, float8) IS
	'filter of bigint values, NULLs left out; second argument: capacity, the expected distinct number (0, which counts as 1, or 1 to 1e18; NULL: found from the data); false positive rate 0.01';

CREATE AGGREGATE pbf_agg(bigint, float8, float8) (
	SFUNC = pbf_agg_trans, STYPE = pbf, SSPACE = 16384,
	FINALFUNC = pbf_agg_final, COMBINEFUNC = pbf_agg_combine, PARALLEL = SAFE
);
COMMENT ON AGGREGATE pbf_agg(bigint, float8, float8) IS
	'filter of bigint values, NULLs left out; second argument: capacity, the expected distinct number (0, which counts as 1, or 1 to 1e18; NULL: found from the data); third: false positive rate (1e-15 to below 1)';

CREATE AGGREGATE pbf_agg_like(bigint, pbf) (
	SFUNC = pbf_agg_like_trans, STYPE = pbf, SSPACE = 16384,
	FINALFUNC = pbf_agg_final, COMBINEFUNC = pbf_agg_combine, PARALLEL = SAFE
);
COMMENT ON AGGREGATE pbf_agg_like(bigint, pbf) IS
	'filter of bigint values, NULLs left out, in the geometry of the filter given';

CREATE FUNCTION pbf_agg_trans(pbf, oid) RETURNS pbf
	AS 'MODULE_PATHNAME', 'pbf_agg_oid' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION pbf_agg_trans(pbf, oid) IS
	'adds to the state';

CREATE FUNCTION pbf_agg_trans(pbf, oid, float8) RETURNS pbf
	AS 'MODULE_PATHNAME', 'pbf_agg_oid' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION pbf_agg_trans(pbf, oid, float8) IS
	'adds to the state';

CREATE FUNCTION pbf_agg_trans(pbf, oid, float8, float8) RETURNS pbf
	AS 'MODULE_PATHNAME', 'pbf_agg_oid' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION pbf_agg_trans(pbf, oid, float8, float8) IS
	'adds to the state';

CREATE FUNCTION pbf_agg_like_trans(pbf, oid, pbf) RETURNS pbf
	AS 'MODULE_PATHNAME', 'pbf_agg_like_oid' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION pbf_agg_like_trans(pbf, oid, pbf) IS
	'adds to the state';

CREATE AGGREGATE pbf_agg(oid) (
	SFUNC = pbf_agg_trans, STYPE = pbf, SSPACE = 1024,
	FINALFUNC = pbf_agg_final, COMBINEFUNC = pbf_agg_combine, PARALLEL = SAFE
);
COMMENT ON AGGREGATE pbf_agg(oid) IS
	'filter of oid values, NULLs left out, sized by their distinct number for a false positive rate of 0.01 (up to about 1e8)';

CREATE AGGREGATE pbf_agg(oid, float8) (
	SFUNC = pbf_agg_trans, STYPE = pbf, SSPACE = 16384,
	FINALFUNC = pbf_agg_final, COMBINEFUNC = pbf_agg_combine, PARALLEL = SAFE
);
COMMENT ON AGGREGATE pbf_agg(oid, float8) IS
	'filter of oid values, NULLs left out; second argument: capacity, the expected distinct number (0, which counts as 1, or 1 to 1e18; NULL: found from the data); false positive rate 0.01';

CREATE AGGREGATE pbf_agg(oid, float8, float8) (
	SFUNC = pbf_agg_trans, STYPE = pbf, SSPACE = 16384,
	FINALFUNC = pbf_agg_final, COMBINEFUNC = pbf_agg_combine, PARALLEL = SAFE
);
COMMENT ON AGGREGATE pbf_agg(oid, float8, float8) IS
	'filter of oid values, NULLs left out; second argument: capacity, the expected distinct number (0, which counts as 1, or 1 to 1e18; NULL: found from the data); third: false positive rate (1e-15 to below 1)';

CREATE AGGREGATE pbf_agg_like(oid, pbf) (
	SFUNC = pbf_agg_like_trans, STYPE = pbf, SSPACE = 16384,
	FINALFUNC = pbf_agg_final, COMBINEFUNC = pbf_agg_combine, PARALLEL = SAFE
);
COMMENT ON AGGREGATE pbf_agg_like(oid, pbf) IS
	'filter of oid values, NULLs left out, in the geometry of the filter given';

CREATE FUNCTION pbf_agg_trans(pbf, text) RETURNS pbf
	AS 'MODULE_PATHNAME', 'pbf_agg_text' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION pbf_agg_trans(pbf, text) IS
	'adds to the state';

CREATE FUNCTION pbf_agg_trans(pbf, text, float8) RETURNS pbf
	AS 'MODULE_PATHNAME', 'pbf_agg_text' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION pbf_agg_trans(pbf, text, float8) IS
	'adds to the state';

CREATE FUNCTION pbf_agg_trans(pbf, text, float8, float8) RETURNS pbf
	AS 'MODULE_PATHNAME', 'pbf_agg_text' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION pbf_agg_trans(pbf, text, float8, float8) IS
	'adds to the state';

CREATE FUNCTION pbf_agg_like_trans(pbf, text, pbf) RETURNS pbf
	AS 'MODULE_PATHNAME', 'pbf_agg_like_text' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION pbf_agg_like_trans(pbf, text, pbf) IS
	'adds to the state';

CREATE AGGREGATE pbf_agg(text) (
	SFUNC = pbf_agg_trans, STYPE = pbf, SSPACE = 1024,
	FINALFUNC = pbf_agg_final, COMBINEFUNC = pbf_agg_combine, PARALLEL = SAFE
);
COMMENT ON AGGREGATE pbf_agg(text) IS
	'filter of text values, NULLs left out, sized by their distinct number for a false positive rate of 0.01 (up to about 1e8)';

CREATE AGGREGATE pbf_agg(text, float8) (
	SFUNC = pbf_agg_trans, STYPE = pbf, SSPACE = 16384,
	FINALFUNC = pbf_agg_final, COMBINEFUNC = pbf_agg_combine, PARALLEL = SAFE
);
COMMENT ON AGGREGATE pbf_agg(text, float8) IS
	'filter of text values, NULLs left out; second argument: capacity, the expected distinct number (0, which counts as 1, or 1 to 1e18; NULL: found from the data); false positive rate 0.01';

CREATE AGGREGATE pbf_agg(text, float8, float8) (
	SFUNC = pbf_agg_trans, STYPE = pbf, SSPACE = 16384,
	FINALFUNC = pbf_agg_final, COMBINEFUNC = pbf_agg_combine, PARALLEL = SAFE
);
COMMENT ON AGGREGATE pbf_agg(text, float8, float8) IS
	'filter of text values, NULLs left out; second argument: capacity, the expected distinct number (0, which counts as 1, or 1 to 1e18; NULL: found from the data); third: false positive rate (1e-15 to below 1)';

CREATE AGGREGATE pbf_agg_like(text, pbf) (
	SFUNC = pbf_agg_like_trans, STYPE = pbf, SSPACE = 16384,
	FINALFUNC = pbf_agg_final, COMBINEFUNC = pbf_agg_combine, PARALLEL = SAFE
);
COMMENT ON AGGREGATE pbf_agg_like(text, pbf) IS
	'filter of text values, NULLs left out, in the geometry of the filter given';

CREATE FUNCTION pbf_agg_trans(pbf, "char") RETURNS pbf
	AS 'MODULE_PATHNAME', 'pbf_agg_char' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION pbf_agg_trans(pbf, "char") IS
	'adds to the state';

CREATE FUNCTION pbf_agg_trans(pbf, "char", float8) RETURNS pbf
	AS 'MODULE_PATHNAME', 'pbf_agg_char' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION pbf_agg_trans(pbf, "char", float8) IS
	'adds to the state';

CREATE FUNCTION pbf_agg_trans(pbf, "char", float8, float8) RETURNS pbf
	AS 'MODULE_PATHNAME', 'pbf_agg_char' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION pbf_agg_trans(pbf, "char", float8, float8) IS
	'adds to the state';

CREATE FUNCTION pbf_agg_like_trans(pbf, "char", pbf) RETURNS pbf
	AS 'MODULE_PATHNAME', 'pbf_agg_like_char' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION pbf_agg_like_trans(pbf, "char", pbf) IS
	'adds to the state';

CREATE AGGREGATE pbf_agg("char") (
	SFUNC = pbf_agg_trans, STYPE = pbf, SSPACE = 1024,
	FINALFUNC = pbf_agg_final, COMBINEFUNC = pbf_agg_combine, PARALLEL = SAFE
);
COMMENT ON AGGREGATE pbf_agg("char") IS
	'filter of "char" values, NULLs left out, sized by their distinct number for a false positive rate of 0.01 (up to about 1e8)';

CREATE AGGREGATE pbf_agg("char", float8) (
	SFUNC = pbf_agg_trans, STYPE = pbf, SSPACE = 16384,
	FINALFUNC = pbf_agg_final, COMBINEFUNC = pbf_agg_combine, PARALLEL = SAFE
);
COMMENT ON AGGREGATE pbf_agg("char", float8) IS
	'filter of "char" values, NULLs left out; second argument: capacity, the expected distinct number (0, which counts as 1, or 1 to 1e18; NULL: found from the data); false positive rate 0.01';

CREATE AGGREGATE pbf_agg("char", float8, float8) (
	SFUNC = pbf_agg_trans, STYPE = pbf, SSPACE = 16384,
	FINALFUNC = pbf_agg_final, COMBINEFUNC = pbf_agg_combine, PARALLEL = SAFE
);
COMMENT ON AGGREGATE pbf_agg("char", float8, float8) IS
	'filter of "char" values, NULLs left out; second argument: capacity, the expected distinct number (0, which counts as 1, or 1 to 1e18; NULL: found from the data); third: false positive rate (1e-15 to below 1)';

CREATE AGGREGATE pbf_agg_like("char", pbf) (
	SFUNC = pbf_agg_like_trans, STYPE = pbf, SSPACE = 16384,
	FINALFUNC = pbf_agg_final, COMBINEFUNC = pbf_agg_combine, PARALLEL = SAFE
);
COMMENT ON AGGREGATE pbf_agg_like("char", pbf) IS
	'filter of "char" values, NULLs left out, in the geometry of the filter given';

CREATE FUNCTION pbf_agg_trans(pbf, uuid) RETURNS pbf
	AS 'MODULE_PATHNAME', 'pbf_agg_uuid' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION pbf_agg_trans(pbf, uuid) IS
	'adds to the state';

CREATE FUNCTION pbf_agg_trans(pbf, uuid, float8) RETURNS pbf
	AS 'MODULE_PATHNAME', 'pbf_agg_uuid' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION pbf_agg_trans(pbf, uuid, float8) IS
	'adds to the state';

CREATE FUNCTION pbf_agg_trans(pbf, uuid, float8, float8) RETURNS pbf
	AS 'MODULE_PATHNAME', 'pbf_agg_uuid' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION pbf_agg_trans(pbf, uuid, float8, float8) IS
	'adds to the state';

CREATE FUNCTION pbf_agg_like_trans(pbf, uuid, pbf) RETURNS pbf
	AS 'MODULE_PATHNAME', 'pbf_agg_like_uuid' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION pbf_agg_like_trans(pbf, uuid, pbf) IS
	'adds to the state';

CREATE AGGREGATE pbf_agg(uuid) (
	SFUNC = pbf_agg_trans, STYPE = pbf, SSPACE = 1024,
	FINALFUNC = pbf_agg_final, COMBINEFUNC = pbf_agg_combine, PARALLEL = SAFE
);
COMMENT ON AGGREGATE pbf_agg(uuid) IS
	'filter of uuid values, NULLs left out, sized by their distinct number for a false positive rate of 0.01 (up to about 1e8)';

CREATE AGGREGATE pbf_agg(uuid, float8) (
	SFUNC = pbf_agg_trans, STYPE = pbf, SSPACE = 16384,
	FINALFUNC = pbf_agg_final, COMBINEFUNC = pbf_agg_combine, PARALLEL = SAFE
);
COMMENT ON AGGREGATE pbf_agg(uuid, float8) IS
	'filter of uuid values, NULLs left out; second argument: capacity, the expected distinct number (0, which counts as 1, or 1 to 1e18; NULL: found from the data); false positive rate 0.01';

CREATE AGGREGATE pbf_agg(uuid, float8, float8) (
	SFUNC = pbf_agg_trans, STYPE = pbf, SSPACE = 16384,
	FINALFUNC = pbf_agg_final, COMBINEFUNC = pbf_agg_combine, PARALLEL = SAFE
);
COMMENT ON AGGREGATE pbf_agg(uuid, float8, float8) IS
	'filter of uuid values, NULLs left out; second argument: capacity, the expected distinct number (0, which counts as 1, or 1 to 1e18; NULL: found from the data); third: false positive rate (1e-15 to below 1)';

CREATE AGGREGATE pbf_agg_like(uuid, pbf) (
	SFUNC = pbf_agg_like_trans, STYPE = pbf, SSPACE = 16384,
	FINALFUNC = pbf_agg_final, COMBINEFUNC = pbf_agg_combine, PARALLEL = SAFE
);
COMMENT ON AGGREGATE pbf_agg_like(uuid, pbf) IS
	'filter of uuid values, NULLs left out, in the geometry of the filter given';

CREATE FUNCTION pbf_agg_trans(pbf, bytea) RETURNS pbf
	AS 'MODULE_PATHNAME', 'pbf_agg_bytea' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION pbf_agg_trans(pbf, bytea) IS
	'adds to the state';

CREATE FUNCTION pbf_agg_trans(pbf, bytea, float8) RETURNS pbf
	AS 'MODULE_PATHNAME', 'pbf_agg_bytea' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION pbf_agg_trans(pbf, bytea, float8) IS
	'adds to the state';

CREATE FUNCTION pbf_agg_trans(pbf, bytea, float8, float8) RETURNS pbf
	AS 'MODULE_PATHNAME', 'pbf_agg_bytea' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION pbf_agg_trans(pbf, bytea, float8, float8) IS
	'adds to the state';

CREATE FUNCTION pbf_agg_like_trans(pbf, bytea, pbf) RETURNS pbf
	AS 'MODULE_PATHNAME', 'pbf_agg_like_bytea' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION pbf_agg_like_trans(pbf, bytea, pbf) IS
	'adds to the state';

CREATE AGGREGATE pbf_agg(bytea) (
	SFUNC = pbf_agg_trans, STYPE = pbf, SSPACE = 1024,
	FINALFUNC = pbf_agg_final, COMBINEFUNC = pbf_agg_combine, PARALLEL = SAFE
);
COMMENT ON AGGREGATE pbf_agg(bytea) IS
	'filter of bytea values, NULLs left out, sized by their distinct number for a false positive rate of 0.01 (up to about 1e8)';

CREATE AGGREGATE pbf_agg(bytea, float8) (
	SFUNC = pbf_agg_trans, STYPE = pbf, SSPACE = 16384,
	FINALFUNC = pbf_agg_final, COMBINEFUNC = pbf_agg_combine, PARALLEL = SAFE
);
COMMENT ON AGGREGATE pbf_agg(bytea, float8) IS
	'filter of bytea values, NULLs left out; second argument: capacity, the expected distinct number (0, which counts as 1, or 1 to 1e18; NULL: found from the data); false positive rate 0.01';

CREATE AGGREGATE pbf_agg(bytea, float8, float8) (
	SFUNC = pbf_agg_trans, STYPE = pbf, SSPACE = 16384,
	FINALFUNC = pbf_agg_final, COMBINEFUNC = pbf_agg_combine, PARALLEL = SAFE
);
COMMENT ON AGGREGATE pbf_agg(bytea, float8, float8) IS
	'filter of bytea values, NULLs left out; second argument: capacity, the expected distinct number (0, which counts as 1, or 1 to 1e18; NULL: found from the data); third: false positive rate (1e-15 to below 1)';

CREATE AGGREGATE pbf_agg_like(bytea, pbf) (
	SFUNC = pbf_agg_like_trans, STYPE = pbf, SSPACE = 16384,
	FINALFUNC = pbf_agg_final, COMBINEFUNC = pbf_agg_combine, PARALLEL = SAFE
);
COMMENT ON AGGREGATE pbf_agg_like(bytea, pbf) IS
	'filter of bytea values, NULLs left out, in the geometry of the filter given';

CREATE FUNCTION pbf_agg_trans(pbf, numeric) RETURNS pbf
	AS 'MODULE_PATHNAME', 'pbf_agg_numeric' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION pbf_agg_trans(pbf, numeric) IS
	'adds to the state';

CREATE FUNCTION pbf_agg_trans(pbf, numeric, float8) RETURNS pbf
	AS 'MODULE_PATHNAME', 'pbf_agg_numeric' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION pbf_agg_trans(pbf, numeric, float8) IS
	'adds to the state';

CREATE FUNCTION pbf_agg_trans(pbf, numeric, float8, float8) RETURNS pbf
	AS 'MODULE_PATHNAME', 'pbf_agg_numeric' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION pbf_agg_trans(pbf, numeric, float8, float8) IS
	'adds to the state';

CREATE FUNCTION pbf_agg_like_trans(pbf, numeric, pbf) RETURNS pbf
	AS 'MODULE_PATHNAME', 'pbf_agg_like_numeric' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION pbf_agg_like_trans(pbf, numeric, pbf) IS
	'adds to the state';

CREATE AGGREGATE pbf_agg(numeric) (
	SFUNC = pbf_agg_trans, STYPE = pbf, SSPACE = 1024,
	FINALFUNC = pbf_agg_final, COMBINEFUNC = pbf_agg_combine, PARALLEL = SAFE
);
COMMENT ON AGGREGATE pbf_agg(numeric) IS
	'filter of numeric values, NULLs left out, sized by their distinct number for a false positive rate of 0.01 (up to about 1e8)';

CREATE AGGREGATE pbf_agg(numeric, float8) (
	SFUNC = pbf_agg_trans, STYPE = pbf, SSPACE = 16384,
	FINALFUNC = pbf_agg_final, COMBINEFUNC = pbf_agg_combine, PARALLEL = SAFE
);
COMMENT ON AGGREGATE pbf_agg(numeric, float8) IS
	'filter of numeric values, NULLs left out; second argument: capacity, the expected distinct number (0, which counts as 1, or 1 to 1e18; NULL: found from the data); false positive rate 0.01';

CREATE AGGREGATE pbf_agg(numeric, float8, float8) (
	SFUNC = pbf_agg_trans, STYPE = pbf, SSPACE = 16384,
	FINALFUNC = pbf_agg_final, COMBINEFUNC = pbf_agg_combine, PARALLEL = SAFE
);
COMMENT ON AGGREGATE pbf_agg(numeric, float8, float8) IS
	'filter of numeric values, NULLs left out; second argument: capacity, the expected distinct number (0, which counts as 1, or 1 to 1e18; NULL: found from the data); third: false positive rate (1e-15 to below 1)';

CREATE AGGREGATE pbf_agg_like(numeric, pbf) (
	SFUNC = pbf_agg_like_trans, STYPE = pbf, SSPACE = 16384,
	FINALFUNC = pbf_agg_final, COMBINEFUNC = pbf_agg_combine, PARALLEL = SAFE
);
COMMENT ON AGGREGATE pbf_agg_like(numeric, pbf) IS
	'filter of numeric values, NULLs left out, in the geometry of the filter given';

CREATE FUNCTION pbf_agg_trans(pbf, real) RETURNS pbf
	AS 'MODULE_PATHNAME', 'pbf_agg_float4' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION pbf_agg_trans(pbf, real) IS
	'adds to the state';

CREATE FUNCTION pbf_agg_trans(pbf, real, float8) RETURNS pbf
	AS 'MODULE_PATHNAME', 'pbf_agg_float4' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION pbf_agg_trans(pbf, real, float8) IS
	'adds to the state';

CREATE FUNCTION pbf_agg_trans(pbf, real, float8, float8) RETURNS pbf
	AS 'MODULE_PATHNAME', 'pbf_agg_float4' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION pbf_agg_trans(pbf, real, float8, float8) IS
	'adds to the state';

CREATE FUNCTION pbf_agg_like_trans(pbf, real, pbf) RETURNS pbf
	AS 'MODULE_PATHNAME', 'pbf_agg_like_float4' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION pbf_agg_like_trans(pbf, real, pbf) IS
	'adds to the state';

CREATE AGGREGATE pbf_agg(real) (
	SFUNC = pbf_agg_trans, STYPE = pbf, SSPACE = 1024,
	FINALFUNC = pbf_agg_final, COMBINEFUNC = pbf_agg_combine, PARALLEL = SAFE
);
COMMENT ON AGGREGATE pbf_agg(real) IS
	'filter of real values, NULLs left out, sized by their distinct number for a false positive rate of 0.01 (up to about 1e8)';

CREATE AGGREGATE pbf_agg(real, float8) (
	SFUNC = pbf_agg_trans, STYPE = pbf, SSPACE = 16384,
	FINALFUNC = pbf_agg_final, COMBINEFUNC = pbf_agg_combine, PARALLEL = SAFE
);
COMMENT ON AGGREGATE pbf_agg(real, float8) IS
	'filter of real values, NULLs left out; second argument: capacity, the expected distinct number (0, which counts as 1, or 1 to 1e18; NULL: found from the data); false positive rate 0.01';

CREATE AGGREGATE pbf_agg(real, float8, float8) (
	SFUNC = pbf_agg_trans, STYPE = pbf, SSPACE = 16384,
	FINALFUNC = pbf_agg_final, COMBINEFUNC = pbf_agg_combine, PARALLEL = SAFE
);
COMMENT ON AGGREGATE pbf_agg(real, float8, float8) IS
	'filter of real values, NULLs left out; second argument: capacity, the expected distinct number (0, which counts as 1, or 1 to 1e18; NULL: found from the data); third: false positive rate (1e-15 to below 1)';

CREATE AGGREGATE pbf_agg_like(real, pbf) (
	SFUNC = pbf_agg_like_trans, STYPE = pbf, SSPACE = 16384,
	FINALFUNC = pbf_agg_final, COMBINEFUNC = pbf_agg_combine, PARALLEL = SAFE
);
COMMENT ON AGGREGATE pbf_agg_like(real, pbf) IS
	'filter of real values, NULLs left out, in the geometry of the filter given';

CREATE FUNCTION pbf_agg_trans(pbf, float8) RETURNS pbf
	AS 'MODULE_PATHNAME', 'pbf_agg_float8' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION pbf_agg_trans(pbf, float8) IS
	'adds to the state';

CREATE FUNCTION pbf_agg_trans(pbf, float8, float8) RETURNS pbf
	AS 'MODULE_PATHNAME', 'pbf_agg_float8' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION pbf_agg_trans(pbf, float8, float8) IS
	'adds to the state';

CREATE FUNCTION pbf_agg_trans(pbf, float8, float8, float8) RETURNS pbf
	AS 'MODULE_PATHNAME', 'pbf_agg_float8' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION pbf_agg_trans(pbf, float8, float8, float8) IS
	'adds to the state';

CREATE FUNCTION pbf_agg_like_trans(pbf, float8, pbf) RETURNS pbf
	AS 'MODULE_PATHNAME', 'pbf_agg_like_float8' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION pbf_agg_like_trans(pbf, float8, pbf) IS
	'adds to the state';

CREATE AGGREGATE pbf_agg(float8) (
	SFUNC = pbf_agg_trans, STYPE = pbf, SSPACE = 1024,
	FINALFUNC = pbf_agg_final, COMBINEFUNC = pbf_agg_combine, PARALLEL = SAFE
);
COMMENT ON AGGREGATE pbf_agg(float8) IS
	'filter of float8 values, NULLs left out, sized by their distinct number for a false positive rate of 0.01 (up to about 1e8)';

CREATE AGGREGATE pbf_agg(float8, float8) (
	SFUNC = pbf_agg_trans, STYPE = pbf, SSPACE = 16384,
	FINALFUNC = pbf_agg_final, COMBINEFUNC = pbf_agg_combine, PARALLEL = SAFE
);
COMMENT ON AGGREGATE pbf_agg(float8, float8) IS
	'filter of float8 values, NULLs left out; second argument: capacity, the expected distinct number (0, which counts as 1, or 1 to 1e18; NULL: found from the data); false positive rate 0.01';

CREATE AGGREGATE pbf_agg(float8, float8, float8) (
	SFUNC = pbf_agg_trans, STYPE = pbf, SSPACE = 16384,
	FINALFUNC = pbf_agg_final, COMBINEFUNC = pbf_agg_combine, PARALLEL = SAFE
);
COMMENT ON AGGREGATE pbf_agg(float8, float8, float8) IS
	'filter of float8 values, NULLs left out; second argument: capacity, the expected distinct number (0, which counts as 1, or 1 to 1e18; NULL: found from the data); third: false positive rate (1e-15 to below 1)';

CREATE AGGREGATE pbf_agg_like(float8, pbf) (
	SFUNC = pbf_agg_like_trans, STYPE = pbf, SSPACE = 16384,
	FINALFUNC = pbf_agg_final, COMBINEFUNC = pbf_agg_combine, PARALLEL = SAFE
);
COMMENT ON AGGREGATE pbf_agg_like(float8, pbf) IS
	'filter of float8 values, NULLs left out, in the geometry of the filter given';

CREATE FUNCTION pbf_agg_trans(pbf, date) RETURNS pbf
	AS 'MODULE_PATHNAME', 'pbf_agg_date' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION pbf_agg_trans(pbf, date) IS
	'adds to the state';

CREATE FUNCTION pbf_agg_trans(pbf, date, float8) RETURNS pbf
	AS 'MODULE_PATHNAME', 'pbf_agg_date' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION pbf_agg_trans(pbf, date, float8) IS
	'adds to the state';

CREATE FUNCTION pbf_agg_trans(pbf, date, float8, float8) RETURNS pbf
	AS 'MODULE_PATHNAME', 'pbf_agg_date' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION pbf_agg_trans(pbf, date, float8, float8) IS
	'adds to the state';

CREATE FUNCTION pbf_agg_like_trans(pbf, date, pbf) RETURNS pbf
	AS 'MODULE_PATHNAME', 'pbf_agg_like_date' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION pbf_agg_like_trans(pbf, date, pbf) IS
	'adds to the state';

CREATE AGGREGATE pbf_agg(date) (
	SFUNC = pbf_agg_trans, STYPE = pbf, SSPACE = 1024,
	FINALFUNC = pbf_agg_final, COMBINEFUNC = pbf_agg_combine, PARALLEL = SAFE
);
COMMENT ON AGGREGATE pbf_agg(date) IS
	'filter of date values, NULLs left out, sized by their distinct number for a false positive rate of 0.01 (up to about 1e8)';

CREATE AGGREGATE pbf_agg(date, float8) (
	SFUNC = pbf_agg_trans, STYPE = pbf, SSPACE = 16384,
	FINALFUNC = pbf_agg_final, COMBINEFUNC = pbf_agg_combine, PARALLEL = SAFE
);
COMMENT ON AGGREGATE pbf_agg(date, float8) IS
	'filter of date values, NULLs left out; second argument: capacity, the expected distinct number (0, which counts as 1, or 1 to 1e18; NULL: found from the data); false positive rate 0.01';

CREATE AGGREGATE pbf_agg(date, float8, float8) (
	SFUNC = pbf_agg_trans, STYPE = pbf, SSPACE = 16384,
	FINALFUNC = pbf_agg_final, COMBINEFUNC = pbf_agg_combine, PARALLEL = SAFE
);
COMMENT ON AGGREGATE pbf_agg(date, float8, float8) IS
	'filter of date values, NULLs left out; second argument: capacity, the expected distinct number (0, which counts as 1, or 1 to 1e18; NULL: found from the data); third: false positive rate (1e-15 to below 1)';

CREATE AGGREGATE pbf_agg_like(date, pbf) (
	SFUNC = pbf_agg_like_trans, STYPE = pbf, SSPACE = 16384,
	FINALFUNC = pbf_agg_final, COMBINEFUNC = pbf_agg_combine, PARALLEL = SAFE
);
COMMENT ON AGGREGATE pbf_agg_like(date, pbf) IS
	'filter of date values, NULLs left out, in the geometry of the filter given';

CREATE FUNCTION pbf_agg_trans(pbf, timestamp) RETURNS pbf
	AS 'MODULE_PATHNAME', 'pbf_agg_timestamp' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION pbf_agg_trans(pbf, timestamp) IS
	'adds to the state';

CREATE FUNCTION pbf_agg_trans(pbf, timestamp, float8) RETURNS pbf
	AS 'MODULE_PATHNAME', 'pbf_agg_timestamp' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION pbf_agg_trans(pbf, timestamp, float8) IS
	'adds to the state';

CREATE FUNCTION pbf_agg_trans(pbf, timestamp, float8, float8) RETURNS pbf
	AS 'MODULE_PATHNAME', 'pbf_agg_timestamp' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION pbf_agg_trans(pbf, timestamp, float8, float8) IS
	'adds to the state';

CREATE FUNCTION pbf_agg_like_trans(pbf, timestamp, pbf) RETURNS pbf
	AS 'MODULE_PATHNAME', 'pbf_agg_like_timestamp' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION pbf_agg_like_trans(pbf, timestamp, pbf) IS
	'adds to the state';

CREATE AGGREGATE pbf_agg(timestamp) (
	SFUNC = pbf_agg_trans, STYPE = pbf, SSPACE = 1024,
	FINALFUNC = pbf_agg_final, COMBINEFUNC = pbf_agg_combine, PARALLEL = SAFE
);
COMMENT ON AGGREGATE pbf_agg(timestamp) IS
	'filter of timestamp values, NULLs left out, sized by their distinct number for a false positive rate of 0.01 (up to about 1e8)';

CREATE AGGREGATE pbf_agg(timestamp, float8) (
	SFUNC = pbf_agg_trans, STYPE = pbf, SSPACE = 16384,
	FINALFUNC = pbf_agg_final, COMBINEFUNC = pbf_agg_combine, PARALLEL = SAFE
);
COMMENT ON AGGREGATE pbf_agg(timestamp, float8) IS
	'filter of timestamp values, NULLs left out; second argument: capacity, the expected distinct number (0, which counts as 1, or 1 to 1e18; NULL: found from the data); false positive rate 0.01';

CREATE AGGREGATE pbf_agg(timestamp, float8, float8) (
	SFUNC = pbf_agg_trans, STYPE = pbf, SSPACE = 16384,
	FINALFUNC = pbf_agg_final, COMBINEFUNC = pbf_agg_combine, PARALLEL = SAFE
);
COMMENT ON AGGREGATE pbf_agg(timestamp, float8, float8) IS
	'filter of timestamp values, NULLs left out; second argument: capacity, the expected distinct number (0, which counts as 1, or 1 to 1e18; NULL: found from the data); third: false positive rate (1e-15 to below 1)';

CREATE AGGREGATE pbf_agg_like(timestamp, pbf) (
	SFUNC = pbf_agg_like_trans, STYPE = pbf, SSPACE = 16384,
	FINALFUNC = pbf_agg_final, COMBINEFUNC = pbf_agg_combine, PARALLEL = SAFE
);
COMMENT ON AGGREGATE pbf_agg_like(timestamp, pbf) IS
	'filter of timestamp values, NULLs left out, in the geometry of the filter given';

CREATE FUNCTION pbf_agg_trans(pbf, timestamptz) RETURNS pbf
	AS 'MODULE_PATHNAME', 'pbf_agg_timestamptz' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION pbf_agg_trans(pbf, timestamptz) IS
	'adds to the state';

CREATE FUNCTION pbf_agg_trans(pbf, timestamptz, float8) RETURNS pbf
	AS 'MODULE_PATHNAME', 'pbf_agg_timestamptz' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION pbf_agg_trans(pbf, timestamptz, float8) IS
	'adds to the state';

CREATE FUNCTION pbf_agg_trans(pbf, timestamptz, float8, float8) RETURNS pbf
	AS 'MODULE_PATHNAME', 'pbf_agg_timestamptz' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION pbf_agg_trans(pbf, timestamptz, float8, float8) IS
	'adds to the state';

CREATE FUNCTION pbf_agg_like_trans(pbf, timestamptz, pbf) RETURNS pbf
	AS 'MODULE_PATHNAME', 'pbf_agg_like_timestamptz' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION pbf_agg_like_trans(pbf, timestamptz, pbf) IS
	'adds to the state';

CREATE AGGREGATE pbf_agg(timestamptz) (
	SFUNC = pbf_agg_trans, STYPE = pbf, SSPACE = 1024,
	FINALFUNC = pbf_agg_final, COMBINEFUNC = pbf_agg_combine, PARALLEL = SAFE
);
COMMENT ON AGGREGATE pbf_agg(timestamptz) IS
	'filter of timestamptz values, NULLs left out, sized by their distinct number for a false positive rate of 0.01 (up to about 1e8)';

CREATE AGGREGATE pbf_agg(timestamptz, float8) (
	SFUNC = pbf_agg_trans, STYPE = pbf, SSPACE = 16384,
	FINALFUNC = pbf_agg_final, COMBINEFUNC = pbf_agg_combine, PARALLEL = SAFE
);
COMMENT ON AGGREGATE pbf_agg(timestamptz, float8) IS
	'filter of timestamptz values, NULLs left out; second argument: capacity, the expected distinct number (0, which counts as 1, or 1 to 1e18; NULL: found from the data); false positive rate 0.01';

CREATE AGGREGATE pbf_agg(timestamptz, float8, float8) (
	SFUNC = pbf_agg_trans, STYPE = pbf, SSPACE = 16384,
	FINALFUNC = pbf_agg_final, COMBINEFUNC = pbf_agg_combine, PARALLEL = SAFE
);
COMMENT ON AGGREGATE pbf_agg(timestamptz, float8, float8) IS
	'filter of timestamptz values, NULLs left out; second argument: capacity, the expected distinct number (0, which counts as 1, or 1 to 1e18; NULL: found from the data); third: false positive rate (1e-15 to below 1)';

CREATE AGGREGATE pbf_agg_like(timestamptz, pbf) (
	SFUNC = pbf_agg_like_trans, STYPE = pbf, SSPACE = 16384,
	FINALFUNC = pbf_agg_final, COMBINEFUNC = pbf_agg_combine, PARALLEL = SAFE
);
COMMENT ON AGGREGATE pbf_agg_like(timestamptz, pbf) IS
	'filter of timestamptz values, NULLs left out, in the geometry of the filter given';

CREATE FUNCTION pbf_agg_hash_trans(pbf, bigint) RETURNS pbf
	AS 'MODULE_PATHNAME', 'pbf_agg_hash' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION pbf_agg_hash_trans(pbf, bigint) IS
	'adds to the state';

CREATE AGGREGATE pbf_agg_hash(bigint) (
	SFUNC = pbf_agg_hash_trans, STYPE = pbf, SSPACE = 1024,
	FINALFUNC = pbf_agg_final, COMBINEFUNC = pbf_agg_combine, PARALLEL = SAFE
);
COMMENT ON AGGREGATE pbf_agg_hash(bigint) IS
	'filter of elements given by their pbf_hash, NULLs left out; as pbf_agg';

CREATE FUNCTION pbf_agg_hash_trans(pbf, bigint, float8) RETURNS pbf
	AS 'MODULE_PATHNAME', 'pbf_agg_hash' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION pbf_agg_hash_trans(pbf, bigint, float8) IS
	'adds to the state';

CREATE AGGREGATE pbf_agg_hash(bigint, float8) (
	SFUNC = pbf_agg_hash_trans, STYPE = pbf, SSPACE = 16384,
	FINALFUNC = pbf_agg_final, COMBINEFUNC = pbf_agg_combine, PARALLEL = SAFE
);
COMMENT ON AGGREGATE pbf_agg_hash(bigint, float8) IS
	'filter of elements given by their pbf_hash, NULLs left out; second argument: capacity; as pbf_agg';

CREATE FUNCTION pbf_agg_hash_trans(pbf, bigint, float8, float8) RETURNS pbf
	AS 'MODULE_PATHNAME', 'pbf_agg_hash' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION pbf_agg_hash_trans(pbf, bigint, float8, float8) IS
	'adds to the state';

CREATE AGGREGATE pbf_agg_hash(bigint, float8, float8) (
	SFUNC = pbf_agg_hash_trans, STYPE = pbf, SSPACE = 16384,
	FINALFUNC = pbf_agg_final, COMBINEFUNC = pbf_agg_combine, PARALLEL = SAFE
);
COMMENT ON AGGREGATE pbf_agg_hash(bigint, float8, float8) IS
	'filter of elements given by their pbf_hash, NULLs left out; second argument: capacity, third: false positive rate; as pbf_agg';

CREATE FUNCTION pbf_union_trans(pbf, pbf) RETURNS pbf
	AS 'MODULE_PATHNAME', 'pbf_union_trans' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION pbf_union_trans(pbf, pbf) IS
	'unites the state with a filter';

CREATE FUNCTION pbf_intersect_trans(pbf, pbf) RETURNS pbf
	AS 'MODULE_PATHNAME', 'pbf_intersect_trans' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION pbf_intersect_trans(pbf, pbf) IS
	'intersects the state with a filter';

CREATE AGGREGATE pbf_union_agg(pbf) (
	SFUNC = pbf_union_trans, STYPE = pbf, SSPACE = 16384,
	FINALFUNC = pbf_agg_final, COMBINEFUNC = pbf_union_trans, PARALLEL = SAFE
);
COMMENT ON AGGREGATE pbf_union_agg(pbf) IS
	'union of filters, NULLs left out; empty filter if there was no row';

CREATE AGGREGATE pbf_intersect_agg(pbf) (
	SFUNC = pbf_intersect_trans, STYPE = pbf, SSPACE = 16384,
	FINALFUNC = pbf_agg_final, COMBINEFUNC = pbf_intersect_trans, PARALLEL = SAFE
);
COMMENT ON AGGREGATE pbf_intersect_agg(pbf) IS
	'intersection of filters, NULLs left out; empty filter if there was no row';




---- the index access method ----

CREATE FUNCTION pbfidx_handler(internal) RETURNS index_am_handler
	AS 'MODULE_PATHNAME', 'pbfidx_handler' LANGUAGE C;
COMMENT ON FUNCTION pbfidx_handler(internal) IS 'access method pbfidx';

CREATE ACCESS METHOD pbfidx TYPE INDEX HANDLER pbfidx_handler;
COMMENT ON ACCESS METHOD pbfidx IS
	'equality index of 3 to 4 bytes a value: blocked-partitioned, bit-sliced Bloom filters over ranges of heap pages';

CREATE OPERATOR FAMILY integer_ops USING pbfidx;
COMMENT ON OPERATOR FAMILY integer_ops USING pbfidx IS 'equality of smallint, int, bigint'; 
CREATE OPERATOR CLASS int2_ops DEFAULT FOR TYPE smallint USING pbfidx FAMILY integer_ops AS
	OPERATOR 1 =;
COMMENT ON OPERATOR CLASS int2_ops USING pbfidx IS 'equality of smallint';

CREATE OPERATOR CLASS int4_ops DEFAULT FOR TYPE int USING pbfidx FAMILY integer_ops AS
	OPERATOR 1 =;
COMMENT ON OPERATOR CLASS int4_ops USING pbfidx IS 'equality of int';

CREATE OPERATOR CLASS int8_ops DEFAULT FOR TYPE bigint USING pbfidx FAMILY integer_ops AS
	OPERATOR 1 =;
COMMENT ON OPERATOR CLASS int8_ops USING pbfidx IS 'equality of bigint';

ALTER OPERATOR FAMILY integer_ops USING pbfidx ADD
	OPERATOR 1 = (smallint, int),
	OPERATOR 1 = (smallint, bigint),
	OPERATOR 1 = (int, smallint),
	OPERATOR 1 = (int, bigint),
	OPERATOR 1 = (bigint, smallint),
	OPERATOR 1 = (bigint, int);

CREATE OPERATOR FAMILY float_ops USING pbfidx;
COMMENT ON OPERATOR FAMILY float_ops USING pbfidx IS 'equality of real, float8'; 
CREATE OPERATOR CLASS float4_ops DEFAULT FOR TYPE real USING pbfidx FAMILY float_ops AS
	OPERATOR 1 =;
COMMENT ON OPERATOR CLASS float4_ops USING pbfidx IS 'equality of real';

CREATE OPERATOR CLASS float8_ops DEFAULT FOR TYPE float8 USING pbfidx FAMILY float_ops AS
	OPERATOR 1 =;
COMMENT ON OPERATOR CLASS float8_ops USING pbfidx IS 'equality of float8';

ALTER OPERATOR FAMILY float_ops USING pbfidx ADD
	OPERATOR 1 = (real, float8),
	OPERATOR 1 = (float8, real);

CREATE OPERATOR FAMILY text_ops USING pbfidx;
COMMENT ON OPERATOR FAMILY text_ops USING pbfidx IS 'equality of text, name'; 
CREATE OPERATOR CLASS text_ops DEFAULT FOR TYPE text USING pbfidx FAMILY text_ops AS
	OPERATOR 1 =;
COMMENT ON OPERATOR CLASS text_ops USING pbfidx IS 'equality of text';

CREATE OPERATOR CLASS name_ops DEFAULT FOR TYPE name USING pbfidx FAMILY text_ops AS
	OPERATOR 1 =;
COMMENT ON OPERATOR CLASS name_ops USING pbfidx IS 'equality of name';

ALTER OPERATOR FAMILY text_ops USING pbfidx ADD
	OPERATOR 1 = (text, name),
	OPERATOR 1 = (name, text);

CREATE OPERATOR FAMILY bpchar_ops USING pbfidx;
COMMENT ON OPERATOR FAMILY bpchar_ops USING pbfidx IS 'equality of bpchar'; 
CREATE OPERATOR CLASS bpchar_ops DEFAULT FOR TYPE bpchar USING pbfidx FAMILY bpchar_ops AS
	OPERATOR 1 =;
COMMENT ON OPERATOR CLASS bpchar_ops USING pbfidx IS 'equality of bpchar';

CREATE OPERATOR FAMILY numeric_ops USING pbfidx;
COMMENT ON OPERATOR FAMILY numeric_ops USING pbfidx IS 'equality of numeric'; 
CREATE OPERATOR CLASS numeric_ops DEFAULT FOR TYPE numeric USING pbfidx FAMILY numeric_ops AS
	OPERATOR 1 =;
COMMENT ON OPERATOR CLASS numeric_ops USING pbfidx IS 'equality of numeric';

CREATE OPERATOR FAMILY money_ops USING pbfidx;
COMMENT ON OPERATOR FAMILY money_ops USING pbfidx IS 'equality of money'; 
CREATE OPERATOR CLASS money_ops DEFAULT FOR TYPE money USING pbfidx FAMILY money_ops AS
	OPERATOR 1 =;
COMMENT ON OPERATOR CLASS money_ops USING pbfidx IS 'equality of money';

CREATE OPERATOR FAMILY oid_ops USING pbfidx;
COMMENT ON OPERATOR FAMILY oid_ops USING pbfidx IS 'equality of oid'; 
CREATE OPERATOR CLASS oid_ops DEFAULT FOR TYPE oid USING pbfidx FAMILY oid_ops AS
	OPERATOR 1 =;
COMMENT ON OPERATOR CLASS oid_ops USING pbfidx IS 'equality of oid';

CREATE OPERATOR FAMILY xid_ops USING pbfidx;
COMMENT ON OPERATOR FAMILY xid_ops USING pbfidx IS 'equality of xid'; 
CREATE OPERATOR CLASS xid_ops DEFAULT FOR TYPE xid USING pbfidx FAMILY xid_ops AS
	OPERATOR 1 =;
COMMENT ON OPERATOR CLASS xid_ops USING pbfidx IS 'equality of xid';

CREATE OPERATOR FAMILY xid8_ops USING pbfidx;
COMMENT ON OPERATOR FAMILY xid8_ops USING pbfidx IS 'equality of xid8'; 
CREATE OPERATOR CLASS xid8_ops DEFAULT FOR TYPE xid8 USING pbfidx FAMILY xid8_ops AS
	OPERATOR 1 =;
COMMENT ON OPERATOR CLASS xid8_ops USING pbfidx IS 'equality of xid8';

CREATE OPERATOR FAMILY cid_ops USING pbfidx;
COMMENT ON OPERATOR FAMILY cid_ops USING pbfidx IS 'equality of cid'; 
CREATE OPERATOR CLASS cid_ops DEFAULT FOR TYPE cid USING pbfidx FAMILY cid_ops AS
	OPERATOR 1 =;
COMMENT ON OPERATOR CLASS cid_ops USING pbfidx IS 'equality of cid';

CREATE OPERATOR FAMILY pg_lsn_ops USING pbfidx;
COMMENT ON OPERATOR FAMILY pg_lsn_ops USING pbfidx IS 'equality of pg_lsn'; 
CREATE OPERATOR CLASS pg_lsn_ops DEFAULT FOR TYPE pg_lsn USING pbfidx FAMILY pg_lsn_ops AS
	OPERATOR 1 =;
COMMENT ON OPERATOR CLASS pg_lsn_ops USING pbfidx IS 'equality of pg_lsn';

CREATE OPERATOR FAMILY bool_ops USING pbfidx;
COMMENT ON OPERATOR FAMILY bool_ops USING pbfidx IS 'equality of bool'; 
CREATE OPERATOR CLASS bool_ops DEFAULT FOR TYPE bool USING pbfidx FAMILY bool_ops AS
	OPERATOR 1 =;
COMMENT ON OPERATOR CLASS bool_ops USING pbfidx IS 'equality of bool';

CREATE OPERATOR FAMILY char_ops USING pbfidx;
COMMENT ON OPERATOR FAMILY char_ops USING pbfidx IS 'equality of "char"'; 
CREATE OPERATOR CLASS char_ops DEFAULT FOR TYPE "char" USING pbfidx FAMILY char_ops AS
	OPERATOR 1 =;
COMMENT ON OPERATOR CLASS char_ops USING pbfidx IS 'equality of "char"';

CREATE OPERATOR FAMILY bytea_ops USING pbfidx;
COMMENT ON OPERATOR FAMILY bytea_ops USING pbfidx IS 'equality of bytea'; 
CREATE OPERATOR CLASS bytea_ops DEFAULT FOR TYPE bytea USING pbfidx FAMILY bytea_ops AS
	OPERATOR 1 =;
COMMENT ON OPERATOR CLASS bytea_ops USING pbfidx IS 'equality of bytea';

CREATE OPERATOR FAMILY uuid_ops USING pbfidx;
COMMENT ON OPERATOR FAMILY uuid_ops USING pbfidx IS 'equality of uuid'; 
CREATE OPERATOR CLASS uuid_ops DEFAULT FOR TYPE uuid USING pbfidx FAMILY uuid_ops AS
	OPERATOR 1 =;
COMMENT ON OPERATOR CLASS uuid_ops USING pbfidx IS 'equality of uuid';

CREATE OPERATOR FAMILY bit_ops USING pbfidx;
COMMENT ON OPERATOR FAMILY bit_ops USING pbfidx IS 'equality of bit'; 
CREATE OPERATOR CLASS bit_ops DEFAULT FOR TYPE bit USING pbfidx FAMILY bit_ops AS
	OPERATOR 1 =;
COMMENT ON OPERATOR CLASS bit_ops USING pbfidx IS 'equality of bit';

CREATE OPERATOR FAMILY varbit_ops USING pbfidx;
COMMENT ON OPERATOR FAMILY varbit_ops USING pbfidx IS 'equality of varbit'; 
CREATE OPERATOR CLASS varbit_ops DEFAULT FOR TYPE varbit USING pbfidx FAMILY varbit_ops AS
	OPERATOR 1 =;
COMMENT ON OPERATOR CLASS varbit_ops USING pbfidx IS 'equality of varbit';

CREATE OPERATOR FAMILY macaddr_ops USING pbfidx;
COMMENT ON OPERATOR FAMILY macaddr_ops USING pbfidx IS 'equality of macaddr'; 
CREATE OPERATOR CLASS macaddr_ops DEFAULT FOR TYPE macaddr USING pbfidx FAMILY macaddr_ops AS
	OPERATOR 1 =;
COMMENT ON OPERATOR CLASS macaddr_ops USING pbfidx IS 'equality of macaddr';

CREATE OPERATOR FAMILY macaddr8_ops USING pbfidx;
COMMENT ON OPERATOR FAMILY macaddr8_ops USING pbfidx IS 'equality of macaddr8'; 
CREATE OPERATOR CLASS macaddr8_ops DEFAULT FOR TYPE macaddr8 USING pbfidx FAMILY macaddr8_ops AS
	OPERATOR 1 =;
COMMENT ON OPERATOR CLASS macaddr8_ops USING pbfidx IS 'equality of macaddr8';

CREATE OPERATOR FAMILY inet_ops USING pbfidx;
COMMENT ON OPERATOR FAMILY inet_ops USING pbfidx IS 'equality of inet'; 
CREATE OPERATOR CLASS inet_ops DEFAULT FOR TYPE inet USING pbfidx FAMILY inet_ops AS
	OPERATOR 1 =;
COMMENT ON OPERATOR CLASS inet_ops USING pbfidx IS 'equality of inet';

CREATE OPERATOR FAMILY date_ops USING pbfidx;
COMMENT ON OPERATOR FAMILY date_ops USING pbfidx IS 'equality of date'; 
CREATE OPERATOR CLASS date_ops DEFAULT FOR TYPE date USING pbfidx FAMILY date_ops AS
	OPERATOR 1 =;
COMMENT ON OPERATOR CLASS date_ops USING pbfidx IS 'equality of date';

CREATE OPERATOR FAMILY time_ops USING pbfidx;
COMMENT ON OPERATOR FAMILY time_ops USING pbfidx IS 'equality of time'; 
CREATE OPERATOR CLASS time_ops DEFAULT FOR TYPE time USING pbfidx FAMILY time_ops AS
	OPERATOR 1 =;
COMMENT ON OPERATOR CLASS time_ops USING pbfidx IS 'equality of time';

CREATE OPERATOR FAMILY timetz_ops USING pbfidx;
COMMENT ON OPERATOR FAMILY timetz_ops USING pbfidx IS 'equality of timetz'; 
CREATE OPERATOR CLASS timetz_ops DEFAULT FOR TYPE timetz USING pbfidx FAMILY timetz_ops AS
	OPERATOR 1 =;
COMMENT ON OPERATOR CLASS timetz_ops USING pbfidx IS 'equality of timetz';

CREATE OPERATOR FAMILY timestamp_ops USING pbfidx;
COMMENT ON OPERATOR FAMILY timestamp_ops USING pbfidx IS 'equality of timestamp'; 
CREATE OPERATOR CLASS timestamp_ops DEFAULT FOR TYPE timestamp USING pbfidx FAMILY timestamp_ops AS
	OPERATOR 1 =;
COMMENT ON OPERATOR CLASS timestamp_ops USING pbfidx IS 'equality of timestamp';

CREATE OPERATOR FAMILY timestamptz_ops USING pbfidx;
COMMENT ON OPERATOR FAMILY timestamptz_ops USING pbfidx IS 'equality of timestamptz'; 
CREATE OPERATOR CLASS timestamptz_ops DEFAULT FOR TYPE timestamptz USING pbfidx FAMILY timestamptz_ops AS
	OPERATOR 1 =;
COMMENT ON OPERATOR CLASS timestamptz_ops USING pbfidx IS 'equality of timestamptz';

CREATE OPERATOR FAMILY interval_ops USING pbfidx;
COMMENT ON OPERATOR FAMILY interval_ops USING pbfidx IS 'equality of interval'; 
CREATE OPERATOR CLASS interval_ops DEFAULT FOR TYPE interval USING pbfidx FAMILY interval_ops AS
	OPERATOR 1 =;
COMMENT ON OPERATOR CLASS interval_ops USING pbfidx IS 'equality of interval';

CREATE OPERATOR FAMILY enum_ops USING pbfidx;
COMMENT ON OPERATOR FAMILY enum_ops USING pbfidx IS 'equality of anyenum'; 
CREATE OPERATOR CLASS enum_ops DEFAULT FOR TYPE anyenum USING pbfidx FAMILY enum_ops AS
	OPERATOR 1 =;
COMMENT ON OPERATOR CLASS enum_ops USING pbfidx IS 'equality of anyenum';

CREATE OPERATOR FAMILY range_ops USING pbfidx;
COMMENT ON OPERATOR FAMILY range_ops USING pbfidx IS 'equality of anyrange'; 
CREATE OPERATOR CLASS range_ops DEFAULT FOR TYPE anyrange USING pbfidx FAMILY range_ops AS
	OPERATOR 1 =;
COMMENT ON OPERATOR CLASS range_ops USING pbfidx IS 'equality of anyrange';

CREATE OPERATOR FAMILY multirange_ops USING pbfidx;
COMMENT ON OPERATOR FAMILY multirange_ops USING pbfidx IS 'equality of anymultirange'; 
CREATE OPERATOR CLASS multirange_ops DEFAULT FOR TYPE anymultirange USING pbfidx FAMILY multirange_ops AS
	OPERATOR 1 =;
COMMENT ON OPERATOR CLASS multirange_ops USING pbfidx IS 'equality of anymultirange';

CREATE OPERATOR FAMILY array_eq_ops USING pbfidx;
COMMENT ON OPERATOR FAMILY array_eq_ops USING pbfidx IS 'equality of whole arrays';
CREATE OPERATOR CLASS array_eq_ops FOR TYPE anyarray USING pbfidx FAMILY array_eq_ops AS
	OPERATOR 1 =;
COMMENT ON OPERATOR CLASS array_eq_ops USING pbfidx IS 'equality of whole arrays, one key for an array';

CREATE OPERATOR FAMILY jsonb_eq_ops USING pbfidx;
COMMENT ON OPERATOR FAMILY jsonb_eq_ops USING pbfidx IS 'equality of whole jsonb documents';
CREATE OPERATOR CLASS jsonb_eq_ops FOR TYPE jsonb USING pbfidx FAMILY jsonb_eq_ops AS
	OPERATOR 1 =;
COMMENT ON OPERATOR CLASS jsonb_eq_ops USING pbfidx IS 'equality of whole jsonb documents, one key for a document';

CREATE OPERATOR FAMILY tid_ops USING pbfidx;
COMMENT ON OPERATOR FAMILY tid_ops USING pbfidx IS 'equality of tid'; 
CREATE OPERATOR CLASS tid_ops DEFAULT FOR TYPE tid USING pbfidx FAMILY tid_ops AS
	OPERATOR 1 =;
COMMENT ON OPERATOR CLASS tid_ops USING pbfidx IS 'equality of tid';

---- multi-key operator classes: strategies and support functions 2 to 7 are those of GIN ----

CREATE FUNCTION pbfidx_element_options(internal) RETURNS void
	AS 'MODULE_PATHNAME', 'pbfidx_element_options' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION pbfidx_element_options(internal) IS
	'support function 7 of multi-key operator classes of arrays and sets: option bits_per_key (1 to 32, default 11.3)';

CREATE FUNCTION pbfidx_document_options(internal) RETURNS void
	AS 'MODULE_PATHNAME', 'pbfidx_document_options' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION pbfidx_document_options(internal) IS
	'support function 7 of multi-key operator classes of documents: option bits_per_key (1 to 32, default 16)';

CREATE FUNCTION pbfidx_gram_options(internal) RETURNS void
	AS 'MODULE_PATHNAME', 'pbfidx_gram_options' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION pbfidx_gram_options(internal) IS
	'support function 7 of multi-key operator classes whose queries have many keys: option bits_per_key (1 to 32, default 7)';

CREATE OPERATOR FAMILY array_ops USING pbfidx;
COMMENT ON OPERATOR FAMILY array_ops USING pbfidx IS 'elements of arrays';
CREATE OPERATOR CLASS array_ops DEFAULT FOR TYPE anyarray USING pbfidx FAMILY array_ops AS
	OPERATOR 1 &&,
	OPERATOR 2 @>,
	OPERATOR 3 <@,
	OPERATOR 4 =,
	FUNCTION 2 ginarrayextract(anyarray, internal, internal),
	FUNCTION 3 ginqueryarrayextract(anyarray, internal, smallint, internal, internal, internal, internal),
	FUNCTION 6 ginarraytriconsistent(internal, smallint, anyarray, int, internal, internal, internal),
	FUNCTION 7 (anyarray, anyarray) pbfidx_element_options(internal),
	STORAGE anyelement;
COMMENT ON OPERATOR CLASS array_ops USING pbfidx IS 'elements of arrays: a key for each';

CREATE OPERATOR FAMILY jsonb_ops USING pbfidx;
COMMENT ON OPERATOR FAMILY jsonb_ops USING pbfidx IS 'keys and values of jsonb documents';
CREATE OPERATOR CLASS jsonb_ops DEFAULT FOR TYPE jsonb USING pbfidx FAMILY jsonb_ops AS
	OPERATOR 7 @>,
	OPERATOR 9 ? (jsonb, text),
	OPERATOR 10 ?| (jsonb, text[]),
	OPERATOR 11 ?& (jsonb, text[]),
	OPERATOR 15 @? (jsonb, jsonpath),
	OPERATOR 16 @@ (jsonb, jsonpath),
	FUNCTION 2 gin_extract_jsonb(jsonb, internal, internal),
	FUNCTION 3 gin_extract_jsonb_query(jsonb, internal, smallint, internal, internal, internal, internal),
	FUNCTION 6 gin_triconsistent_jsonb(internal, smallint, jsonb, int, internal, internal, internal),
	FUNCTION 7 (jsonb, jsonb) pbfidx_document_options(internal),
	STORAGE text;
COMMENT ON OPERATOR CLASS jsonb_ops USING pbfidx IS 'keys and values of jsonb documents: a key for each';

CREATE OPERATOR FAMILY jsonb_path_ops USING pbfidx;
COMMENT ON OPERATOR FAMILY jsonb_path_ops USING pbfidx IS 'paths with values of jsonb documents';
CREATE OPERATOR CLASS jsonb_path_ops FOR TYPE jsonb USING pbfidx FAMILY jsonb_path_ops AS
	OPERATOR 7 @>,
	OPERATOR 15 @? (jsonb, jsonpath),
	OPERATOR 16 @@ (jsonb, jsonpath),
	FUNCTION 2 gin_extract_jsonb_path(jsonb, internal, internal),
	FUNCTION 3 gin_extract_jsonb_query_path(jsonb, internal, smallint, internal, internal, internal, internal),
	FUNCTION 6 gin_triconsistent_jsonb_path(internal, smallint, jsonb, int, internal, internal, internal),
	FUNCTION 7 (jsonb, jsonb) pbfidx_document_options(internal),
	STORAGE int;
COMMENT ON OPERATOR CLASS jsonb_path_ops USING pbfidx IS 'paths with values of jsonb documents: a key for each value';

CREATE OPERATOR FAMILY tsvector_ops USING pbfidx;
COMMENT ON OPERATOR FAMILY tsvector_ops USING pbfidx IS 'lexemes of documents';
CREATE OPERATOR CLASS tsvector_ops DEFAULT FOR TYPE tsvector USING pbfidx FAMILY tsvector_ops AS
	OPERATOR 1 @@ (tsvector, tsquery),
	FUNCTION 2 gin_extract_tsvector(tsvector, internal, internal),
	FUNCTION 3 gin_extract_tsquery(tsvector, internal, smallint, internal, internal, internal, internal),
	FUNCTION 6 gin_tsquery_triconsistent(internal, smallint, tsvector, int, internal, internal, internal),
	FUNCTION 7 (tsvector, tsvector) pbfidx_document_options(internal),
	STORAGE text;
COMMENT ON OPERATOR CLASS tsvector_ops USING pbfidx IS 'lexemes of documents: a key for each';

CREATE FUNCTION pbfidx_stats(index regclass, OUT heap_pages bigint, OUT pages_per_range int, OUT ranges bigint, OUT leaf_slabs bigint,
	OUT upper_slabs bigint, OUT index_pages bigint, OUT keys float8, OUT bits_per_key float8, OUT leaf_fill float8,
	OUT upper_fill float8, OUT overfull_slabs bigint, OUT est_false_positive_rate float8, OUT est_false_pages float8,
	OUT column_group int, OUT index_columns text[], OUT saturated_ranges bigint) RETURNS SETOF record
	AS 'MODULE_PATHNAME', 'pbfidx_stats' LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED;
COMMENT ON FUNCTION pbfidx_stats(regclass) IS
	'size, fill and estimated false positive rate (of a range and one key) of a pbfidx index, from one page of each slab, a row for each group of columns that shares slabs; est_false_pages: heap pages a look-up of one key reads in vain; saturated_ranges: ranges that say yes to most keys; for the owner or a member of pg_stat_scan_tables';

CREATE FUNCTION pbfidx_slabs(index regclass, OUT level int, OUT slab bigint, OUT start_block bigint, OUT blocks int, OUT columns int,
	OUT fill float8, OUT est_fpr float8, OUT column_group int) RETURNS SETOF record
	AS 'MODULE_PATHNAME', 'pbfidx_slabs' LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED;
COMMENT ON FUNCTION pbfidx_slabs(regclass) IS
	'the slabs of a pbfidx index: level 0 leaf, 1 upper; columns: those that have bits; column_group as in pbfidx_stats; for the owner or a member of pg_stat_scan_tables';

CREATE FUNCTION pbfidx_check(index regclass, heapallindexed boolean = true) RETURNS void
	AS 'MODULE_PATHNAME', 'pbfidx_check' LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED;
COMMENT ON FUNCTION pbfidx_check(regclass, boolean) IS
	'checks the structure of a pbfidx index and, with heapallindexed, that every row is in it; raises index_corrupted naming the row; rows are not looked for, which a WARNING says, in an index that depends on the server''s major version or the version of the locale and was built under another one; for the owner or a member of pg_stat_scan_tables';

CREATE FUNCTION pbfidx_resummarize(index regclass, first_heap_page bigint = 0, last_heap_page bigint = NULL) RETURNS bigint
	AS 'MODULE_PATHNAME', 'pbfidx_resummarize' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION pbfidx_resummarize(regclass, bigint, bigint) IS
	'rebuilds the slabs of these heap pages (0 to 4294967294; NULL: to the end) from the rows that are there now; returns how many; writers are not blocked; for the owner';

CREATE FUNCTION pbfidx_estimate(rel regclass, columns text[], false_positive_rate float8 = NULL,
	operator_classes text[] = '{}', OUT pages_per_range int, OUT bytes bigint, OUT false_pages float8)
	AS 'MODULE_PATHNAME', 'pbfidx_estimate' LANGUAGE C VOLATILE PARALLEL RESTRICTED;
COMMENT ON FUNCTION pbfidx_estimate(regclass, text[], float8, text[]) IS
	'what a pbfidx index on these columns would be: its size in bytes and the heap pages that a look-up of one key would read in vain, in the group of columns where these are most, from a sample of 240 pages; false_positive_rate of a range of scalar columns, 1e-9 to 0.5, NULL: what CREATE INDEX would choose; operator_classes: for each column, NULL or none: the default of its type';
