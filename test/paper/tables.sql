-- The tables of doc/paper.md, each a view doc_..., from what the paper prints (figures.sql), what the SQL functions
-- compute, what exact.py computes (table exact), and what was measured (tables batch, compared). Columns that depend on
-- measuring come last. What must not be is in the view wrong.

CREATE TABLE exact (what text, m int, k int, n bigint, argument int, value numeric);
CREATE TABLE batch (program text, experiment text, m bigint, k int, n bigint, argument int, what text, value float8, sigma float8, trials float8);
CREATE TABLE compared (target float8, variant text, k int, bits float8, build float8, absent float8, present float8, expected float8,
	rate float8, sigma float8, weak float8, weak_rate float8, half float8, nr int GENERATED ALWAYS AS IDENTITY);

-- All batches of a measurement as one.
CREATE VIEW measured AS
SELECT program, experiment, m, k, n, argument, what, sum(value * trials) / sum(trials) AS value,
	sqrt(sum((sigma * trials) ^ 2)) / sum(trials) AS sigma, sum(trials) AS trials
FROM batch GROUP BY program, experiment, m, k, n, argument, what;

CREATE FUNCTION occupied(m int, k int, divisor int) RETURNS bigint LANGUAGE sql IMMUTABLE AS
	'SELECT floor(m / k::float8 * ln(2) / divisor)::bigint';
CREATE FUNCTION occupation(divisor int) RETURNS text LANGUAGE sql IMMUTABLE AS $$ SELECT '1/' || divisor $$;

-- So many significant digits.
CREATE FUNCTION sig(x float8, digits int) RETURNS text LANGUAGE sql IMMUTABLE AS $$
	SELECT CASE WHEN x = 0 THEN '0'
		WHEN x < 1e-4 THEN replace(trim(to_char(x, '9.' || repeat('9', digits - 1) || 'EEEE')), 'e-0', 'e-')
		ELSE round(x::numeric, greatest(0, digits - 1 - floor(log(x))::int))::text END
$$;
CREATE FUNCTION fixed(x float8, digits int) RETURNS text LANGUAGE sql IMMUTABLE AS 'SELECT round(x::numeric, digits)::text';
-- A figure, marked where it is not what the paper prints.
CREATE FUNCTION beside(computed text, printed text) RETURNS text LANGUAGE sql IMMUTABLE AS
	$$ SELECT CASE WHEN computed = printed THEN computed ELSE '**' || computed || '**' END $$;

-- --- what each measurement should give -----------------------------------------------------------------------------

CREATE FUNCTION formula(experiment text, m bigint, k int, n bigint, argument int, what text) RETURNS float8 LANGUAGE sql STABLE AS $$
	SELECT CASE
		WHEN experiment IN ('counted', 'probed') AND what = 'standard' THEN pbf_fpr_standard(n, m, k)
		WHEN experiment IN ('counted', 'probed') THEN pbf_fpr_partitioned(n, m, k)
		WHEN experiment = 'element' THEN pbf_fpr_standard_element(n, m, k, k - argument)
		WHEN experiment = 'collisions' THEN pbf_collision_probability(m, k, argument)
		WHEN experiment = 'double_rate' AND what = 'standard' THEN pbf_fpr_standard(n, m, k)
		WHEN experiment = 'overlap' THEN (SELECT value::float8 FROM exact e WHERE e.what = 'overlap ' || formula.what
			AND (e.m, e.k, e.n) = (formula.m, formula.k, formula.n))
		WHEN experiment = 'reduction' AND what = 'modulo' THEN pbf_fpr_standard(n, m >> argument, k)
		WHEN experiment = 'reduction' THEN pbf_fpr_partitioned(n, m >> argument, k >> (argument - left(what, 1)::int))
	END
$$;

CREATE VIEW deviation AS
SELECT *, (value - expected) / sigma AS sigmas
FROM (SELECT program, experiment, m, k, n, argument || ' ' || what AS what, value, sigma, formula(experiment, m, k, n, argument, what) AS expected
		FROM measured
	UNION ALL
	SELECT 'compare', 'compared', NULL, k, NULL, variant || ' ' || target, rate, sigma, expected FROM compared) d
WHERE expected IS NOT NULL;

