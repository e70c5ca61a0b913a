--
-- What the tests of the index share: comparing what an index finds with what the sequential scan finds. Included, not run;
-- the functions are made in the current schema.
--
-- The rows of a condition, by the index, with and without its looking at rows, and by the sequential scan. used: whether the
-- plan has a pbfidx index; missing, extra: both ways together.
CREATE FUNCTION find(tab text, cond text, OUT used bool, OUT rows bigint, OUT missing bigint, OUT extra bigint)
LANGUAGE plpgsql AS $$
DECLARE
	line text;
	by_index tid[];
	by_pages tid[];
	by_scan tid[];
BEGIN
	PERFORM set_config('pbf.enable_index', 'on', true), set_config('enable_seqscan', 'off', true),
		set_config('enable_bitmapscan', 'on', true);
	used := false;
	FOR line IN EXECUTE format('EXPLAIN (COSTS OFF) SELECT ctid FROM %s WHERE %s', tab, cond) LOOP
		used := used OR EXISTS (SELECT FROM pg_class c JOIN pg_am a ON a.oid = relam
			WHERE c.oid = to_regclass(substring(line FROM 'Bitmap Index Scan on (.*)')) AND amname = 'pbfidx');
	END LOOP;
	EXECUTE format('SELECT coalesce(array_agg(ctid), ''{}'') FROM %s WHERE %s', tab, cond) INTO by_index;
	PERFORM set_config('pbf.filter_rows', 'off', true);
	EXECUTE format('SELECT coalesce(array_agg(ctid), ''{}'') FROM %s WHERE %s', tab, cond) INTO by_pages;
	PERFORM set_config('pbf.filter_rows', 'on', true), set_config('pbf.enable_index', 'off', true), set_config('enable_seqscan', 'on', true),
		set_config('enable_bitmapscan', 'off', true), set_config('enable_indexscan', 'off', true);
	EXECUTE format('SELECT coalesce(array_agg(ctid), ''{}'') FROM %s WHERE %s', tab, cond) INTO by_scan;
	PERFORM set_config('pbf.enable_index', 'on', true), set_config('enable_bitmapscan', 'on', true),
		set_config('enable_indexscan', 'on', true);
	rows := cardinality(by_scan);
	missing := (SELECT count(*) FROM (SELECT unnest(by_scan) EXCEPT ALL SELECT unnest(by_index)) m)
		+ (SELECT count(*) FROM (SELECT unnest(by_scan) EXCEPT ALL SELECT unnest(by_pages)) m);
	extra := (SELECT count(*) FROM (SELECT unnest(by_index) EXCEPT ALL SELECT unnest(by_scan)) e)
		+ (SELECT count(*) FROM (SELECT unnest(by_pages) EXCEPT ALL SELECT unnest(by_scan)) e);
END $$;

-- A list of conditions on a table.
CREATE FUNCTION finds(tab text, VARIADIC conds text[]) RETURNS TABLE (cond text, used bool, rows bigint, missing bigint,
	extra bigint) LANGUAGE sql AS $$
	SELECT c, f.* FROM unnest(conds) WITH ORDINALITY u (c, n), find(tab, c) f ORDER BY n
$$;

-- Heap pages that a condition makes the index return, before it looks at their rows.
CREATE FUNCTION pages(tab text, cond text) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	PERFORM set_config('enable_seqscan', 'off', true), set_config('pbf.filter_rows', 'off', true);
	FOR line IN EXECUTE format('EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) SELECT ctid FROM %s WHERE %s', tab, cond) LOOP
		IF line ~ 'Heap Blocks' THEN
			PERFORM set_config('pbf.filter_rows', 'on', true);
			RETURN substring(line FROM 'lossy=(\d+)');
		END IF;
	END LOOP;
	PERFORM set_config('pbf.filter_rows', 'on', true);
	RETURN 0;
END $$;
