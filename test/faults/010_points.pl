# A fault at every point where one can happen (points.c): the server crashes after each WAL record of growth, rebuild and build;
# a query is cancelled there; another session works while it waits there; allocations fail; pages cannot be read, or the query
# is cancelled while one is read. Afterwards the index is checked, every row is found, and the statement succeeds.
#
# PBF_FAULT_POINTS: at most so many points of each case (default 10; a long run wants 1000: all of them).

use strict;
use warnings;

use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', <<'CONF');
wal_consistency_checking = all
autovacuum = off
jit = off
max_wal_size = 4GB
shared_buffers = 64MB
max_parallel_maintenance_workers = 0
restart_after_crash = on
log_min_messages = debug1
CONF
$node->start;

# --- what is there before: one database each, copied for each fault --------------------------------------------------

# A row a page, 120 pages a slab.
my $table = <<'SQL';
CREATE EXTENSION pbf;
CREATE FUNCTION fault_count() RETURNS int AS 'pbf' LANGUAGE c VOLATILE;
CREATE TABLE t (id int, k int, w text, pad text);
ALTER TABLE t ALTER pad SET STORAGE PLAIN, ALTER w SET STORAGE PLAIN;
CREATE INDEX t_k ON t USING pbfidx (k, w) WITH (pages_per_range = 1);
CREATE FUNCTION rows(a int, b int) RETURNS SETOF t LANGUAGE sql AS $$SELECT i, i * 17, md5(i::text), repeat('x', 5000) FROM generate_series(a, b) i$$;
SQL

sub make_database
{
	my ($name, $rows) = @_;
	$node->safe_psql('postgres', "CREATE DATABASE $name");
	$node->safe_psql($name, "$table INSERT INTO t SELECT * FROM rows(1, $rows)");
	return;
}

make_database('small', 100);
make_database('used', 230);
$node->safe_psql('used', 'UPDATE t SET k = -k WHERE id % 2 = 0; DELETE FROM t WHERE id % 3 = 0');

# Columns with one key and with several: a slab of each kind for the same pages.
make_database('groups', 100);
$node->safe_psql('groups', 'DROP INDEX t_k; CREATE INDEX t_k ON t USING pbfidx (k, (ARRAY[w, id::text]), w) WITH (pages_per_range = 1)');

# Interrupted rebuilds, which are gone on with.
make_database('begun', 230);
my ($crashed) = $node->psql('begun', "LOAD 'pbf'; SET fault.kind = 'wal'; SET fault.action = 'cancel'; SET fault.at = 4; SELECT pbfidx_resummarize('t_k')");
isnt($crashed, 0, 'a rebuild was interrupted');

# 60 slabs: VACUUM makes the upper. And where it is there it is made anew.
make_database('upper', 7230);
$node->safe_psql('postgres', 'CREATE DATABASE complete TEMPLATE upper');
$node->safe_psql('complete', 'VACUUM (INDEX_CLEANUP on) t');
is($node->safe_psql('complete', "SELECT upper_slabs FROM pbfidx_stats('t_k')"), 1, 'there is an upper');

# An index that a sample says nothing about: every tenth page of a slab has one key, the others have 600. The rebuild drops
# what it has begun and makes it anew.
make_database('uneven', 230);
$node->safe_psql('uneven', <<'SQL');
CREATE FUNCTION keys(id int) RETURNS int[] LANGUAGE sql IMMUTABLE AS
	$$SELECT CASE WHEN id % 10 = 1 THEN ARRAY[id] ELSE (SELECT array_agg(i) FROM generate_series(id * 1000, id * 1000 + 600) i) END$$;
CREATE INDEX t_u ON t USING pbfidx (keys(id)) WITH (pages_per_range = 1);
SQL

# It continues just before region 2, which needs a directory page of its own: see renew().
make_database('region', 10);

# --- a statement with a fault ------------------------------------------------------------------------------------------

sub renew
{
	my ($template) = @_;
	$node->safe_psql('postgres', "DROP DATABASE IF EXISTS work; CREATE DATABASE work TEMPLATE $template STRATEGY file_copy");
	return if $template ne 'region';
	# Nothing but a hole in the file between here and there.
	my $file = $node->data_dir . '/' . $node->safe_psql('work', "SELECT pg_relation_filepath('t')");
	truncate($file, 8192 * (2 * 14400 - 3)) or die "$file: $!";
	return;
}