CREATE VIEW computed AS
SELECT e.*, CASE e.what WHEN 'F_a' THEN pbf_fpr_standard_approx(n, m, k) WHEN 'F_s' THEN pbf_fpr_standard(n, m, k)
		WHEN 'F_p' THEN pbf_fpr_partitioned(n, m, k) WHEN 'element' THEN pbf_fpr_standard_element(n, m, k, k - argument)
		WHEN 'collision' THEN pbf_collision_probability(m, k, argument) END AS computed
FROM exact e WHERE what !~ 'overlap|short';

-- --- tables ----------------------------------------------------------------------------------------------------------

CREATE VIEW rate AS
SELECT m, k, n, pbf_fpr_standard_approx(n, m, k) AS fa, pbf_fpr_standard(n, m, k) AS fs, pbf_fpr_partitioned(n, m, k) AS fp, divisor
FROM (SELECT m, k, divisor, occupied(m, k, divisor) AS n FROM paper_occupation) o;

CREATE FUNCTION found(e text, em int, ek int, en bigint, ewhat text, digits int) RETURNS text LANGUAGE sql STABLE AS $$
	SELECT sig(value, digits) || ' ± ' || sig(sigma, 2) FROM measured WHERE (experiment, m, k, n, what) = (e, em, ek, en, ewhat)
$$;

CREATE VIEW doc_rates AS
SELECT m, k, n, beside(fixed(r.fa, 8), p.fa) AS "F_a", beside(fixed(r.fs, 8), p.fs) AS "F_s", beside(fixed(r.fp, 8), p.fp) AS "F_p",
	p.ratio AS "F_p / F_s, paper", beside(fixed(r.fp / r.fs, 8), p.ratio) AS "computed",
	found('probed', m, k, n, 'standard', 4) AS "F_s, measured", found('probed', m, k, n, 'partitioned', 4) AS "F_p, measured"
FROM paper_rate p JOIN rate r USING (m, k) WHERE divisor = 1 ORDER BY m, k;

CREATE VIEW doc_occupations AS
SELECT m, k, occupation(divisor) AS occupation, n, ratio AS "F_p / F_s, paper", beside(fixed(fp / fs, 8), ratio) AS computed,
	fixed((SELECT max(value) FILTER (WHERE what = 'partitioned') / max(value) FILTER (WHERE what = 'standard')
		FROM measured x WHERE experiment = 'counted' AND (x.m, x.k, x.n) = (r.m, r.k, r.n)), 3) AS measured,
	found('counted', m, k, n, 'standard', 4) AS "F_s, measured", found('counted', m, k, n, 'partitioned', 4) AS "F_p, measured"
FROM paper_occupation JOIN rate r USING (m, k, divisor) ORDER BY m, k, divisor DESC;

CREATE VIEW doc_elements AS
SELECT occupation(divisor) AS occupation, m, k, n, string_agg(ratio, ', ' ORDER BY c) AS "paper: 0, 1, 2, 3 collisions",
	string_agg(beside(computed, ratio), ', ' ORDER BY c) AS computed, string_agg(coalesce(measured, '-'), ', ' ORDER BY c) AS measured
FROM (SELECT p.*, n, fixed(pbf_fpr_standard_element(n, m, k, k - c) / pbf_fpr_standard(n, m, k), 2) AS computed,
		-- nothing where fewer than ten hits were to be expected
		(SELECT sig(value / pbf_fpr_standard(x.n, x.m, x.k), 3) || ' ± ' || sig(sigma / pbf_fpr_standard(x.n, x.m, x.k), 1)
			FROM measured x WHERE experiment = 'element' AND (x.m, x.k, argument, x.what) = (p.m, p.k, c, occupation(divisor))
				AND trials * formula(experiment, x.m, x.k, x.n, argument, x.what) > 10) AS measured
	FROM paper_element p, occupied(m, k, divisor) n) e
GROUP BY divisor, m, k, n ORDER BY divisor, m, k;

CREATE VIEW doc_collisions AS
SELECT m, k, CASE WHEN c < 0 THEN 'some' ELSE c::text END AS collisions, share AS paper,
	beside(fixed(CASE WHEN c < 0 THEN 1 - pbf_collision_probability(m, k, 0) ELSE pbf_collision_probability(m, k, c) END, 4), share) AS computed,
	(SELECT fixed(CASE WHEN c < 0 THEN 1 - value ELSE value END, 6) || ' ± ' || sig(sigma, 2)
		FROM measured x WHERE experiment = 'collisions' AND (x.m, x.k, argument) = (p.m, p.k, greatest(c, 0))) AS measured
