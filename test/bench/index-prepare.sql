--
-- Tables, peers and procedures of test/bench/index.sh. psql variables: rows, more. Needs measure.sql.
--
-- id is what is looked up; h stands for it where an access method knows only int; k occurs in 100 rows, g in one row of
-- 1,000; note makes a row 88 bytes long, 88 to a page.
CREATE FUNCTION make_rows(first bigint, n bigint) RETURNS TABLE (id uuid, k bigint, h int, g int, note text)
LANGUAGE sql AS $$
    SELECT id, abs(hashint8extended(i, 1)) % (current_setting('bench.rows')::bigint / 100), uuid_hash(id),
           (abs(hashint8extended(i, 2)) % 1000)::int, left(id::text, 31)
    FROM (SELECT i, md5(i::text)::uuid AS id FROM generate_series(first, first + n - 1) i OFFSET 0) r
$$;
ALTER DATABASE postgres SET bench.rows = :rows;
SET bench.rows = :rows;

CREATE TABLE t AS SELECT * FROM make_rows(1, :rows);
VACUUM (FREEZE, ANALYZE) t;
\if :short
\else
CREATE TABLE v AS TABLE t; -- for VACUUM
VACUUM (FREEZE, ANALYZE) v;
-- What INSERT (0 to 3) and COPY (4 to 6) add.
SELECT format('CREATE TABLE more_%s AS SELECT * FROM make_rows(%s, %s)', n, 100 * :rows::bigint + n * :more, :more)
FROM generate_series(0, 6) n \gexec
\endif

CREATE TABLE peer (
    ord int GENERATED ALWAYS AS IDENTITY, name text PRIMARY KEY, title text, ddl text, in_vacuum bool, runs int,
    turns int -- builds with and without workers
);
INSERT INTO peer (name, title, ddl, in_vacuum, runs, turns)
SELECT name, title, 'CREATE INDEX %I ON %I USING ' || replace(ddl, '{}', ceil(32 * :rows::bigint / (pg_relation_size('t') / 8192.0))::text),
       in_vacuum, runs, turns
FROM (VALUES
    (1, 'pbfidx', 'pbfidx', 'pbfidx (id)', true, 3, 9),
    (2, 'btree', 'btree', 'btree (id)', true, 3, 3),
    (3, 'hash', 'hash', 'hash (id)', false, 1, 0), -- too slow to be built more than once
    (4, 'brin', 'BRIN bloom, default', 'brin (id uuid_bloom_ops)', false, 3, 0),
    (5, 'brin_tuned', 'BRIN bloom, tuned', 'brin (id uuid_bloom_ops (n_distinct_per_range = {}, false_positive_rate = 0.0001)) WITH (pages_per_range = 32)', true, 3, 0),
    (6, 'bloom32', 'contrib/bloom, length 32', 'bloom (h) WITH (length = 32)', true, 3, 0),
    (7, 'bloom64', 'contrib/bloom, length 64', 'bloom (h) WITH (length = 64)', false, 3, 0)
) p (ord, name, title, ddl, in_vacuum, runs, turns) ORDER BY ord;

\if :short
UPDATE peer SET runs = 1;
\endif

CREATE TABLE bench_look (peer text, want text, run int, seq int, us float8);
CREATE TABLE bench_look_cpu (peer text, want text, run int, us float8);
CREATE TABLE bench_client (peer text, want text, us float8);
CREATE TABLE bench_vacuum (run int, peer text, phase text, ms float8);

CREATE VIEW bench_command AS
SELECT grp, name, percentile_cont(.5) WITHIN GROUP (ORDER BY ms) AS ms,
       percentile_cont(.5) WITHIN GROUP (ORDER BY cpu_ms) AS cpu_ms, (max(ms) - min(ms)) AS range_ms,
       percentile_cont(.5) WITHIN GROUP (ORDER BY answer::float8) AS wal
FROM bench_time WHERE NOT (grp = 'insert' AND run = 0) GROUP BY grp, name;

-- n keys, the same for all peers of a run.
CREATE FUNCTION keys(want text, run int, n int) RETURNS uuid[] LANGUAGE plpgsql AS $$
DECLARE
    rows bigint = current_setting('bench.rows')::bigint;
BEGIN
    PERFORM setseed(run / 1000.0);
    RETURN (SELECT array_agg(md5((floor(random() * rows)::bigint + CASE WHEN want = 'miss' THEN 3 * rows ELSE 1 END)::text)::uuid)
            FROM generate_series(1, n));
END $$;

-- At most n look-ups one after the other, as long as the seconds last. A tenth more at first, if warm, which do not count.
CREATE PROCEDURE look_up(p text, want text, run int, n int, seconds float8) LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off AS $$
DECLARE
    sought uuid[] = keys(want, run, n);
    by_hash bool = p LIKE 'bloom%';
    warm_up bool = want <> 'cold';
    key uuid;
    hash int;
    start timestamptz;
    began timestamptz = clock_timestamp();
    times float8[] = '{}';
    cpu float8;
    answer bigint;
    found_ int = 0;
    done int = 0;
