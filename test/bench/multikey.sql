--
-- Tables, peers and queries of test/bench/multikey.sh. Needs measure.sql.
--
CREATE TABLE raw (n int GENERATED ALWAYS AS IDENTITY, line text);
CREATE TABLE log (id bigint GENERATED ALWAYS AS IDENTITY, line text);
CREATE TABLE words (id bigint GENERATED ALWAYS AS IDENTITY, tsv tsvector);
CREATE TABLE tags (id bigint GENERATED ALWAYS AS IDENTITY, tags text[]);
CREATE TABLE docs (id bigint GENERATED ALWAYS AS IDENTITY, doc jsonb);
CREATE TABLE log_more (line text);
CREATE TABLE words_more (tsv tsvector);
CREATE TABLE tags_more (tags text[]);
CREATE TABLE docs_more (doc jsonb);

CREATE TABLE peer (tab text, name text, ddl text);
INSERT INTO peer VALUES
('log', 'pbfidx', 'pbfidx (line pbf_trgm_ops)'), ('log', 'gin', 'gin (line gin_trgm_ops)'),
('words', 'pbfidx', 'pbfidx (tsv)'), ('words', 'gin', 'gin (tsv)'),
('tags', 'pbfidx', 'pbfidx (tags)'), ('tags', 'gin', 'gin (tags)'),
('docs', 'pbfidx', 'pbfidx (doc)'), ('docs', 'gin', 'gin (doc)');
CREATE TABLE index_size (tab text, name text, bytes bigint, bits_per_key float8, PRIMARY KEY (tab, name));

-- ---- rows ----

-- Ten digits in the order of day r: the same digits on all lines of a repetition, so that what is alike stays alike.
CREATE FUNCTION digits(r int) RETURNS text LANGUAGE sql IMMUTABLE AS
$$ SELECT string_agg(d::text, '' ORDER BY md5(d || '/' || r)) FROM generate_series(0, 9) d $$;

-- Lines like those of a web application, when there are no real ones.
CREATE FUNCTION made_up_lines(n int) RETURNS SETOF text LANGUAGE sql AS $$
    SELECT format('2024-05-17 %s:%s:%s.%s %s [%s-%s] %s: %s id=%s client=10.2.%s.%s took %s ms',
                  lpad((i / 500 % 24)::text, 2, '0'), lpad((i / 10 % 60)::text, 2, '0'), lpad((i % 60)::text, 2, '0'), i * 37 % 1000,
                  (ARRAY['INFO', 'INFO', 'INFO', 'WARN', 'ERROR', 'DEBUG'])[1 + i * 7 % 6],
                  (ARRAY['http-worker', 'scheduler', 'db-pool', 'cache', 'mailer'])[1 + i / 100 % 5], i % 16,
                  (ARRAY['SessionStore', 'OrderService', 'PaymentGateway', 'ImageResizer', 'SearchBackend', 'RateLimiter'])[1 + i / 30 % 6],
                  (ARRAY['request completed', 'connection reset by peer', 'verification succeeded for block', 'session opened for user',
                         'authentication failure', 'slow query detected', 'cache entry evicted', 'message queued for delivery'])[1 + i * 11 % 8],
                  md5(i::text), i % 256, i * 3 % 256, i * 13 % 900)
    FROM generate_series(1, n) i
$$;

CREATE FUNCTION make_tags(first bigint, n bigint) RETURNS SETOF text[] LANGUAGE sql AS $$
    SELECT ARRAY(SELECT 'tag' || (50000 * power(random(), 3))::int FROM generate_series(1, 3 + i % 6)) FROM generate_series(first, first + n - 1) i
$$;

CREATE FUNCTION make_docs(first bigint, n bigint) RETURNS SETOF jsonb LANGUAGE sql AS $$
    SELECT jsonb_build_object('user', (random() * 100000)::int, 'event', 'event ' || (random() * 20)::int,
                              'at', timestamptz '2024-01-01 00:00 UTC' + i * interval '1 second',
                              'item', jsonb_build_object('id', (200000 * power(random(), 2))::int, 'price', (random() * 1000)::int / 10.0),
                              'tags', jsonb_build_array('t' || (300 * random())::int, 't' || (300 * random())::int))
    FROM generate_series(first, first + n - 1) i