sub faulty
{
	my ($kind, $action, $at, $statement) = @_;
	return $node->psql('work', "LOAD 'pbf'; SET fault.kind = '$kind'; SET fault.action = '$action'; SET fault.at = $at;\n$statement", timeout => 600);
}

# How many points there are in a statement.
sub points
{
	my ($template, $kind, $statement) = @_;
	renew($template);
	return $node->safe_psql('work', "LOAD 'pbf'; SET fault.kind = '$kind'; SET fault.at = 2000000000;\n\\o /dev/null\n$statement;\n\\o\nSELECT fault_count()");
}

sub wait_for_recovery
{
	for (1 .. 600)
	{
		my ($rc) = $node->psql('work', 'SELECT 1');
		return 1 if defined $rc && $rc == 0;
		usleep(100_000);
	}
	return 0;
}

# What a check of the structure and of all rows finds; '' if nothing.
sub damage
{
	my ($rc, $out, $err) = $node->psql('work', <<'SQL', timeout => 600);
SET lock_timeout = '500ms';
SELECT pbfidx_check(indexrelid) FROM pg_index i JOIN pg_class c ON c.oid = indexrelid JOIN pg_am a ON a.oid = c.relam AND amname = 'pbfidx' WHERE indisvalid;
SQL
	return $err;
}

# How a row is looked for in each index, by its number of columns.
my %conditions = (
	't_k|2' => [ 'k = s.k', 'w = s.w' ], 't_k|3' => [ 'k = s.k', 'w = s.w', 'ARRAY[w, id::text] @> ARRAY[s.w]' ], 't_u|1' => ['keys(id) @> keys(s.id)'],
	'again|1' => ['w = s.w'], 'again|2' => [ 'w = s.w', 'ARRAY[w, id::text] @> ARRAY[s.w]' ]);

# Rows that the sequential scan sees and one of the indexes does not find; '' if there are none. Of long tables some: damage() asks
# for all.
sub lost
{
	my ($lost, $found) = ('', 0);
	for my $index (split /\n/, $node->safe_psql('work', "SELECT indexrelid::regclass, indnatts FROM pg_index WHERE indrelid = 't'::regclass AND indisvalid ORDER BY 1"))
	{
		my ($name) = split /\|/, $index;
		my @conditions = @{ $conditions{$index} or die "nobody knows how to look in $index" };
		my $looks = join ', ', map { "LATERAL (SELECT count(*) AS n FROM t WHERE $conditions[$_] AND id + 0 = s.id) a$_" } 0 .. $#conditions;
		my $wrong = join ' OR ', map { "a$_.n <> 1" } 0 .. $#conditions;
		my $query = "SELECT count(*) || ' of ' || (SELECT count(*) > 0 FROM t) FROM (SELECT * FROM t WHERE id % 8 = 0 OR id > 10000 OR pg_relation_size('t') < 8000000 OFFSET 0) s, $looks WHERE $wrong";
		my ($rc, $out, $err) = $node->psql('work', <<"SQL", timeout => 600);
BEGIN;
UPDATE pg_index SET indisvalid = false WHERE indrelid = 't'::regclass AND indexrelid <> '$name'::regclass;
SET LOCAL enable_seqscan = off; SET LOCAL enable_indexscan = off;
$query; EXPLAIN $query;
ROLLBACK;
SQL
		my $looked = () = $out =~ /Bitmap Index Scan on $name\b.*\n +Index Cond/g;
		$found += $name eq 't_k';
		$lost .= "lost by $name: $out$err" if $err || $out !~ /\A0 of true\n/ || $looked != @conditions;
	}
	return $found ? $lost : "there is no t_k: $lost";
}

sub wrong { return damage() . lost(); }

# Every point, or about `limit` of them, the first ones all.
sub choose
{
	my ($n, $limit) = @_;
	return 1 .. $n if $n <= $limit;
	my %chosen = map { $_ => 1 } 1 .. $limit / 2, map { int($limit / 2 + ($n - $limit / 2) * $_ / ($limit / 2)) } 1 .. $limit / 2;
	return sort { $a <=> $b } keys %chosen;
}