BEGIN
    IF warm_up THEN
        FOREACH key IN ARRAY sought[1:n / 10] LOOP
            hash := uuid_hash(key);
            IF by_hash THEN
                SELECT k INTO answer FROM t WHERE h = hash AND id = key;
            ELSE
                SELECT k INTO answer FROM t WHERE id = key;
            END IF;
            EXIT WHEN clock_timestamp() - began > make_interval(secs => seconds / 4);
        END LOOP;
    END IF;
    began := clock_timestamp();
    cpu := cpu_ms();
    FOREACH key IN ARRAY sought LOOP
        hash := uuid_hash(key);
        IF by_hash THEN
            start := clock_timestamp();
            SELECT k INTO answer FROM t WHERE h = hash AND id = key;
        ELSE
            start := clock_timestamp();
            SELECT k INTO answer FROM t WHERE id = key;
        END IF;
        done := done + 1;
        times[done] := extract(epoch FROM clock_timestamp() - start)::float8 * 1e6;
        found_ := found_ + (answer IS NOT NULL)::int;
        EXIT WHEN clock_timestamp() - began > make_interval(secs => seconds);
    END LOOP;
    cpu := cpu_ms() - cpu;
    IF found_ <> (CASE WHEN want = 'miss' THEN 0 ELSE done END) THEN
        RAISE '% of % found by %', found_, done, p;
    END IF;
    INSERT INTO bench_look SELECT p, want, run, ord, us FROM unnest(times) WITH ORDINALITY u (us, ord);
    INSERT INTO bench_look_cpu VALUES (p, want, run, cpu * 1000 / done);
END $$;

-- What planning needs is in memory after this.
CREATE PROCEDURE explain_only(p text) LANGUAGE plpgsql SET enable_seqscan = off AS $$
BEGIN
    EXECUTE 'EXPLAIN SELECT k FROM t WHERE h = 1 AND id = md5('''')::uuid';
    PERFORM keys('cold', 1, 1), count(*) FROM bench_look;
END $$;

-- IN of 100: with a generic plan, and planned each time for constants, which the server hashes to recheck rows. Of more: with a generic plan. Not for who would need longer than the seconds for one.
CREATE PROCEDURE look_up_many(p text, run int, many int, n int, seconds float8) LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off AS $$
DECLARE
    mode text;
    sought uuid[];
    hashes int[];
    start timestamptz;
    began timestamptz = clock_timestamp();
    us float8;
    answer bigint;
BEGIN
    IF (SELECT percentile_cont(.5) WITHIN GROUP (ORDER BY b.us) * many > 4 * seconds * 1e6 FROM bench_look b WHERE peer = p AND want = 'hit') THEN
        RETURN;
    END IF;
    FOR i IN 1..2 * n LOOP
        sought := keys('hit', run * 100 + i, many);
        mode := CASE WHEN many > 100 THEN 'in_long' WHEN i % 2 = 0 THEN 'in' ELSE 'in_const' END;
        PERFORM set_config('plan_cache_mode', CASE mode WHEN 'in_const' THEN 'force_custom_plan' ELSE 'force_generic_plan' END, true);
        SELECT array_agg(uuid_hash(x)) INTO hashes FROM unnest(sought) x;
        start := clock_timestamp();
        IF p LIKE 'bloom%' THEN
            SELECT count(*) INTO answer FROM t WHERE h = ANY(hashes) AND id = ANY(sought);
        ELSE
            SELECT count(*) INTO answer FROM t WHERE id = ANY(sought);
        END IF;
        us := extract(epoch FROM clock_timestamp() - start)::float8 * 1e6;
        IF answer <> (SELECT count(DISTINCT x) FROM unnest(sought) x) THEN
            RAISE '% of % found by %', answer, many, p;
        END IF;
        IF i > 2 OR us > 1e5 THEN
            INSERT INTO bench_look VALUES (p, mode, run, i, us);
        END IF;
        EXIT WHEN clock_timestamp() - began > make_interval(secs => seconds);
    END LOOP;
END $$;

CREATE VIEW look AS
SELECT peer, want, count(*) AS n, percentile_cont(.5) WITHIN GROUP (ORDER BY us) AS us,
       percentile_cont(.99) WITHIN GROUP (ORDER BY us) AS p99,
       (SELECT percentile_cont(.5) WITHIN GROUP (ORDER BY us) FROM bench_look_cpu c WHERE (c.peer, c.want) = (b.peer, b.want)) AS cpu_us,
       min(us) FILTER (WHERE seq = 1) AS first_us
FROM bench_look b GROUP BY peer, want;
CREATE VIEW client AS
SELECT peer, want, count(*) AS n, percentile_cont(.5) WITHIN GROUP (ORDER BY us) AS us,
       percentile_cont(.99) WITHIN GROUP (ORDER BY us) AS p99
FROM bench_client GROUP BY peer, want;

CREATE FUNCTION us(float8) RETURNS text LANGUAGE sql IMMUTABLE AS $$ SELECT num($1 / 1000) $$;
CREATE FUNCTION mb(bigint) RETURNS text LANGUAGE sql IMMUTABLE AS $$ SELECT num($1 / 1048576.0::float8) $$;


CREATE TABLE index_size (name text PRIMARY KEY, bytes bigint);
