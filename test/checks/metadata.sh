#!/bin/bash
# META.json is valid and of the same version as the control files and the install scripts
set -euo pipefail

version=$(sed -n "s/^default_version *= *'\([^']*\)'.*/\1/p" pbf.control)
[[ $version =~ ^[0-9]+\.[0-9]+\.[0-9]+$ ]] || { echo "pbf.control: default_version is '$version'"; exit 1; }
[ -f "pbf--$version.sql" ] || { echo "no install script pbf--$version.sql"; exit 1; }
[ -f "pbf_trgm--$version.sql" ] || { echo "no install script pbf_trgm--$version.sql"; exit 1; }
grep -q "^default_version = '$version'" pbf_trgm.control || { echo "pbf_trgm.control: another version"; exit 1; }
grep -q "^## \[$version\]" CHANGELOG.md || { echo "CHANGELOG.md has no section for $version"; exit 1; }

# The fields that https://pgxn.org/spec/ demands and we promise.
VERSION=$version perl -MJSON::PP -e '
	my $v = $ENV{VERSION};
	open(my $file, "<", "META.json") or die "META.json: $!\n";
	my $meta = decode_json(join("", <$file>));
	my @wrong;
	for my $key (qw(name version abstract maintainer license provides meta-spec)) {
		push @wrong, "no $key" unless $meta->{$key};
	}
	push @wrong, "name is $meta->{name}" unless $meta->{name} eq "pbf";
	push @wrong, "version is $meta->{version}, not $v" unless $meta->{version} eq $v;
	push @wrong, "meta-spec version" unless $meta->{"meta-spec"}{version} eq "1.0.0";
	push @wrong, "license" unless $meta->{license} eq "postgresql";
	push @wrong, "release_status" unless ($meta->{release_status} // "stable") =~ /^(stable|testing|unstable)$/;
	for my $name (sort keys %{ $meta->{provides} }) {
		my $p = $meta->{provides}{$name};
		push @wrong, "$name: version is $p->{version}, not $v" unless $p->{version} eq $v;
		push @wrong, "$name: no file $p->{file}" unless -f $p->{file};
		push @wrong, "$name: file is $p->{file}" unless $p->{file} eq "$name--$v.sql";
		push @wrong, "$name: no docfile $p->{docfile}" if $p->{docfile} && !-f $p->{docfile};
	}
	for my $phase (values %{ $meta->{prereqs} }) {
		for my $relation (values %$phase) {
			for (keys %$relation) {
				push @wrong, "version $relation->{$_} of $_" unless $relation->{$_} =~ /^(0|\d+\.\d+\.\d+)$/;
			}
		}
	}
	die join("", map { "META.json: $_\n" } @wrong) if @wrong;
'

installed=$(psql -XAtqc "SELECT extversion FROM pg_extension WHERE extname = 'pbf'")
[ "$installed" = "$version" ] || { echo "installed: $installed, pbf.control: $version"; exit 1; }
