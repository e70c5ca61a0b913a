-- What soak.sh works on.
CREATE EXTENSION pbf;
CREATE TABLE t (id bigint GENERATED ALWAYS AS IDENTITY, k int NOT NULL, w text, tags text,
	keys int[] GENERATED ALWAYS AS (ARRAY[k / 1000, -(k % 1000)]) STORED, pad text NOT NULL DEFAULT repeat('x', 300)) WITH
	(fillfactor = 40, autovacuum_vacuum_threshold = 1, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_insert_threshold = 1,
	autovacuum_vacuum_insert_scale_factor = 0, autovacuum_vacuum_cost_delay = 0, toast_tuple_target = 128);
CREATE INDEX t_id ON t (id);
CREATE INDEX t_k ON t USING pbfidx (k, w) WITH (pages_per_range = 1);
CREATE INDEX t_tags ON t USING pbfidx (tags) WITH (pages_per_range = 2, false_positive_rate = 0.01);
CREATE INDEX t_keys ON t USING pbfidx (keys, w) WITH (pages_per_range = 1);
CREATE INDEX t_half ON t USING pbfidx ((k / 2)) WITH (pages_per_range = 1) WHERE k % 2 = 0;

-- A row of the load; tags are often stored out of line.
CREATE FUNCTION add(n int) RETURNS void LANGUAGE sql AS $$
	INSERT INTO t (k, w, tags) SELECT random() * 1e6, md5(random()::text), (SELECT string_agg(md5((random() + j)::text), ' ') FROM generate_series(1, i % 12) j)
	FROM generate_series(1, n) i
$$;
SELECT add(20000);

CREATE TABLE compared (at timestamptz DEFAULT clock_timestamp(), rows bigint);
CREATE TABLE memory (at timestamptz DEFAULT clock_timestamp(), pid int DEFAULT pg_backend_pid(), bytes bigint);

-- Rows of this snapshot that the indexes do not find, among a share of all rows, by each index. Rows of the sequential scan
-- are in s; the indexes are asked for them, and for all rows of a value at once.
CREATE FUNCTION compare(part int, parts int) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	lost bigint;
	seen bigint;
BEGIN
	SELECT count(*) FILTER (WHERE a.n <> 1 OR b.n <> 1 OR c.n <> (s.tags IS NOT NULL)::int OR d.n <> 1 - s.k % 2 OR e.n <> 1 OR f.n <> 1), count(*) INTO lost, seen
	FROM (SELECT id, k, w, tags, keys FROM t WHERE id % parts = part OFFSET 0) s,
		LATERAL (SELECT count(*) AS n FROM t WHERE t.k = s.k AND t.id + 0 = s.id) a,
		LATERAL (SELECT count(*) AS n FROM t WHERE t.w = s.w AND t.k + 0 = s.k AND t.id + 0 = s.id) b,
		LATERAL (SELECT count(*) AS n FROM t WHERE t.tags = s.tags AND t.id + 0 = s.id) c,
		LATERAL (SELECT count(*) AS n FROM t WHERE t.k / 2 = s.k / 2 AND t.k % 2 = 0 AND t.id + 0 = s.id) d,
		LATERAL (SELECT count(*) AS n FROM t WHERE t.keys @> s.keys AND t.w = s.w AND t.id + 0 = s.id) e,
		LATERAL (SELECT count(*) AS n FROM t WHERE t.k = ANY (ARRAY[s.k, s.k + 1, -1]) AND t.id + 0 = s.id) f;
	IF lost > 0 THEN
		RAISE EXCEPTION '% of % rows are not found', lost, seen;
	END IF;
	INSERT INTO compared (rows) VALUES (seen);
END $$ SET enable_seqscan = off SET enable_indexscan = off SET jit = off;
