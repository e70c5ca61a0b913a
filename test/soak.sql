-- What soak.sh works on.
CREATE EXTENSION pbf;
CREATE EXTENSION pg_trgm;
CREATE EXTENSION pbf_trgm;
CREATE TABLE t (id bigint GENERATED ALWAYS AS IDENTITY, k int NOT NULL, w text, tags text,
	keys int[] GENERATED ALWAYS AS (ARRAY[k / 1000, -(k % 1000)]) STORED,
	doc jsonb GENERATED ALWAYS AS (('{"k": ' || k::text || ', "w": {"a": "' || left(w, 5) || '"}}')::jsonb) STORED,
	line text GENERATED ALWAYS AS ('key ' || k::text || ' of ' || left(w, 8)) STORED, pad text NOT NULL DEFAULT repeat('x', 300)) WITH
	(fillfactor = 40, autovacuum_vacuum_threshold = 1, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_insert_threshold = 1,
	autovacuum_vacuum_insert_scale_factor = 0, autovacuum_vacuum_cost_delay = 0, toast_tuple_target = 128);
CREATE INDEX t_id ON t (id);
CREATE INDEX t_k ON t USING pbfidx (k, w) WITH (pages_per_range = 1);
CREATE INDEX t_tags ON t USING pbfidx (tags) WITH (pages_per_range = 2, false_positive_rate = 0.01);
CREATE INDEX t_keys ON t USING pbfidx (keys, w) WITH (pages_per_range = 1);
CREATE INDEX t_doc ON t USING pbfidx (doc, line pbf_trgm_ops) WITH (pages_per_range = 1);
CREATE INDEX t_half ON t USING pbfidx ((k / 2)) WITH (pages_per_range = 1) WHERE k % 2 = 0;

-- A row of the load; tags are often stored out of line.
CREATE FUNCTION add(n int) RETURNS void LANGUAGE sql AS $$
	INSERT INTO t (k, w, tags) SELECT random() * 1e6, md5(random()::text), (SELECT string_agg(md5((random() + j)::text), ' ') FROM generate_series(1, i % 12) j)
	FROM generate_series(1, n) i
$$;
SELECT add(20000);

CREATE TABLE compared (at timestamptz DEFAULT clock_timestamp(), rows bigint);
CREATE TABLE memory (at timestamptz DEFAULT clock_timestamp(), pid int DEFAULT pg_backend_pid(), bytes bigint);

-- Conditions like these are looked up by these indexes.
DO $$
DECLARE
	wanted record;
	line text;
	used bool;
BEGIN
	SET LOCAL enable_seqscan = off;
	SET LOCAL enable_indexscan = off;
	FOR wanted IN VALUES ('t_k', 'k = 5'), ('t_tags', $j$tags = 'abc'$j$), ('t_half', 'k / 2 = 5 AND k % 2 = 0'), ('t_keys', 'keys @> ARRAY[5, -5]'),
		('t_keys', 'keys && ARRAY[-5, 1000000]'), ('t_k', 'k = ANY (ARRAY[1, 2, -1])'), ('t_doc', $j$doc @> '{"k": 5}'$j$),
		('t_doc', $j$line LIKE '%key 123 of%'$j$) LOOP
		used = false;
		FOR line IN EXECUTE 'EXPLAIN SELECT FROM t WHERE ' || wanted.column2 LOOP
			used = used OR line LIKE '%Bitmap Index Scan on ' || wanted.column1 || ' %';
		END LOOP;
		IF NOT used THEN
			RAISE EXCEPTION '% does not look up %', wanted.column1, wanted.column2;
		END IF;
	END LOOP;
END $$;

-- Rows of this snapshot that the indexes do not find, among a share of all rows, by each index. Rows of the sequential scan
-- are in s; the indexes are asked for them. Then all rows of some values are counted both ways.
CREATE FUNCTION compare(part int, parts int) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	lost bigint;
	seen bigint;
BEGIN
	SELECT count(*) FILTER (WHERE a.n <> 1 OR b.n <> 1 OR c.n <> (s.tags IS NOT NULL)::int OR d.n <> 1 - s.k % 2 OR e.n <> 1 OR f.n <> 1
		OR g.n <> 1 OR h.n <> 1), count(*) INTO lost, seen
	FROM (SELECT id, k, w, tags, keys, doc, line FROM t WHERE id % parts = part OFFSET 0) s,
		LATERAL (SELECT count(*) AS n FROM t WHERE t.k = s.k AND t.id + 0 = s.id) a,
		LATERAL (SELECT count(*) AS n FROM t WHERE t.w = s.w AND t.k + 0 = s.k AND t.id + 0 = s.id) b,
		LATERAL (SELECT count(*) AS n FROM t WHERE t.tags = s.tags AND t.id + 0 = s.id) c,
		LATERAL (SELECT count(*) AS n FROM t WHERE t.k / 2 = s.k / 2 AND t.k % 2 = 0 AND t.id + 0 = s.id) d,
		LATERAL (SELECT count(*) AS n FROM t WHERE t.keys @> s.keys AND t.id + 0 = s.id) e,
		LATERAL (SELECT count(*) AS n FROM t WHERE t.k = ANY (ARRAY[s.k, s.k + 1, -1]) AND t.id + 0 = s.id) f,
		LATERAL (SELECT count(*) AS n FROM t WHERE t.doc @> s.doc AND t.id + 0 = s.id) g,
		LATERAL (SELECT count(*) AS n FROM t WHERE t.line LIKE '%' || substr(s.line, 3) || '%' AND t.id + 0 = s.id) h;
	IF lost > 0 THEN
		RAISE EXCEPTION '% of % rows are not found', lost, seen;
	END IF;
	INSERT INTO compared (rows) VALUES (seen);
	SELECT count(*), sum(n) INTO lost, seen
	FROM (SELECT key, count(*) AS n FROM (SELECT keys[2] AS key FROM t OFFSET 0) x WHERE key % 100 = -part % 100 AND key < 0 GROUP BY key) s
	WHERE n <> (SELECT count(*) FROM t WHERE t.keys @> ARRAY[s.key])
		OR n <> (SELECT count(*) FROM t WHERE t.keys && ARRAY[s.key, 1000000]);
	IF lost > 0 THEN
		RAISE EXCEPTION 'of % rows of % values not all are found', seen, lost;
	END IF;
END $$ SET enable_seqscan = off SET enable_indexscan = off SET jit = off;