FROM paper_collision p ORDER BY m, k, c;

-- Elements with at least c collisions, and their rate. The last ones are rare.
CREATE VIEW tail AS
SELECT m, k, c, (SELECT sum(pbf_collision_probability(m, k, d)) FROM generate_series(c, k - 1) d) AS share,
	pbf_fpr_standard_element(n, m, k, k - c) / pbf_fpr_standard(n, m, k) AS ratio
FROM (VALUES (64, 4), (64, 8), (512, 8), (512, 16)) s (m, k), occupied(m, k, 1) n, generate_series(0, k - 1) c;
CREATE VIEW doc_tail AS
SELECT m, k, c AS "collisions, at least", sig(share, 3) AS "share of elements", fixed(ratio, 2) AS "rate / mean rate"
FROM tail WHERE share >= 5e-7 AND m = 512 AND k = 16 ORDER BY m, k, c;

CREATE VIEW doc_double_rates AS
SELECT what AS positions, sig(formula(experiment, m, k, n, argument, what), 4) AS "rate by formula", sig(value, 3) || ' ± ' || sig(sigma, 1) AS "rate, measured"
FROM (SELECT * FROM measured WHERE experiment = 'double_rate'
	UNION ALL SELECT * FROM measured
		WHERE experiment = 'counted' AND (m, k, n) = (512, 8, 44) AND what = 'partitioned') r
ORDER BY what;

CREATE VIEW doc_double_issue1 AS
SELECT CASE argument WHEN 0 THEN '0' WHEN 2 THEN '1/2 of the range' WHEN 4 THEN '1/4 of the range' ELSE '1' END AS "h2",
	max(sig(value, 3) || ' ± ' || sig(sigma, 1)) FILTER (WHERE what ~ '^standard') AS "standard, measured rate",
	max(sig(value, 3) || ' ± ' || sig(sigma, 1)) FILTER (WHERE what ~ '^partitioned') AS "partitioned, measured rate"
FROM measured WHERE experiment = 'double_issue1' GROUP BY least(argument, 64) ,1 ORDER BY least(argument, 64);

CREATE VIEW doc_double_issues AS
SELECT CASE WHEN experiment = 'double_issue2' THEN 'issue 2: common bits of x and y, y going back from the end of x'
		ELSE 'issue 3: share of pairs of equal h2 with ' || CASE argument WHEN 8 THEN 'all 8' ELSE argument || ' or more' END || ' bits in common' END AS "odd h2, all h1",
	max(sig(value, 3)) FILTER (WHERE what ~ '^standard') AS standard, max(sig(value, 3)) FILTER (WHERE what ~ '^partitioned') AS partitioned
FROM measured WHERE experiment IN ('double_issue2', 'double_issue3') GROUP BY experiment, argument ORDER BY experiment, argument;

CREATE VIEW doc_overlap AS
SELECT m, k, n AS "n1 = n2",
	sig(pbf_false_overlap_standard(n, n, m, k), 4) AS "P_s", sig(max(value) FILTER (WHERE what ~ 'standard')::float8, 4) AS "exact",
	sig(pbf_false_overlap_partitioned(n, n, m, k), 4) AS "P_p", sig(max(value) FILTER (WHERE what ~ 'partitioned')::float8, 4) AS "exact ",
	found('overlap', m, k, n, 'standard', 4) AS "standard, measured", found('overlap', m, k, n, 'partitioned', 4) AS "partitioned, measured"
FROM exact WHERE what ~ 'overlap' GROUP BY m, k, n ORDER BY m, k, n;

CREATE VIEW doc_intersection AS
SELECT m, k, n AS "n1 = n2", max(sig(value, 3)) FILTER (WHERE what = 'standard') AS "rate of the intersection, standard",
	max(sig(value, 3)) FILTER (WHERE what = 'partitioned') AS "partitioned"
FROM measured WHERE experiment = 'intersection' GROUP BY m, k, n ORDER BY m, k, n;

