/* pbf_trgm--0.1.0.sql */

-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION pbf_trgm" to load this file. \quit

CREATE OPERATOR FAMILY pbf_trgm_ops USING pbfidx;
COMMENT ON OPERATOR FAMILY pbf_trgm_ops USING pbfidx IS 'trigrams of text';

-- Strategies and support functions are those of gin_trgm_ops. Names are looked for in the schemas of pg_trgm and pbf alone:
-- anybody may have operators of the same name in the schema where this is installed.
DO $$
DECLARE
	trgm text = (SELECT extnamespace::pg_catalog.regnamespace FROM pg_catalog.pg_extension WHERE extname OPERATOR(pg_catalog.=) 'pg_trgm');
	pbf text = (SELECT extnamespace::pg_catalog.regnamespace FROM pg_catalog.pg_extension WHERE extname OPERATOR(pg_catalog.=) 'pbf');
BEGIN
	EXECUTE pg_catalog.format($create$
		CREATE OPERATOR CLASS pbf_trgm_ops FOR TYPE pg_catalog.text USING pbfidx FAMILY pbf_trgm_ops AS
			OPERATOR 1 %1$s.%% (pg_catalog.text, pg_catalog.text),
			OPERATOR 3 pg_catalog.~~ (pg_catalog.text, pg_catalog.text),
			OPERATOR 4 pg_catalog.~~* (pg_catalog.text, pg_catalog.text),
			OPERATOR 5 pg_catalog.~ (pg_catalog.text, pg_catalog.text),
			OPERATOR 6 pg_catalog.~* (pg_catalog.text, pg_catalog.text),
			OPERATOR 7 %1$s.%%> (pg_catalog.text, pg_catalog.text),
			OPERATOR 9 %1$s.%%>> (pg_catalog.text, pg_catalog.text),
			OPERATOR 11 pg_catalog.= (pg_catalog.text, pg_catalog.text),
			FUNCTION 2 %1$s.gin_extract_value_trgm(pg_catalog.text, internal),
			FUNCTION 3 %1$s.gin_extract_query_trgm(pg_catalog.text, internal, pg_catalog.int2, internal, internal, internal, internal),
			FUNCTION 6 %1$s.gin_trgm_triconsistent(internal, pg_catalog.int2, pg_catalog.text, pg_catalog.int4, internal, internal, internal),
			FUNCTION 7 (pg_catalog.text, pg_catalog.text) %2$s.pbfidx_gram_options(internal),
			STORAGE pg_catalog.int4$create$, trgm, pbf);
END $$;
COMMENT ON OPERATOR CLASS pbf_trgm_ops USING pbfidx IS 'trigrams of text: a key for each';