$$;

CREATE PROCEDURE fill(n bigint) LANGUAGE plpgsql AS $$
DECLARE
    lines bigint = (SELECT count(*) FROM raw);
    more bigint = greatest(fill.n / 100, 1000);
BEGIN
    PERFORM setseed(0.42);
    INSERT INTO log (line) SELECT translate(line, '0123456789', d) FROM (SELECT r, digits(r) AS d FROM generate_series(1, (fill.n / lines + 1)::int) r) x, raw
    WHERE (r - 1) * lines + raw.n <= fill.n ORDER BY r, raw.n;
    INSERT INTO log_more SELECT translate(line, '0123456789', digits(9999)) FROM raw ORDER BY raw.n LIMIT more;
    INSERT INTO words (tsv) SELECT to_tsvector('simple', line) FROM log ORDER BY id;
    INSERT INTO words_more SELECT to_tsvector('simple', line) FROM log_more;
    INSERT INTO tags (tags) SELECT * FROM make_tags(1, fill.n);
    INSERT INTO tags_more SELECT * FROM make_tags(fill.n + 1, more);
    INSERT INTO docs (doc) SELECT * FROM make_docs(1, fill.n);
    INSERT INTO docs_more SELECT * FROM make_docs(fill.n + 1, more);
END $$;

CREATE PROCEDURE build(t text, p text, run int) LANGUAGE plpgsql AS $$
DECLARE
    kind text = (SELECT ddl FROM peer WHERE tab = t AND name = p);
BEGIN
    SET LOCAL client_min_messages = warning;
    EXECUTE format('DROP INDEX IF EXISTS %I', t || '_' || p);
    CALL timed('build ' || t, p, run, format('CREATE INDEX %I ON %I USING %s', t || '_' || p, t, kind));
    INSERT INTO index_size VALUES (t, p, pg_relation_size(t || '_' || p), NULL) ON CONFLICT (tab, name) DO UPDATE SET bytes = excluded.bytes;
    IF p = 'pbfidx' THEN
        UPDATE index_size SET bits_per_key = (SELECT s.bits_per_key FROM pbfidx_stats((t || '_' || p)::regclass) s) WHERE tab = t AND name = p;
    END IF;
END $$;

-- ---- queries ----

CREATE TABLE query (tab text, ord int GENERATED ALWAYS AS IDENTITY, name text, cond text, rows bigint);

-- Conditions of a kind.
CREATE PROCEDURE add_queries(t text, kind text, VARIADIC conds text[]) LANGUAGE sql AS
$$ INSERT INTO query (tab, name, cond) SELECT t, kind, c FROM unnest(conds) c $$;

CREATE PROCEDURE choose_queries(t text) LANGUAGE plpgsql AS $$
DECLARE
    q record;
    n bigint;
