--
-- Two columns of test/bench/index.sh: k = x AND g = y, k in 100 rows and g in one row of 1,000. Lists of values of k.
--
\o /dev/null
CALL use_index('t', '');
CREATE TABLE and_index (ord int GENERATED ALWAYS AS IDENTITY, title text, names text[], bytes bigint, ms float8, build float8);
CREATE PROCEDURE and_build(title text, VARIADIC ddl text[]) LANGUAGE plpgsql AS $$
DECLARE
    start timestamptz = clock_timestamp();
    names text[] = '{}';
BEGIN
    FOR i IN 1..cardinality(ddl) LOOP
        names[i] := format('and_%s_%s', (SELECT count(*) FROM and_index), i);
        EXECUTE format('CREATE INDEX %I ON t USING ', names[i]) || ddl[i];
    END LOOP;
    INSERT INTO and_index (title, names, bytes, build)
    SELECT title, names, sum(pg_relation_size(n::regclass)), extract(epoch FROM clock_timestamp() - start) FROM unnest(names) n;
END $$;
SELECT ceil(16 * :rows::bigint / (pg_relation_size('t') / 8192.0)) AS n \gset
CALL and_build('pbfidx (k, g)', 'pbfidx (k, g)');
CALL and_build('btree (k, g)', 'btree (k, g)');
CALL and_build('btree (k), btree (g)', 'btree (k)', 'btree (g)');
SELECT EXISTS (SELECT FROM peer WHERE name = 'brin_tuned') AS with_brin, EXISTS (SELECT FROM peer WHERE name ~ 'bloom') AS with_bloom \gset
\if :with_brin
CALL and_build('BRIN bloom (k, g), tuned', format('brin (k int8_bloom_ops (n_distinct_per_range = %s, false_positive_rate = 0.0001), g int4_bloom_ops (n_distinct_per_range = 1000, false_positive_rate = 0.0001)) WITH (pages_per_range = 16)', :n));
\endif
\if :with_bloom
CALL and_build('contrib/bloom (k::int, g), default', 'bloom ((k::int), g)');
\endif

CREATE TABLE bench_and (title text, run int, us float8);
CREATE PROCEDURE and_run(what text, run int, seconds float8) LANGUAGE plpgsql
SET enable_seqscan = off AS $$
DECLARE
    r record;
    start timestamptz;
    began timestamptz = clock_timestamp();
    query text = format('SELECT count(*) FROM t WHERE k%s = $1 AND g = $2', CASE WHEN what LIKE 'contrib%' THEN '::int' END);
    answer bigint;
    us float8;
BEGIN
    EXECUTE 'PREPARE q (int, int) AS ' || query;
    SET plan_cache_mode = force_generic_plan;
    FOR r IN SELECT k, g, n FROM and_key LOOP
        start := clock_timestamp();
        EXECUTE format('EXECUTE q (%s, %s)', r.k, r.g) INTO answer;
        us := extract(epoch FROM clock_timestamp() - start)::float8 * 1e6;
        IF answer <> r.n THEN
            RAISE '% counts %, not %', what, answer, r.n;
        END IF;
        INSERT INTO bench_and VALUES (what, run, us);
        EXIT WHEN clock_timestamp() - began > make_interval(secs => seconds);
    END LOOP;
    DEALLOCATE q;
END $$;
-- Pairs that occur, from all over the table, and how often they do.
CREATE TABLE and_key AS
WITH x AS (SELECT DISTINCT k, g FROM (SELECT k, g FROM t WHERE h % 1000 = 7 LIMIT 500) y)
SELECT t.k::int, t.g, count(*) AS n FROM t JOIN x USING (k, g) GROUP BY t.k, t.g;
ANALYZE and_key;

CREATE PROCEDURE and_all() LANGUAGE plpgsql AS $$
DECLARE
    a and_index;
BEGIN
    FOR run IN 1..3 LOOP
        FOR a IN SELECT * FROM and_index ORDER BY CASE WHEN run % 2 = 0 THEN ord ELSE -ord END LOOP
            CALL use_index('t', VARIADIC a.names);
            COMMIT;
            CALL and_run(a.title, run, 2);
        END LOOP;
    END LOOP;