my %statement = (
	insert => 'INSERT INTO t SELECT * FROM rows(10001, 10150)',
	'insert into a new region' => 'INSERT INTO t SELECT * FROM rows(10001, 10010)',
	rebuild => "SELECT pbfidx_resummarize('t_k')",
	'rebuild at the end' => "SELECT pbfidx_resummarize('t_k', 7200)",
	'rebuild twice' => "SELECT pbfidx_resummarize('t_u')",
	vacuum => 'VACUUM (INDEX_CLEANUP on) t',
	'parallel build' => "SET max_parallel_maintenance_workers = 2; SET min_parallel_table_scan_size = 0; CREATE INDEX again ON t USING pbfidx (w, (ARRAY[w, id::text])) WITH (pages_per_range = 1)",
	'reindex concurrently' => 'REINDEX INDEX CONCURRENTLY t_k',
	build => 'CREATE INDEX again ON t USING pbfidx (w) WITH (pages_per_range = 1)',
	reindex => 'REINDEX INDEX t_k',
	scan => "SET enable_seqscan = off; SELECT count(*) FROM t WHERE k = ANY (ARRAY(SELECT 17 * generate_series(1, 40))) AND w IS NOT NULL",
	inspect => "SELECT pbfidx_stats('t_k'), pbfidx_check('t_k'), (SELECT count(*) FROM pbfidx_slabs('t_k')), pbfidx_estimate('t', '{k,w}')");

# Where it starts from and what is done.
my @cases = (
	[ 'small', 'insert' ], [ 'used', 'rebuild' ], [ 'begun', 'rebuild' ], [ 'upper', 'vacuum' ], [ 'complete', 'rebuild at the end' ], [ 'region', 'insert into a new region' ],
	[ 'groups', 'insert' ], [ 'used', 'build' ], [ 'used', 'parallel build' ], [ 'used', 'reindex' ], [ 'used', 'reindex concurrently' ],
	[ 'uneven', 'rebuild twice' ]);

my $limit = $ENV{PBF_FAULT_POINTS} || 10;

# --- crash and cancel after each record --------------------------------------------------------------------------------

for my $case (@cases)
{
	my ($template, $name) = @$case;
	my $n = points($template, 'wal', $statement{$name});
	cmp_ok($n, '>', 1, "$template, $name: $n records");
	for my $action ('crash', 'cancel')
	{
		my (@wrong, $hit);
		my @chosen = choose($n, $limit);
		for my $at (@chosen)
		{
			renew($template);
			$node->safe_psql('work', 'CHECKPOINT') if $at % 2;
			my ($rc) = faulty('wal', $action, $at, $statement{$name});
			$hit += $rc != 0;
			push @wrong, "after $at: no recovery" if !wait_for_recovery();
			my $what = wrong();
			push @wrong, "after $at: $what" if $what;
			# What goes on with an interrupted rebuild is interrupted.
			if ($name =~ /rebuild|vacuum/)
			{
				faulty('wal', $action, 1 + $at % 3, $statement{$name});
				push @wrong, "after $at and again: no recovery" if !wait_for_recovery();
				$what = wrong();
				push @wrong, "after $at and again: $what" if $what;
			}
			($rc, undef, my $err) = $node->psql('work', $statement{$name});
			$what = $rc ? $err : wrong();
			push @wrong, "after $at, once more: $what" if $what;
		}
		is("@wrong", '', "$template, $name: $action after each record");
		# A worker may do the work of the leader, who was counted.
		if ($name =~ /parallel/) { cmp_ok($hit, '>', 0, "$template, $name: it did $action"); }
		else { is($hit, scalar @chosen, "$template, $name: it did $action each time"); }
	}
}

# --- another session, while one waits after each record ----------------------------------------------------------------

sub wait_until_paused
{
	my ($pid) = @_;
	for (1 .. 3000)
	{
		return 1 if $node->safe_psql('work', "SELECT count(*) FROM pg_stat_activity WHERE pid = $pid AND wait_event_type = 'Lock' AND wait_event = 'advisory'");
		return 0 if $node->safe_psql('work', "SELECT count(*) FROM pg_stat_activity WHERE pid = $pid AND state = 'active'") eq '0';
		usleep(20_000);
	}
	return 0;
}