BEGIN
    PERFORM setseed(0.1);
    CASE t
    WHEN 'log' THEN
        -- Pieces of lines, so that they occur: as long as a message, a name, a number.
        INSERT INTO query (tab, name, cond) SELECT t, 'LIKE, ' || chars || ' characters of a line', format('line LIKE %L', '%' || substr(line, 30, chars) || '%')
            FROM (VALUES (10), (16), (24)) c (chars), LATERAL (SELECT line FROM log WHERE id % 97 = 0 AND length(line) > 60 AND substr(line, 30, chars) !~ '[%_\\]' ORDER BY md5(line || chars) LIMIT 30) x;
        CALL add_queries(t, 'LIKE, a message that is not there', 'line LIKE ''%no such message%''', 'line LIKE ''%replication failure%''', 'line LIKE ''%unexpected end of%''');
        CALL add_queries(t, 'LIKE, a frequent word', 'line LIKE ''%session%''', 'line LIKE ''%INFO%''');
        CALL add_queries(t, 'ILIKE', 'line ILIKE ''%authentication FAILURE%''');
        CALL add_queries(t, 'regular expression', 'line ~ ''(connection|session) (reset|opened)''', 'line ~ ''authentication failure.*user=root''');
    WHEN 'words' THEN
        INSERT INTO query (tab, name, cond) SELECT t, 'one word of few rows', format('tsv @@ %L::tsquery', quote_literal(word)) FROM ts_stat('SELECT tsv FROM words WHERE id % 20 = 0') WHERE ndoc = 1 AND length(word) < 50 ORDER BY md5(word) LIMIT 5;
        INSERT INTO query (tab, name, cond) SELECT t, 'two words', format('tsv @@ %L::tsquery', (SELECT string_agg(quote_literal(w), ' & ') FROM (SELECT w FROM unnest(tsvector_to_array(tsv)) w ORDER BY length(w) DESC LIMIT 2) x))
            FROM (SELECT tsv FROM words WHERE length(tsv) > 5 ORDER BY md5(id::text) LIMIT 5) x;
        INSERT INTO query (tab, name, cond) SELECT t, 'a word that is not there', format('tsv @@ %L', 'nosuchword' || i) FROM generate_series(1, 9) i;
        CALL add_queries(t, 'frequent words', 'tsv @@ ''info''', 'tsv @@ ''session & user''');
    WHEN 'tags' THEN
        INSERT INTO query (tab, name, cond) SELECT t, 'one element of few rows', format('tags @> %L', ARRAY[tag]) FROM (SELECT unnest(tags) AS tag FROM tags WHERE id % 10 = 0) x GROUP BY tag HAVING count(*) BETWEEN 1 AND 3 ORDER BY md5(tag) LIMIT 9;
        INSERT INTO query (tab, name, cond) SELECT t, 'three elements', format('tags @> %L', tags[1:3]) FROM (SELECT tags FROM tags ORDER BY md5(id::text) LIMIT 5) x;
        INSERT INTO query (tab, name, cond) SELECT t, 'any of two', format('tags && %L', tags[1:2]) FROM (SELECT tags FROM tags ORDER BY md5(id::text || 'x') LIMIT 5) x;
        INSERT INTO query (tab, name, cond) SELECT t, 'the same array', format('tags = %L', tags) FROM (SELECT tags FROM tags ORDER BY md5(id::text || 'y') LIMIT 3) x;
        INSERT INTO query (tab, name, cond) SELECT t, 'an element that is not there', format('tags @> %L', ARRAY['nosuchtag' || i]) FROM generate_series(1, 9) i;
        CALL add_queries(t, 'a frequent element', 'tags @> ''{tag5}''');
    WHEN 'docs' THEN
        INSERT INTO query (tab, name, cond) SELECT t, 'one value of few rows', format('doc @> %L', jsonb_build_object('user', doc -> 'user')) FROM (SELECT doc FROM docs ORDER BY md5(id::text) LIMIT 5) x;
        INSERT INTO query (tab, name, cond) SELECT t, 'two values, nested', format('doc @> %L', jsonb_build_object('event', doc -> 'event', 'item', jsonb_build_object('id', doc -> 'item' -> 'id'))) FROM (SELECT doc FROM docs ORDER BY md5(id::text || 'x') LIMIT 5) x;
        INSERT INTO query (tab, name, cond) SELECT t, 'path', format('doc @@ %L', '$.user == ' || (doc ->> 'user') || ' && $.item.id == ' || (doc -> 'item' ->> 'id')) FROM (SELECT doc FROM docs ORDER BY md5(id::text || 'y') LIMIT 5) x;
        INSERT INTO query (tab, name, cond) SELECT t, 'a value that is not there', format('doc @> %L', jsonb_build_object('user', -i)) FROM generate_series(1, 9) i;
        CALL add_queries(t, 'a frequent value', 'doc @> ''{"event": "event 7"}''');
    END CASE;
    FOR q IN SELECT ord, cond FROM query WHERE tab = t LOOP
        EXECUTE format('SELECT count(*) FROM %I WHERE %s', t, q.cond) INTO n;
        UPDATE query SET rows = n WHERE ord = q.ord;
    END LOOP;
    -- Pieces of lines are anything from a number to what every line has.
    UPDATE query SET name = name || CASE WHEN rows <= (SELECT reltuples FROM pg_class WHERE oid = t::regclass) / 1000 THEN ', few rows' ELSE ', many rows' END
    WHERE tab = t AND name LIKE '%of a line';
