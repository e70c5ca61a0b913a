# VACUUM never fails because of an index: whatever the index's expressions do, whatever has become of TOASTed values,
# in parallel, interrupted, in a hurry. And who runs whose code: expressions are evaluated with the rights of the
# table's owner.

use strict;
use warnings;

use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep time);

my @sessions;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', <<'CONF');
autovacuum = off
autovacuum_freeze_max_age = 100000
autovacuum_naptime = 1s
log_autovacuum_min_duration = 0
max_wal_size = 2GB
min_parallel_index_scan_size = 0
min_parallel_table_scan_size = 0
max_parallel_maintenance_workers = 4
max_prepared_transactions = 5
CONF
$node->start;

# A command that must succeed and say nothing; returns what it gave.
sub succeeds
{
	my ($sql, $what) = @_;
	my ($rc, $out, $err) = $node->psql('postgres', $sql, extra_params => [ '-v', 'ON_ERROR_STOP=1' ]);
	is("$rc$err", '0', $what);
	return $out;
}

sub checked { return succeeds("SELECT pbfidx_check('$_[0]')", "check of $_[0], $_[1]"); }

# A psql that stays.
sub session
{
	my %s = (in => '', out => '');
	$s{run} = IPC::Run::start([ 'psql', '-XAtq', '-d', $node->connstr('postgres') ], '<', \$s{in}, '>&', \$s{out}, IPC::Run::timeout(10 * $PostgreSQL::Test::Utils::timeout_default));
	push @sessions, \%s;
	return \%s;
}

sub say_to
{
	my ($s, $sql) = @_;
	$s->{out} = '';
	$s->{in} .= "$sql\n\\echo done\n";
	$s->{run}->pump until $s->{out} =~ /^done$/m;
	return $s->{out} =~ s/^done\n//mr;
}

sub quit
{
	my ($s) = @_;
	$s->{in} .= "\\q\n";
	$s->{run}->finish;
	@sessions = grep { $_ != $s } @sessions;
	return;
}

# Where the slabs are: changes when one is rebuilt.
sub slabs { return $node->safe_psql('postgres', "SELECT string_agg(level || '/' || slab || ':' || start_block, ' ' ORDER BY level, slab) FROM pbfidx_slabs('$_[0]')"); }

# All but those that nothing uses: metapage, one directory page, slabs.
sub pages_in_use { return $node->safe_psql('postgres', "SELECT 2 + sum(blocks) FROM pbfidx_slabs('$_[0]')"); }