for my $case ([ 'used', 'rebuild' ], [ 'begun', 'rebuild' ], [ 'uneven', 'rebuild twice' ], [ 'upper', 'vacuum' ], [ 'groups', 'insert' ], [ 'region', 'insert into a new region' ])
{
	my ($template, $name) = @$case;
	my (@wrong, $paused);
	for my $at (choose(points($template, 'wal', $statement{$name}), $limit))
	{
		renew($template);
		my $holder = $node->background_psql('work');
		$holder->query_safe('SELECT pg_advisory_lock(1)');
		my $waiter = $node->background_psql('work', on_error_stop => 0);
		my $pid = $waiter->query_safe('SELECT pg_backend_pid()');
		$waiter->query_safe("LOAD 'pbf'; SET fault.kind = 'wal'; SET fault.action = 'pause'; SET fault.at = $at");
		$waiter->query_until(qr/go/, "\\echo go\n$statement{$name};\n");
		$paused += wait_until_paused($pid);
		# Who grows keeps others from growing, and from a check of the structure: that is right.
		my $what = damage();
		push @wrong, "in the pause after $at: $what" if $what && $what !~ /lock timeout/;
		$what = lost();
		push @wrong, "in the pause after $at: $what" if $what;
		for my $change (
			"UPDATE t SET k = k + 1, w = w || 'x' WHERE id % 7 = 0", 'DELETE FROM t WHERE id % 5 = 0',
			"BEGIN; UPDATE t SET w = w || 'y'; ROLLBACK", 'VACUUM (SKIP_LOCKED) t', 'INSERT INTO t SELECT * FROM rows(20001, 20010)')
		{
			my ($rc, $out, $err) = $node->psql('work', "SET lock_timeout = '500ms'; $change");
			push @wrong, "in the pause after $at, $change: $err" if $rc && $err !~ /lock timeout/;
		}
		$what = lost();
		push @wrong, "in the pause after $at, changed: $what" if $what;
		$holder->quit;
		$waiter->quit;
		$what = wrong();
		push @wrong, "paused after $at: $what" if $what;
	}
	is("@wrong", '', "$template, $name: others change the table after each record");
	cmp_ok($paused, '>', 2, "$template, $name: it waited $paused times");
}

# --- memory and reading -------------------------------------------------------------------------------------------------

for my $case (@cases, [ 'used', 'scan' ], [ 'upper', 'scan' ], [ 'used', 'inspect' ])
{
	my ($template, $name) = @$case;
	for my $fault ('memory fails', 'read fails', 'read is cancelled')
	{
		my ($kind) = split / /, $fault;
		my $action = $fault =~ /cancelled/ ? 'cancel' : 'crash';
		my $n = points($template, $kind, $statement{$name});
		my (@wrong, $hit);
		renew($template);
		for my $at (choose($n, $action eq 'cancel' ? $limit / 2 : 2 * $limit))
		{
			my ($rc, $out, $err) = faulty($kind, $action, $at, $statement{$name});
			$hit += $err =~ ($action eq 'cancel' ? qr/canceling statement/ : qr/out of memory|could not read block/);
			push @wrong, "at $at: $err" if $err =~ /corrupted|PANIC|terminat|unexpected/;
			# VACUUM goes on without the maintenance that failed.
			my $what = $rc == 0 || $at % 4 == 0 ? wrong() : '';
			push @wrong, "at $at: $what" if $what;
			# What did not fail is done; and statements that were not finished leave their pages behind.
			renew($template) if $rc == 0 || $at % 10 == 0;
		}
		my ($rc, $out, $err) = $node->psql('work', $statement{$name});
		my $what = $rc ? $err : wrong();
		push @wrong, "after all: $what" if $what;
		is("@wrong", '', "$template, $name: $fault, $n points");
		cmp_ok($hit, '>', 0, "$template, $name: it did so");
	}
}

like(slurp_file($node->logfile), qr/starting background worker process "parallel worker/, 'a build was parallel');
unlike(slurp_file($node->logfile), qr/PANIC|TRAP|inconsistent page|signal 11|signal 6/, 'nothing worse in the log');

END
{
	my $status = $?;
	$node->stop('immediate', fail_ok => 1) if defined $node;
	$? = $status;
}
done_testing();
