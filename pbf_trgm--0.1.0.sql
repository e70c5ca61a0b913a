/* pbf_trgm--0.1.0.sql */

-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION pbf_trgm" to load this file. \quit

CREATE OPERATOR FAMILY pbf_trgm_ops USING pbfidx;
COMMENT ON OPERATOR FAMILY pbf_trgm_ops USING pbfidx IS 'trigrams of text';

-- Strategies and support functions are those of gin_trgm_ops.
CREATE OPERATOR CLASS pbf_trgm_ops FOR TYPE text USING pbfidx FAMILY pbf_trgm_ops AS
	OPERATOR 1 % (text, text),
	OPERATOR 3 pg_catalog.~~ (text, text),
	OPERATOR 4 pg_catalog.~~* (text, text),
	OPERATOR 5 pg_catalog.~ (text, text),
	OPERATOR 6 pg_catalog.~* (text, text),
	OPERATOR 7 %> (text, text),
	OPERATOR 9 %>> (text, text),
	OPERATOR 11 pg_catalog.= (text, text),
	FUNCTION 2 gin_extract_value_trgm(text, internal),
	FUNCTION 3 gin_extract_query_trgm(text, internal, smallint, internal, internal, internal, internal),
	FUNCTION 6 gin_trgm_triconsistent(internal, smallint, text, int, internal, internal, internal),
	FUNCTION 7 (text, text) pbfidx_gram_options(internal),
	STORAGE int;
COMMENT ON OPERATOR CLASS pbf_trgm_ops USING pbfidx IS 'trigrams of text: a key for each';