END $$;
CALL and_all();

-- Lists of values that occur, as a parameter.
CREATE TABLE bench_list (title text, filtered bool, many int, us float8);
CREATE PROCEDURE list_run(what text, filtered bool, many int, run int) LANGUAGE plpgsql
SET enable_seqscan = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    sought bigint[];
    start timestamptz;
    answer bigint;
BEGIN
    PERFORM set_config('pbf.filter_rows', filtered::text, true);
    PERFORM setseed(run / 1000.0);
    PREPARE q (bigint[]) AS SELECT count(note) FROM t WHERE k = ANY ($1);
    FOR i IN 0..10 LOOP
        SELECT array_agg(DISTINCT k) INTO sought FROM (SELECT k FROM and_key ORDER BY random() LIMIT many) x;
        start := clock_timestamp();
        EXECUTE format('EXECUTE q (%L)', sought) INTO answer;
        IF i > 0 THEN -- the first one plans
            INSERT INTO bench_list VALUES (what, filtered, many, extract(epoch FROM clock_timestamp() - start)::float8 * 1e6);
        END IF;
    END LOOP;
    DEALLOCATE q;
END $$;
CREATE PROCEDURE list_all() LANGUAGE plpgsql AS $$
DECLARE
    a record;
BEGIN
    FOR run IN 1..3 LOOP
        FOR a IN SELECT * FROM and_index, unnest('{true,false}'::bool[]) filtered, unnest('{1,10,30,100}'::int[]) many
                 WHERE title ~ '^(pbfidx|btree)' AND (filtered OR title ~ 'pbfidx')
                 ORDER BY CASE WHEN run % 2 = 0 THEN ord ELSE -ord END, many, filtered LOOP
            CALL use_index('t', VARIADIC a.names);
            COMMIT;
            CALL list_run(a.title, a.filtered, a.many, run);
        END LOOP;
    END LOOP;
END $$;
CALL list_all();
\o

\echo
\echo '## 5. Two columns'
\echo
\echo '`SELECT count(*) FROM t WHERE k = x AND g = y`, pairs that occur, warm, prepared; k occurs in 100 rows, g in one row'
\echo 'of 1,000. A pbfidx or bloom index serves either column alone as well; btree (k, g) does not serve g.'
\echo
SELECT md_head('index', 'MB', 'build, s', 'ms, median', 'ms, p99', 'queries');
SELECT md(title, mb(bytes), num(build), us(percentile_cont(.5) WITHIN GROUP (ORDER BY us)),
          us(percentile_cont(.99) WITHIN GROUP (ORDER BY us)), num(count(*)))
FROM and_index JOIN bench_and USING (title) GROUP BY ord, title, bytes, build ORDER BY ord;
\echo
\echo 'Lists of values of k as a parameter: `SELECT count(note) FROM t WHERE k = ANY ($1)`. On more than 256 pages a value'
\echo 'pbfidx leaves the comparison to the server, as it always does if `pbf.filter_rows` is off.'
\echo
SELECT md_head('index', '1 value, ms', '10', '30', '100', 'timed');
SELECT md(title || CASE WHEN filtered THEN '' ELSE ', filter_rows off' END,
          us(percentile_cont(.5) WITHIN GROUP (ORDER BY us) FILTER (WHERE many = 1)), us(percentile_cont(.5) WITHIN GROUP (ORDER BY us) FILTER (WHERE many = 10)), us(percentile_cont(.5) WITHIN GROUP (ORDER BY us) FILTER (WHERE many = 30)),
          us(percentile_cont(.5) WITHIN GROUP (ORDER BY us) FILTER (WHERE many = 100)), num(count(*)))
FROM and_index JOIN bench_list USING (title) GROUP BY ord, title, filtered ORDER BY ord, filtered DESC;
SELECT format('DROP INDEX %I', n) FROM and_index, unnest(names) n
\o /dev/null
\gexec
CALL use_index('t', 't_pbfidx');