$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION pbf;
CREATE FUNCTION careful(x int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS
	'BEGIN RETURN 1000000 / x; EXCEPTION WHEN division_by_zero THEN RETURN -1; END';
SQL

# --- parallel VACUUM and an expression with an EXCEPTION block, which parallel mode does not allow -------------------

$node->safe_psql('postgres', <<'SQL');
CREATE TABLE p (id int, k int);
INSERT INTO p SELECT i, i % 1000 FROM generate_series(1, 20000) i;
CREATE INDEX p_b1 ON p (id);
CREATE INDEX p_b2 ON p (k);
CREATE INDEX p_expr ON p USING pbfidx (careful(k));
CREATE INDEX p_part ON p USING pbfidx (id) WHERE careful(k) > 0;
CREATE INDEX p_plain ON p USING pbfidx (id);
-- Overfull, all of them: every page gets other rows, twice. (A page of p_expr holds few different values.)
DELETE FROM p WHERE id % 2 = 0;
VACUUM p;
INSERT INTO p SELECT i, i FROM generate_series(30000, 39999) i;
DELETE FROM p WHERE id < 20000;
VACUUM (INDEX_CLEANUP off) p;
INSERT INTO p SELECT i, i FROM generate_series(40000, 49999) i;
SQL
my %before = map { $_ => slabs($_) } qw(p_expr p_part p_plain);
like($node->safe_psql('postgres', "SELECT overfull_slabs > 0 FROM pbfidx_stats('p_plain')"), qr/t/, 'a slab is overfull');
succeeds('SET client_min_messages = warning; VACUUM (PARALLEL 2) p', 'VACUUM (PARALLEL 2)');
isnt(slabs('p_plain'), $before{p_plain}, 'the plain index was rebuilt');
is(slabs('p_expr'), $before{p_expr}, 'that on an expression was left alone');
checked($_, 'after a parallel VACUUM') for qw(p_expr p_part p_plain);
succeeds('VACUUM (PARALLEL 0) p', 'VACUUM (PARALLEL 0)');
isnt(slabs('p_part'), $before{p_part}, 'now the partial index was rebuilt');
checked($_, 'after VACUUM') for qw(p_expr p_part p_plain);
is($node->safe_psql('postgres', 'SET enable_seqscan = off; SELECT count(*) FROM p WHERE careful(k) = careful(2000)'),
	$node->safe_psql('postgres', 'SET enable_bitmapscan = off; SELECT count(*) FROM p WHERE careful(k) = careful(2000)'), 'the same answer');
succeeds("VACUUM ($_) p", "VACUUM ($_)") for 'INDEX_CLEANUP off', 'INDEX_CLEANUP on', 'ANALYZE', 'FREEZE', 'TRUNCATE off', 'FULL';
succeeds('ANALYZE p', 'ANALYZE');
checked($_, 'after all kinds of VACUUM') for qw(p_expr p_part p_plain);
succeeds('DELETE FROM p; VACUUM p; VACUUM p', 'VACUUM of what becomes empty');
checked($_, 'empty') for qw(p_expr p_part p_plain);
succeeds('INSERT INTO p SELECT i, i FROM generate_series(1, 5000) i', 'and is filled again');
checked($_, 'filled again') for qw(p_expr p_part p_plain);

# --- TOAST -------------------------------------------------------------------------------------------------------
#
# A dead row stays on a heap page whose cleanup lock is not to be had, for somebody has it pinned, while its TOAST is
# vacuumed away.

$node->safe_psql('postgres', <<'SQL');
CREATE TABLE big (id int, w text, x int);
ALTER TABLE big ALTER w SET STORAGE EXTERNAL;
CREATE INDEX big_w ON big USING pbfidx (w) WITH (pages_per_range = 1);
CREATE INDEX big_e ON big USING pbfidx (upper(w)) WITH (pages_per_range = 1);
CREATE INDEX big_p ON big USING pbfidx (id) WITH (pages_per_range = 1) WHERE length(w) > 10;
INSERT INTO big SELECT i, repeat(i || ' ', 2000), i FROM generate_series(1, 40) i;
SQL
my $toast = $node->safe_psql('postgres', "SELECT reltoastrelid::regclass FROM pg_class WHERE oid = 'big'::regclass");
succeeds("SELECT pbfidx_resummarize('$_')", "rebuild of $_ with live TOASTed values") for qw(big_w big_e big_p);
checked($_, 'live TOASTed values') for qw(big_w big_e big_p);
$node->safe_psql('postgres', 'DELETE FROM big WHERE id % 2 = 0');
$node->safe_psql('postgres', "UPDATE big SET w = w || 'new' WHERE id % 4 = 1");
$node->safe_psql('postgres', "VACUUM $toast");
my $pin = session();
say_to($pin, 'BEGIN; DECLARE c CURSOR FOR SELECT id FROM big; FETCH 1 FROM c;');
is($node->safe_psql('postgres', "SELECT count(*) FROM $toast WHERE chunk_seq = 0"), '20', 'TOAST of the dead rows is gone');
succeeds("SELECT pbfidx_resummarize('$_')", "rebuild of $_, a dead row without TOAST") for qw(big_w big_e big_p);
checked($_, 'dead rows without TOAST') for qw(big_w big_e big_p);
succeeds('VACUUM big', 'VACUUM, a dead row without TOAST');
succeeds('VACUUM (PARALLEL 2) big', 'VACUUM (PARALLEL 2), a dead row without TOAST');
succeeds("CREATE INDEX big_w2 ON big USING pbfidx (w); CREATE INDEX big_e2 ON big USING pbfidx (upper(w)); CREATE INDEX big_p2 ON big USING pbfidx (id) WHERE length(w) > 10",
	'CREATE INDEX, a dead row without TOAST');
checked($_, 'dead rows without TOAST') for qw(big_w big_e big_p big_w2 big_e2 big_p2);
is($node->safe_psql('postgres', "SET enable_seqscan = off; SELECT count(*) FROM big b, LATERAL (SELECT count(*) AS n FROM big WHERE w = b.w AND upper(w) = upper(b.w)) c WHERE n = 1"),
	'20', 'each row is found');
say_to($pin, 'COMMIT;');
quit($pin);
succeeds('REINDEX TABLE big', 'REINDEX, a dead row without TOAST');
checked($_, 'reindexed') for qw(big_w big_e big_p big_w2 big_e2 big_p2);
succeeds('VACUUM big', 'VACUUM without the pin');
succeeds("SELECT pbfidx_resummarize('$_')", "rebuild of $_") for qw(big_w big_e big_p);
checked($_, 'in the end') for qw(big_w big_e big_p);

# The same with an old snapshot, to which the deleted rows still belong.
my $old = session();
say_to($old, 'BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM big;');
$node->safe_psql('postgres', "UPDATE big SET w = w || 'newer'; DELETE FROM big WHERE id % 4 = 3");
succeeds("VACUUM $toast; VACUUM big", 'VACUUM under an old snapshot');
succeeds("SELECT pbfidx_resummarize('$_')", "rebuild of $_ under an old snapshot") for qw(big_w big_e big_p);
like(say_to($old, 'SET enable_seqscan = off; SELECT count(*) FROM big b, LATERAL (SELECT count(*) AS n FROM big WHERE w = b.w AND upper(w) = upper(b.w)) c WHERE n = 1;'),
	qr/^20$/m, 'the old snapshot finds its rows');
say_to($old, 'COMMIT;');
quit($old);

# --- TOAST that goes while an index is built --------------------------------------------------------------------------

# The build stops at row 1; meanwhile the last snapshot ends that knew the deleted rows, and their TOAST is vacuumed away.
$node->safe_psql('postgres', <<'SQL');
CREATE FUNCTION held(x int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS
	$$ BEGIN IF x = 1 AND current_setting('test.hold', true) = 'on' THEN PERFORM pg_advisory_lock(7); PERFORM pg_advisory_unlock(7); END IF; RETURN x; END $$;
SQL
for my $how ('', 'CONCURRENTLY')
{
	$node->safe_psql('postgres', <<'SQL');
DROP TABLE IF EXISTS slow_toast;
CREATE TABLE slow_toast (id int, w text);
ALTER TABLE slow_toast ALTER w SET STORAGE EXTERNAL;
INSERT INTO slow_toast SELECT i, repeat(i || ' ', 2000) FROM generate_series(1, 40) i;
SQL
	my $chunks = $node->safe_psql('postgres', "SELECT reltoastrelid::regclass FROM pg_class WHERE oid = 'slow_toast'::regclass");
	my ($holder, $reader, $said) = (session(), session(), '');
	say_to($holder, 'SELECT pg_advisory_lock(7);');
	say_to($reader, 'BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM slow_toast;');
	$node->safe_psql('postgres', 'DELETE FROM slow_toast WHERE id % 2 = 0');
	my $h = IPC::Run::start([ 'psql', '-XAtq', '-d', $node->connstr('postgres'), '-c', 'SET test.hold = on',
			'-c', "CREATE INDEX $how slow_toast_w ON slow_toast USING pbfidx (held(id), w)" ], '<', '/dev/null', '>&', \$said);
	$node->poll_query_until('postgres', "SELECT count(*) = 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted");
	say_to($reader, 'COMMIT;');
	quit($reader);
	$node->safe_psql('postgres', "VACUUM $chunks");
	is($node->safe_psql('postgres', "SELECT count(*) FROM $chunks WHERE chunk_seq = 0"), '20', "TOAST goes while the index is built $how");
	say_to($holder, 'SELECT pg_advisory_unlock(7);');
	quit($holder);
	$h->finish;
	is($said, '', "the index is built $how");
	checked('slow_toast_w', 'TOAST that went');
}

# The TOAST table's index is locked by somebody who will write a page of the table: no deadlock that nobody finds.
my $locker = session();
say_to($locker, 'BEGIN; REINDEX INDEX ' . $node->safe_psql('postgres', "SELECT indexrelid::regclass FROM pg_index WHERE indrelid = '$toast'::regclass") . ';');
my (undef, undef, $waited) = $node->psql('postgres', "SET lock_timeout = '1s'; SELECT pbfidx_resummarize('big_w')");
like($waited, qr/lock timeout/, 'a rebuild waits for TOAST before it locks a page');
say_to($locker, 'UPDATE big SET x = x + 1; COMMIT;');
quit($locker);
succeeds("SELECT pbfidx_resummarize('big_w')", 'then it goes on');
checked('big_w', 'after the wait');

# --- TOAST that goes while VACUUM reads the table ---------------------------------------------------------------------

# VACUUM waits for pinned pages to freeze their rows. Meanwhile rows are deleted, and their TOAST is vacuumed away, as others
# do not heed its snapshot; for which the rows are still needed. The first pin's snapshot knows them, so there is a second one.
sub kept_slabs
{
	my ($index, @before) = @_;
	my %now = map { $_ => 1 } split / /, slabs($index);
	return scalar grep { $now{$_} } @before;
}

$node->safe_psql('postgres', <<'SQL');
CREATE TABLE gone (id int, w text) WITH (fillfactor = 10);
ALTER TABLE gone ALTER w SET STORAGE EXTERNAL;
INSERT INTO gone SELECT i, i FROM generate_series(1, 6000) i;
CREATE INDEX gone_w ON gone USING pbfidx (upper(w)) WITH (pages_per_range = 1);
ALTER TABLE gone SET (fillfactor = 100);
VACUUM gone;
INSERT INTO gone SELECT i, CASE WHEN i % 2000 = 0 THEN repeat(i || ' ', 2000) ELSE i::text END FROM generate_series(6001, 60000) i;
SQL
$toast = $node->safe_psql('postgres', "SELECT reltoastrelid::regclass FROM pg_class WHERE oid = 'gone'::regclass");
my @slabs_gone = split / /, slabs('gone_w');
my $pin_gone = 'BEGIN; DECLARE c CURSOR FOR SELECT id FROM gone; FETCH 1 FROM c;';
my ($first, $second) = (session(), session());
my $warned = '';
say_to($first, $pin_gone);
my $freezing = IPC::Run::start([ 'psql', '-XAtq', '-d', $node->connstr('postgres'), '-c', 'VACUUM (FREEZE) gone' ], '<', '/dev/null', '>&', \$warned);
ok($node->poll_query_until('postgres', "SELECT count(*) = 1 FROM pg_stat_activity WHERE wait_event = 'BufferPin'"), 'VACUUM waits for a pinned page');
$node->safe_psql('postgres', 'DELETE FROM gone WHERE id = 60000');
say_to($second, $pin_gone);
say_to($first, 'COMMIT;');
$node->safe_psql('postgres', "VACUUM $toast");
is($node->safe_psql('postgres', "SELECT count(*) FROM $toast WHERE chunk_seq = 0"), '26', 'the TOAST of a deleted row is gone');
is($node->safe_psql('postgres', "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'BufferPin'"), '1', 'VACUUM still waits');
say_to($second, 'COMMIT;');
quit($_) for $first, $second;
$freezing->finish;
is($warned, '', 'VACUUM does not ask for it');
is(kept_slabs('gone_w', @slabs_gone), 1, 'the slab where the row was stays, what else is overfull is built anew');
succeeds('VACUUM gone', 'the next VACUUM');
is(kept_slabs('gone_w', @slabs_gone), 0, 'builds that too');
checked('gone_w', 'TOAST is gone');
is($node->safe_psql('postgres', "SET enable_seqscan = off; SELECT count(*) FROM (SELECT w FROM gone WHERE id % 100 = 1) g, LATERAL (SELECT count(*) AS n FROM gone WHERE upper(w) = upper(g.w)) c WHERE n = 1"),
	'600', 'each row is found');
succeeds('DROP TABLE gone', 'away with it');

# --- an expression that fails for a dead row ------------------------------------------------------------------------

$node->safe_psql('postgres', 'CREATE TABLE e (id int, k int); INSERT INTO e VALUES (1, 0), (2, 5), (3, 7)');
$node->safe_psql('postgres', 'DELETE FROM e WHERE k = 0');
$pin = session();
say_to($pin, 'BEGIN; DECLARE c CURSOR FOR SELECT id FROM e; FETCH 1 FROM c;');
succeeds('CREATE INDEX e_k ON e USING pbfidx ((1000 / k)) WITH (pages_per_range = 1); CREATE INDEX e_p ON e USING pbfidx (id) WITH (pages_per_range = 1) WHERE 1000 / k > 0',
	'CREATE INDEX, the expression fails for a dead row');
succeeds("SELECT pbfidx_resummarize('e_k'), pbfidx_resummarize('e_p')", 'a rebuild');
succeeds('VACUUM e', 'VACUUM');
succeeds('VACUUM (PARALLEL 2) e', 'VACUUM (PARALLEL 2)');
checked($_, 'expression that fails for a dead row') for qw(e_k e_p);
# One whose INSERT failed is on the page, too, and one that is only being inserted.
my ($rc, $out, $err) = $node->psql('postgres', 'INSERT INTO e VALUES (4, 0)');
like($err, qr/division by zero/, 'an INSERT fails');
my $writer = session();
say_to($writer, 'BEGIN; INSERT INTO e VALUES (5, 9); SAVEPOINT s; INSERT INTO e VALUES (6, 0); ROLLBACK TO s;');
succeeds("SELECT pbfidx_resummarize('e_k'), pbfidx_resummarize('e_p')", 'a rebuild beside it');
succeeds('VACUUM e', 'VACUUM beside it');
say_to($writer, 'COMMIT;');
quit($writer);
say_to($pin, 'COMMIT;');
quit($pin);
checked($_, 'a row that was being inserted') for qw(e_k e_p);
is($node->safe_psql('postgres', 'SET enable_seqscan = off; SELECT count(*) FROM e WHERE 1000 / k = 1000 / 9'), '1', 'which is found');

# --- invalid indexes --------------------------------------------------------------------------------------------

$node->safe_psql('postgres', 'CREATE TABLE c (id int, k int); INSERT INTO c SELECT i, i FROM generate_series(1, 1000) i; INSERT INTO c VALUES (0, 0)');
($rc, $out, $err) = $node->psql('postgres', 'CREATE INDEX CONCURRENTLY c_not_ready ON c USING pbfidx ((1000 / k))');
like($err, qr/division by zero/, 'CREATE INDEX CONCURRENTLY fails while building');
# The other kind is inserted into already, but waits for an old snapshot.
$old = session();
say_to($old, 'BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1;');
($rc, $out, $err) = $node->psql('postgres', "SET statement_timeout = '2s'; CREATE INDEX CONCURRENTLY c_ready ON c USING pbfidx (k);");
like($err, qr/statement timeout/, 'CREATE INDEX CONCURRENTLY waits in vain');
say_to($old, 'COMMIT;');
quit($old);
is($node->safe_psql('postgres', "SELECT string_agg(indexrelid::regclass || ' ' || indisready || ' ' || indisvalid, ', ' ORDER BY indexrelid::regclass::text) FROM pg_index WHERE indrelid = 'c'::regclass"),
	'c_not_ready false false, c_ready true false', 'both are invalid');
succeeds("DELETE FROM c WHERE id = 0; INSERT INTO c SELECT i, i FROM generate_series(1, 20000) i", 'writing goes on');
succeeds("VACUUM ($_) c", "VACUUM ($_) with invalid indexes") for 'PARALLEL 2', 'INDEX_CLEANUP on', 'ANALYZE';
for my $index ('c_not_ready', 'c_ready')
{
	($rc, $out, $err) = $node->psql('postgres', "SELECT pbfidx_resummarize('$index')");
	like($err, qr/index "$index" is not valid/, "no rebuild of $index");
	($rc, $out, $err) = $node->psql('postgres', "SELECT pbfidx_check('$index')");
	like($err, qr/index "$index" is not valid/, "no check of $index");
	succeeds("REINDEX INDEX CONCURRENTLY $index", "REINDEX INDEX CONCURRENTLY $index") if $index eq 'c_ready';
	succeeds("REINDEX INDEX $index", "REINDEX INDEX $index");
	checked($index, 'after REINDEX');
}

# --- a rebuild that is cancelled leaves nothing that VACUUM could not finish -----------------------------------------

$node->safe_psql('postgres', <<'SQL');
CREATE FUNCTION slow(x int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS
	$$ BEGIN IF x = 5 AND current_setting('test.slow', true) = 'on' THEN PERFORM pg_sleep(600); END IF; RETURN x; END $$;
CREATE TABLE s (k int, pad text DEFAULT repeat('x', 500)) WITH (fillfactor = 10);
CREATE INDEX s_k ON s USING pbfidx (slow(k)) WITH (pages_per_range = 1);
INSERT INTO s SELECT generate_series(0, 300);
SQL
# Row 5 is not on one of the pages that are sampled for the size (every tenth): the sleep is after the new pages were made.
for my $how ('pg_cancel_backend', 'pg_terminate_backend', 'statement_timeout')
{
	my $said = '';
	my $timeout = $how eq 'statement_timeout' ? '2s' : '0';
	my $h = IPC::Run::start([ 'psql', '-XAtq', '-d', $node->connstr('postgres'), '-c', "SET test.slow = on", '-c', "SET statement_timeout = '$timeout'",
			'-c', "SELECT pbfidx_resummarize('s_k')" ], '<', '/dev/null', '>&', \$said);
	if ($timeout eq '0')
	{
		$node->poll_query_until('postgres', "SELECT count(*) = 1 FROM pg_stat_activity WHERE wait_event = 'PgSleep'");
		# In both: rows on a page that has been read, and on one that has not.
		$node->safe_psql('postgres', 'UPDATE s SET k = k + 1000 WHERE k % 1000 IN (3, 100); INSERT INTO s VALUES (10000)');
		$node->safe_psql('postgres', "SELECT $how(pid) FROM pg_stat_activity WHERE wait_event = 'PgSleep'");
	}
	$h->finish;
	like($said, qr/canceling statement|terminating connection/, "a rebuild is interrupted: $how");
	checked('s_k', 'half rebuilt');
	my $before = slabs('s_k');
	my ($vacuumed, undef, $told) = $node->psql('postgres', 'VACUUM (VERBOSE) s');
	is($vacuumed, 0, 'VACUUM after that');
	my ($in_total, $reusable) = $told =~ /index "s_k": pages: (\d+) in total, .* (\d+) reusable/;
	is($reusable, $in_total - pages_in_use('s_k'), 'pages free');
	isnt(slabs('s_k'), $before, 'went on with it');
	checked('s_k', 'resumed');
	is($node->safe_psql('postgres', 'SET enable_seqscan = off; SELECT count(*) > 0 FROM s WHERE slow(k) = (SELECT max(k) FROM s WHERE k % 1000 = 3)'), 't', 'a row that was written meanwhile is found');
}

# --- rights ------------------------------------------------------------------------------------------------------

$node->safe_psql('postgres', <<'SQL');
CREATE ROLE owner; CREATE ROLE other; CREATE ROLE looker; GRANT pg_stat_scan_tables TO looker;
GRANT CREATE ON SCHEMA public TO owner;
SET ROLE owner;
CREATE FUNCTION tells(x int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS
	$$ BEGIN IF x = 1 THEN RAISE NOTICE 'as %, path %', current_user, current_setting('search_path'); END IF; RETURN x; END $$;
CREATE FUNCTION steal() RETURNS void LANGUAGE plpgsql AS 'BEGIN CREATE TEMP TABLE stolen (x int); END';
CREATE FUNCTION steals(x int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS
	$$ BEGIN IF current_setting('test.steal', true) = 'on' THEN PERFORM public.steal(); END IF; RETURN x; END $$;
CREATE TABLE o (k int);
INSERT INTO o VALUES (1), (2);
CREATE INDEX o_k ON o USING pbfidx (tells(k)) WITH (pages_per_range = 1);
CREATE INDEX o_s ON o USING pbfidx (steals(k)) WITH (pages_per_range = 1);
SQL
for my $call ("SELECT pbfidx_check('o_k')", "SELECT pbfidx_resummarize('o_k')", 'VACUUM o', 'REINDEX INDEX o_k')
{
	# Far more rows a page than the slabs were made for, so that VACUUM has something to do.
	my $prepare = 'SET client_min_messages = error; TRUNCATE o; ALTER TABLE o SET (fillfactor = 10); INSERT INTO o SELECT generate_series(1, 600); REINDEX TABLE o;
		ALTER TABLE o SET (fillfactor = 100); INSERT INTO o SELECT generate_series(601, 20000)';
	$node->safe_psql('postgres', $prepare);
	($rc, $out, $err) = $node->psql('postgres', "SET search_path = public, trap; $call");
	unlike($err, qr/ERROR/, "$call as superuser");
	unlike($err, qr/as (?!owner)/, "$call: never with other rights than the owner's");
	like($err, qr/as owner/, "$call: evaluated as the owner");
	# (How REINDEX calls it is the server's business.)
	unlike($err, qr/path (?!pg_catalog, pg_temp$)/m, "$call: with a safe search_path") if $call !~ /REINDEX/;
	$node->safe_psql('postgres', $prepare);
	# A security-restricted operation: the owner cannot prepare something for the caller.
	($rc, $out, $err) = $node->psql('postgres', "SET test.steal = on; " . $call =~ s/o_k/o_s/r);
	like($err, qr/cannot create temporary table within security-restricted operation/, "$call: restricted");
	is($node->safe_psql('postgres', 'SELECT current_user'), $node->safe_psql('postgres', 'SELECT session_user'), 'oneself again');
}
($rc, $out, $err) = $node->psql('postgres', <<'SQL');
SET client_min_messages = error;
SET search_path = public;
SELECT pbfidx_check('o_k'), pbfidx_resummarize('o_k');
SELECT 'after: ' || current_user = 'after: ' || session_user, current_setting('search_path');
BEGIN; SET test.steal = on; SAVEPOINT s;
\set ON_ERROR_STOP 0
SELECT pbfidx_resummarize('o_s');
ROLLBACK TO s;
SELECT current_user = session_user, current_setting('search_path'), pg_my_temp_schema();
ROLLBACK;
SQL
like($out, qr/^t\|public\nt\|public\|0$/m, 'user and search_path are as before, also after an error');
for my $role ('other', 'looker')
{
	($rc, $out, $err) = $node->psql('postgres', "SET ROLE $role; SELECT pbfidx_resummarize('o_k')");
	like($err, qr/must be owner of index o_k/, "no rebuild as $role");
	($rc, $out, $err) = $node->psql('postgres', "SET ROLE $role; SELECT pbfidx_check('o_k')");
	if   ($role eq 'other') { like($err, qr/must be owner of index o_k/, 'no check as other'); }
	else                    { unlike($err, qr/ERROR/, 'a check as looker'); like($err, qr/as owner/, 'which evaluates as the owner'); }
}

# --- in a hurry ---------------------------------------------------------------------------------------------------

$node->safe_psql('postgres', 'UPDATE c SET k = k + 100000; UPDATE c SET k = k + 100000');
succeeds('SET vacuum_failsafe_age = 0; SET vacuum_freeze_table_age = 0; SET vacuum_freeze_min_age = 0; VACUUM c', 'vacuum_failsafe_age = 0, too young');
# A VACUUM against wraparound, for which everything that waits for its lock has to wait, does as little as the failsafe: here the
# only autovacuum that comes.
$node->safe_psql('postgres', 'ALTER TABLE c SET (autovacuum_enabled = off); UPDATE c SET k = k + 100000; UPDATE c SET k = k + 100000');
my $state_c = slabs('c_ready');
# Old enough for the failsafe: it begins 5 % beyond autovacuum_freeze_max_age. A subtransaction that writes takes an xid.
$node->safe_psql('postgres', <<'SQL');
DO $$ BEGIN
	CREATE TEMP TABLE x (i int) ON COMMIT DROP;
	FOR i IN 1 .. 106000 LOOP
		BEGIN INSERT INTO x VALUES (i); RAISE EXCEPTION 'x'; EXCEPTION WHEN raise_exception THEN NULL; END;
	END LOOP;
END $$;
UPDATE p SET id = id + 1;
SQL
my $state = slabs('p_plain');
($rc, $out, $err) = $node->psql('postgres', 'SET vacuum_failsafe_age = 0; VACUUM p');
like($err, qr/bypassing nonessential maintenance/, 'the failsafe is on');
unlike($err, qr/ERROR/, 'and VACUUM succeeds');
is(slabs('p_plain'), $state, 'nothing is rebuilt in a hurry');
checked($_, 'after the failsafe') for qw(p_expr p_part p_plain c_ready);

$node->safe_psql('postgres', 'ALTER SYSTEM SET autovacuum = on; ALTER SYSTEM SET autovacuum_naptime = 1');
$node->reload;
ok($node->poll_query_until('postgres', "SELECT age(relfrozenxid) < 100000 FROM pg_class WHERE relname = 'c'"), 'autovacuum has frozen the table');
$node->safe_psql('postgres', 'ALTER SYSTEM RESET autovacuum');
$node->reload;
is(slabs('c_ready'), $state_c, 'nothing is rebuilt to prevent wraparound');
$node->safe_psql('postgres', 'VACUUM c');
isnt(slabs('c_ready'), $state_c, 'but by the next VACUUM');
checked('c_ready', 'after both');
$node->safe_psql('postgres', 'ALTER TABLE c RESET (autovacuum_enabled)');

# --- all rows get new keys, again and again -------------------------------------------------------------------------

# The table comes to have twice its pages, of which one half is empty after each VACUUM. The index stays about as large as
# that of a table in which all of these pages are full, and as good.
succeeds(<<'SQL', 'a table for new keys');
	CREATE TABLE churn (k uuid, pad text NOT NULL DEFAULT repeat('x', 40));
	INSERT INTO churn (k) SELECT gen_random_uuid() FROM generate_series(1, 150000);
	CREATE INDEX churn_k ON churn USING pbfidx (k);
SQL
for my $round (1 .. 20)
{
	$node->safe_psql('postgres', 'UPDATE churn SET k = gen_random_uuid()');
	$node->safe_psql('postgres', 'VACUUM churn');
}
succeeds('CREATE TABLE filled (LIKE churn INCLUDING ALL); INSERT INTO filled (k) SELECT gen_random_uuid() FROM generate_series(1, 300000); REINDEX TABLE filled', 'a full table');
my ($pages, $grown, $overfull, $rate) = split /\|/, $node->safe_psql('postgres', "SELECT heap_pages, index_pages, overfull_slabs, est_false_positive_rate FROM pbfidx_stats('churn_k')");
my ($full_pages, $full) = split /\|/, $node->safe_psql('postgres', "SELECT heap_pages, index_pages FROM pbfidx_stats('filled_k_idx')");
cmp_ok(abs($pages - $full_pages), '<', $pages / 50, "20 rounds of new keys: $pages pages, as in the full table");
cmp_ok($grown, '<=', 1.3 * $full, "of the index $grown after $full");
is($overfull, 0, 'no slab is overfull');
cmp_ok($rate, '<', 2e-4, "the rate, without an upper: $rate");
checked('churn_k', 'after 20 rounds');
succeeds('DROP TABLE churn, filled', 'away with them');

# --- a table that is emptied and filled again -------------------------------------------------------------------------

# Slabs that became overfull, and were made anew when there were no rows, fit the rows that come after that.
succeeds(<<'SQL', 'more rows than slabs were made for, and then none');
	CREATE TABLE emptied (id int, k uuid) WITH (autovacuum_enabled = off);
	INSERT INTO emptied SELECT 0, gen_random_uuid() FROM generate_series(1, 100);
	CREATE INDEX emptied_k ON emptied USING pbfidx (k) WITH (pages_per_range = 1);
	INSERT INTO emptied SELECT i, gen_random_uuid() FROM generate_series(1, 60000) i;
	DELETE FROM emptied WHERE id < 59990;
	VACUUM (INDEX_CLEANUP on) emptied;
	DELETE FROM emptied;
	VACUUM (INDEX_CLEANUP on, TRUNCATE off) emptied;
	INSERT INTO emptied SELECT i, gen_random_uuid() FROM generate_series(1, 60000) i;
	VACUUM (INDEX_CLEANUP on) emptied;
	CREATE INDEX emptied_new ON emptied USING pbfidx (k) WITH (pages_per_range = 1);
SQL
my %emptied = map { $_ => $node->safe_psql('postgres', "SELECT est_false_positive_rate FROM pbfidx_stats('$_')") } qw(emptied_k emptied_new);
cmp_ok($emptied{emptied_k}, '<', 3 * $emptied{emptied_new}, "the rate after that: $emptied{emptied_k}; of a new index: $emptied{emptied_new}");
checked('emptied_k', 'filled again');
succeeds('DROP TABLE emptied', 'away with it');

# --- rows that a sample of a slab's pages says nothing about ----------------------------------------------------------

# Every tenth page of a slab is sampled. Rows between these, and more rows there than elsewhere: slabs get the size that
# their rows need, and the next VACUUMs have nothing to do.
succeeds(<<'SQL', 'a table whose rows are known to be 40 a page');
	CREATE TABLE sampled (id uuid, u uuid, v uuid, page int, pad text) WITH (autovacuum_enabled = off);
	INSERT INTO sampled SELECT md5(i::text)::uuid, md5(i || 'u')::uuid, md5(i || 'v')::uuid, i / 40 % 120, repeat('x', 120)
		FROM generate_series(0, 9000 * 40 - 1) i;
	CREATE INDEX sampled_between ON sampled USING pbfidx (id, u, v) WITH (pages_per_range = 1) WHERE page BETWEEN 1 AND 8;
	CREATE INDEX sampled_odd ON sampled USING pbfidx (id, u, v) WITH (pages_per_range = 1)
		WHERE page = 0 OR (page % 10 BETWEEN 4 AND 6 AND hashtext(id::text) % 8 = 0);
	VACUUM ANALYZE sampled;
SQL
is($node->safe_psql('postgres', 'SELECT count(*) FROM sampled WHERE (ctid::text::point)[0]::int % 120 <> page'), '0', 'they are where they should be');
for my $index (qw(sampled_between sampled_odd))
{
	my $sizes = "SELECT sum(blocks) FILTER (WHERE level = 0), sum(blocks) FILTER (WHERE level = 1) FROM pbfidx_slabs('$index')";
	my ($leaves, $upper) = split /\|/, $node->safe_psql('postgres', $sizes);
	$node->safe_psql('postgres', "SELECT pbfidx_resummarize('$index')");
	my ($leaves_after, $upper_after) = split /\|/, $node->safe_psql('postgres', $sizes);
	cmp_ok(abs($leaves_after - $leaves), '<=', 0.2 * $leaves, "$index: leaf slabs $leaves pages, made anew $leaves_after");
	cmp_ok(abs($upper_after - $upper), '<=', 0.2 * $upper, "$index: upper $upper pages, made anew $upper_after");
	my $slabs = slabs($index);
	$node->safe_psql('postgres', 'VACUUM (INDEX_CLEANUP ON) sampled');
	is(slabs($index), $slabs, "$index: VACUUM finds nothing to do");
	checked($index, 'made anew');
}
succeeds('DROP TABLE sampled', 'away with it');

# --- autovacuum ----------------------------------------------------------------------------------------------------

$node->append_conf('postgresql.conf', <<'CONF');
autovacuum = on
autovacuum_vacuum_threshold = 1
autovacuum_vacuum_scale_factor = 0
autovacuum_vacuum_insert_threshold = 1
autovacuum_vacuum_insert_scale_factor = 0
autovacuum_analyze_threshold = 1
autovacuum_analyze_scale_factor = 0
CONF
my $log_start = -s $node->logfile;
$node->restart;
$node->safe_psql('postgres', 'SELECT pg_stat_reset()');
$node->safe_psql('postgres', 'UPDATE p SET id = id + 1 WHERE id % 3 = 0; UPDATE big SET x = x + 1; UPDATE e SET id = id + 1; UPDATE c SET k = k + 1 WHERE id % 5 = 0; UPDATE s SET k = k + 1; UPDATE o SET k = k')
  for 1 .. 2;
$node->poll_query_until('postgres', "SELECT bool_and(autovacuum_count > 0) FROM pg_stat_user_tables WHERE relname IN ('p', 'big', 'e', 'c', 's', 'o')");
my $log = substr(slurp_file($node->logfile), $log_start);
unlike($log, qr/ERROR|PANIC|corrupted/, 'autovacuum met no error');
checked($_, 'after autovacuum') for qw(p_expr p_part p_plain big_w big_e big_p e_k e_p c_ready c_not_ready s_k o_s);
unlike(slurp_file($node->logfile), qr/PANIC|TRAP|corrupted|missing chunk|signal 11|signal 6/, 'nothing worse in the log');

END
{
	my $status = $?;
	for my $s (@sessions) { eval { $s->{run}->kill_kill; }; }
	$node->stop('immediate', fail_ok => 1) if defined $node;
	$? = $status;
}
done_testing();