END $$;

CREATE TABLE bench_look (ord int, peer text, run int, ms float8, cpu_ms float8, index_ms float8);

-- All queries of a table, several times each, planning included; wrong answers are an error.
CREATE PROCEDURE look_up(t text, peer text, run int) LANGUAGE plpgsql AS $$
DECLARE
    q query;
    start timestamptz;
    cpu float8;
    n bigint;
    plan json;
BEGIN
    IF peer <> 'none' THEN
        SET LOCAL enable_seqscan = off;
    END IF;
    FOR q IN SELECT * FROM query WHERE tab = t ORDER BY ord LOOP
        FOR i IN 0..CASE WHEN peer = 'none' THEN 1 ELSE 5 END LOOP
            start := clock_timestamp();
            cpu := cpu_ms();
            EXECUTE format('SELECT count(*) FROM %I WHERE %s', t, q.cond) INTO n;
            IF n <> q.rows THEN
                RAISE '% gives % instead of % rows for %', peer, n, q.rows, q.cond;
            END IF;
            CONTINUE WHEN i = 0;
            INSERT INTO bench_look VALUES (q.ord, peer, run, extract(epoch FROM clock_timestamp() - start)::float8 * 1000, cpu_ms() - cpu);
        END LOOP;
        CONTINUE WHEN peer = 'none';
        EXECUTE format('EXPLAIN (ANALYZE, FORMAT JSON) SELECT count(*) FROM %I WHERE %s', t, q.cond) INTO plan;
        UPDATE bench_look l SET index_ms = (jsonb_path_query_first(plan::jsonb, '$.** ? (@."Node Type" == "Bitmap Index Scan")."Actual Total Time"'))::float8
        WHERE l.ord = q.ord AND l.peer = look_up.peer AND l.run = look_up.run;
    END LOOP;
END $$;

-- Of an ideal filter of rows: bits for each of r rows' keys if it may name r wrong ones of n beside them, log2(n / r), for tags
-- of at most one row of 1,000; none for the others.
CREATE TABLE row_filter (keys float8, bits float8);
CREATE PROCEDURE count_bits() LANGUAGE sql AS $$
    INSERT INTO row_filter
    SELECT sum(r), sum(r * ln(n / r) / ln(2)) FILTER (WHERE r <= n / 1000)
    FROM (SELECT count(*)::float8 AS n FROM tags) t,
         (SELECT count(*)::float8 AS r FROM tags, LATERAL (SELECT DISTINCT unnest(tags) AS tag) x GROUP BY tag) y
$$;

-- Rate of a range for one key by bits_per_key, in leaf slabs without an upper. Ranges of four pages have a slab of many pages, so
-- that whole pages come near to what is asked for.
CREATE TABLE rates (asked float8, bits float8, rate float8);
CREATE PROCEDURE measure_rates() LANGUAGE plpgsql AS $$
DECLARE
    wanted int;
BEGIN
    FOREACH wanted IN ARRAY '{4,6,7,8,10,11,16,24}'::int[] LOOP
        EXECUTE format('CREATE INDEX tags_rate ON tags USING pbfidx (tags array_ops (bits_per_key = %s)) WITH (pages_per_range = 4)', wanted);
        INSERT INTO rates SELECT wanted, s.bits_per_key, l.rate
        FROM pbfidx_stats('tags_rate') s, (SELECT avg(est_fpr) AS rate FROM pbfidx_slabs('tags_rate') WHERE level = 0 AND columns > 100) l;
        DROP INDEX tags_rate;
    END LOOP;
END $$;