CREATE VIEW reduced AS
SELECT n, argument AS halvings, what, value, m >> argument AS bits FROM measured WHERE experiment = 'reduction';
CREATE VIEW doc_reduction AS
SELECT '1/' || round(1 / (1 - exp(-n / 4096.0))) AS "fill", n, '1/' || (1 << halvings) AS size,
	sig(min(pbf_fpr_partitioned(n, bits, parts)), 3) AS "made anew, by formula",
	sig(max(value) FILTER (WHERE what = '0 folds'), 3) AS "parts dropped",
	sig(max(value) FILTER (WHERE what = halvings || ' folds'), 3) AS "folded",
	sig(min(value) FILTER (WHERE what <> 'modulo'), 3) AS "best mix",
	sig(max(value) FILTER (WHERE what = 'modulo'), 3) AS "standard, modulo"
FROM reduced, generate_series(1, 40) parts GROUP BY n, halvings ORDER BY n DESC, halvings;

CREATE VIEW doc_compared AS
SELECT fixed(target, 4) AS rate, variant, k, fixed(bits, 2) AS "bits a key", fixed(build, 1) AS "build, ns a key", fixed(absent, 1) AS "look-up, ns, absent",
	fixed(present, 1) AS "present", sig(rate, 3) || ' ± ' || sig(sigma, 1) AS "rate, measured",
	CASE WHEN weak_rate IS NULL THEN CASE WHEN variant ~ '^P' THEN 'none' ELSE 'hardly any' END
		ELSE sig(weak, 2) || ' of the elements: ' || fixed(weak_rate / rate, 1) || ' times' END AS "weak spots",
	sig(half, 2) AS "rate at half the size"
FROM compared ORDER BY target DESC, nr;

-- What the paper's sums give if their last term is left out, see exact.py.
CREATE FUNCTION short(ewhat text, em int, ek int, en bigint, c int = NULL) RETURNS numeric LANGUAGE sql STABLE AS $$
	SELECT value FROM exact WHERE (what, m, k, n) = (ewhat, em, ek, en) AND argument = coalesce(c, argument)
$$;
CREATE VIEW printed AS
SELECT format('table 2, m %s, k %s, occupation %s', m, k, occupation(divisor)) AS what, ratio AS paper, fixed(fp / fs, 8) AS computed,
	round(fp::numeric / short('F_s short', m, k, n), 8)::text AS short
FROM paper_occupation JOIN rate USING (m, k, divisor)
UNION ALL
SELECT format('table 3, m %s, k %s, occupation %s, %s collisions', m, k, occupation(divisor), c), ratio,
	fixed(pbf_fpr_standard_element(n, m, k, k - c) / pbf_fpr_standard(n, m, k), 2),
	round(short('element short', m, k, n, c) / short('F_s short', m, k, n), 2)::text
FROM paper_element, occupied(m, k, divisor) n;

-- --- what must not be ----------------------------------------------------------------------------------------------------

CREATE VIEW wrong AS
SELECT format('%s(m %s, k %s, n %s, %s): computed %s, exact %s', what, m, k, n, argument, computed, value) AS what
FROM computed WHERE computed IS NULL OR abs(computed - value) > 1e-12 * value
UNION ALL
SELECT format('table 1, m %s, k %s: %s, paper %s', m, k, (r.fa, r.fs, r.fp), (p.fa, p.fs, p.fp))
FROM paper_rate p JOIN rate r USING (m, k)
WHERE divisor = 1 AND (fixed(r.fa, 8), fixed(r.fs, 8), fixed(r.fp, 8)) <> (p.fa, p.fs, p.fp)
UNION ALL
SELECT format('table 3, full, m %s, k %s: %s, paper %s', m, k, computed, "paper: 0, 1, 2, 3 collisions")
FROM doc_elements WHERE occupation = '1/1' AND computed <> "paper: 0, 1, 2, 3 collisions"
UNION ALL
SELECT format('table 4, m %s, k %s, %s collisions: %s, paper %s', m, k, collisions, computed, paper) FROM doc_collisions WHERE computed <> paper
UNION ALL
SELECT format('%s: computed %s, without the last term %s, paper %s', p.what, computed, short, paper)
FROM printed p WHERE paper <> coalesce(short, computed)
UNION ALL
SELECT format('%s: m %s, k %s, n %s, %s: measured %s ± %s, formula %s: %s sigma', experiment, m, k, n, d.what, sig(value, 4), sig(sigma, 2), sig(expected, 4), sigmas::numeric(9, 2))
FROM deviation d WHERE abs(sigmas) > 3
UNION ALL
SELECT format('only %s measurements have a formula', count(*)) FROM deviation HAVING count(*) < 150;
