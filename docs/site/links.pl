#!/usr/bin/perl
# Links and anchors of the documentation: checks them, and prepares pages and headers for Doxygen. docs/site/links.pl --help
use strict;
use warnings;
use Cwd qw(abs_path);
use File::Basename qw(dirname);

my $root = $ARGV[0] && $ARGV[0] eq 'check' && @ARGV == 2 ? abs_path(pop @ARGV) : dirname(dirname(dirname(abs_path($0))));
chdir $root or die "links.pl: cannot enter $root: $!\n";

my $usage = <<'END';
Usage: docs/site/links.pl COMMAND
  check [FOLDER]     fails where a relative link, an anchor, or the name of a source file in a page leads nowhere; FOLDER: not the repository
  check-site FOLDER  the same for links within generated HTML
  page FILE          prints a page as Doxygen wants it: anchors of headings, links to pages, files and routines
  header FILE        prints a public header with its first comment marked as the comment of the file
  files              lists the files that pages link to and that are not pages themselves
END

my @problems;
sub problem { push @problems, $_[0] }

sub read_text {
  my ($path) = @_;
  open my $file, '<', $path or die "links.pl: cannot read $path: $!\n";
  local $/;
  my $text = <$file>;
  return $text // '';
}

# Files below a folder, as paths relative to the root. Hidden folders and builds are left out.
sub files_below {
  my ($folder) = @_;
  my @found;
  opendir my $handle, $folder or die "links.pl: cannot read $folder: $!\n";
  for my $name (sort readdir $handle) {
    next if $name =~ /^\.|^build/;
    my $path = $folder eq '.' ? $name : "$folder/$name";
    if (-d $path && !-l $path) { push @found, files_below($path) }
    else { push @found, $path }
  }
  return @found;
}

my @pages = grep { -f } glob('*.md docs/*.md docs/*/*.md examples/*.md');
my %is_page = map { $_ => 1 } @pages;

# docs/kernels/products.md -> kernels_products; README.md is the first page.
sub page_id {
  my ($path) = @_;
  return 'index' if $path eq 'README.md';
  $path =~ s{^docs/|\.md$}{}g;
  return lc $path =~ tr{/}{_}r;
}

# The file that a link of a page names, relative to the root; undef for other sites.
sub resolve {
  my ($page, $target) = @_;
  return undef if $target =~ /^[a-z]+:/;
  return $page if $target eq '';
  my @parts = $target =~ m{^/} ? () : split m{/}, dirname($page);
  for (split m{/}, $target) {
    if ($_ eq '..') { @parts && $parts[-1] ne '.' ? pop @parts : return "../$target" }
    elsif ($_ ne '' && $_ ne '.') { push @parts, $_ }
  }
  shift @parts while @parts && $parts[0] eq '.';
  return join '/', @parts;
}

# The anchor that GitHub gives to a heading.
sub slug {
  my ($heading, $seen) = @_;
  $heading =~ s/\[([^\]]*)\]\([^)]*\)/$1/g;
  my $slug = lc $heading;
  $slug =~ s/[^a-z0-9 _-]//g;
  $slug =~ tr/ /-/;
  my $again = $seen->{$slug}++;
  return $again ? "$slug-$again" : $slug;
}

# Calls heading(marks, text, slug) for headings, line(text) for other lines outside of fenced code and code(text) for those within. Returns what
# these return, joined.
sub for_lines {
  my ($path, %call) = @_;
  my ($fence, %seen, @out) = ('');
  for my $line (split /^/m, read_text($path)) {
    my $is_fence = $line =~ /^\s*(```+|~~~+)/;
    if ($fence ne '') {
      $fence = '' if $is_fence && index($line =~ s/^\s+//r, $fence) == 0;
      push @out, $call{code} ? $call{code}->($line) : ();
    } elsif ($is_fence) {
      $fence = $1;
      push @out, $call{code} ? $call{code}->($line) : ();
    } elsif ($line =~ /^(#{1,6})\s+(.*?)\s*#*\s*$/) {
      my ($marks, $text) = ($1, $2);
      push @out, $call{heading} ? $call{heading}->($marks, $text, slug($text, \%seen)) : ();
    } else {
      push @out, $call{line} ? $call{line}->($line) : ();
    }
  }
  return join '', @out;
}

my %anchors_of;
sub anchors {
  my ($page) = @_;
  return $anchors_of{$page} //= do {
    my %anchors;
    for_lines($page, heading => sub { $anchors{$_[2]} = 1; '' });
    \%anchors;
  };
}

# Links of a line: [text](target) and ![text](target), a title behind the target left out. Code spans have none.
my $link = qr/(!?)\[((?:[^\[\]`]|`[^`]*`)*)\]\(\s*([^\s()]+)(?:\s+"[^"]*")?\s*\)/;
my $code_span = qr/(`+)(?:(?!\1).)+?\1(?!`)/;

sub check_page {
  my ($page, $all_files) = @_;
  my $number = 0;
  my $check = sub {
    my ($line) = @_;
    my $links = $line =~ s/$code_span(?!\]\()/ /gr;
    while ($links =~ /$link/g) {
      my ($path, $anchor) = $3 =~ /^([^#]*)(?:#(.*))?$/;
      my $file = resolve($page, $path) // next;
      if (!-e $file) { problem("$page links to $path, which is not there") }
      elsif (defined $anchor && $file =~ /\.md$/ && !anchors($file)->{$anchor}) { problem("$page links to $path#$anchor; $file has no such heading") }
    }
    return '' if !$is_page{$page} || $page eq 'CHANGELOG.md';
    # Sources are named by the end of their path: `gemm_pipelined.cuh`, `gemm/pipelined/gemm_pipelined.cuh`.
    while ($line =~ /`([\w\/.]+\.(?:cuh|hpp|cpp|h))`/g) {
      problem("$page names $1, which is not there") unless $all_files->{$1};
    }
    return '';
  };
  for_lines($page, line => $check, heading => sub { $check->($_[1]) });
}

sub check {
  my @all = files_below('.');
  my %names;
  for my $path (@all) {
    my $end = $path;
    do { $names{$end} = 1 } while $end =~ s{^[^/]*/}{};
  }
  my @markdown = grep { /\.md$/ } @all;
  check_page($_, \%names) for @markdown;
  # Comments name pages by their path from the root.
  for my $source (grep { m{^(?:src|include|cli|bench|tests|tools|examples|cmake)/} && !m{^bench/results/} && -T } @all) {
    my $text = read_text($source);
    while ($text =~ m{\b(docs/[\w/]+\.md)\b}g) { problem("$source names $1, which is not there") unless -e $1 }
  }
  die "links.pl: found no page in $root\n" unless @pages;
  printf "%d Markdown files, %d of them pages\n", scalar @markdown, scalar @pages;
}

sub check_site {
  my ($folder) = @_;
  my (%ids, %links);
  for my $path (glob("$folder/*.html")) {
    my $html = read_text($path);
    my $name = $path =~ s{.*/}{}r;
    $ids{$name}{$_} = 1 for $html =~ /\b(?:id|name)="([^"]+)"/g;
    $html =~ s{<script.*?</script>}{}gs;
    $links{$name}{$_} = 1 for $html =~ /\b(?:href|src)="([^"]+)"/g;
  }
  die "links.pl: $folder has no index.html\n" unless $ids{'index.html'};
  my $count = 0;
  for my $name (sort keys %links) {
    for my $target (sort keys %{$links{$name}}) {
      next if $target =~ /^(?:[a-z]+:|#$)/;
      $count++;
      my ($file, $anchor) = $target =~ /^([^#]*)(?:#(.*))?$/;
      $file = $name if $file eq '';
      if (!-e "$folder/$file") { problem("$name links to $file, which is not there") }
      elsif (defined $anchor && $anchor ne '' && $ids{$file} && !$ids{$file}{$anchor}) { problem("$name links to $target, an anchor that is not there") }
    }
  }
  printf "%d links in %d pages of the site\n", $count, scalar keys %links;
}

# Routines and other functions of the public headers, by name; those of the C interface have the prefix myriad_.
sub functions {
  my %functions;
  for my $header (glob 'include/myriad/*.hpp') {
    my $text = read_text($header);
    $functions{$1} = "myriad::$1" while $text =~ /^(?:MYRIAD_API [^;{()]*?|void )\b([a-z_0-9]+)\(/gm;
  }
  my $text = read_text('include/myriad/myriad.h');
  $functions{$1} = $1 while $text =~ /MYRIAD_API [^;{()]*?\b(myriad_[a-z_0-9]+)\(/g;
  return \%functions;
}

sub print_page {
  my ($page) = @_;
  $page = abs_path($page) =~ s{^\Q$root\E/}{}r;
  my $id = page_id($page);
  my $functions = functions();
  my $rewrite = sub {
    my ($line) = @_;
    my @kept;
    my $keep = sub { push @kept, $_[0]; "\x01$#kept\x02" };
    $line =~ s{$link}{
      my ($image, $text, $target) = ($1, $2, $3);
      my ($path, $anchor) = $target =~ /^([^#]*)(?:#(.*))?$/;
      my $file = resolve($page, $path);
      my $plain = $text =~ tr/`//dr;
      $keep->(!defined $file ? ($image ? qq(<img src="$target" alt="$plain"/>) : "[$text]($target)")
        : $image ? qq(<img src="files/$file" alt="$plain"/>)
        : $is_page{$file} && !defined $anchor && dirname($file) eq $page =~ s/\.md$//r ? qq(\@subpage ) . page_id($file) . qq( "$plain")
        : $is_page{$file} ? qq(\@ref ) . page_id($file) . (defined $anchor ? "_$anchor" : '') . qq( "$plain")
        : -d $file ? $text
        : qq(<a href="files/$file">$plain</a>));
    }gex;
    # Routines and public headers become links. The words of other code spans, and @ and \ in them, are left alone by Doxygen.
    $line =~ s{`([a-z_0-9]+)`}{$functions->{$1} ? $keep->(qq(<code>\@ref $functions->{$1} "$1"</code>)) : "`$1`"}ge;
    $line =~ s{`([a-z0-9]+\.hpp)`}{-e "include/myriad/$1" ? $keep->(qq(<code>\@ref $1 "$1"</code>)) : "`$1`"}ge;
    1 while $line =~ s/\x01(\d+)\x02/$kept[$1]/g;
    return $line;
  };
  my $first = 1;
  print for_lines($page,
    code => sub { $_[0] },
    line => $rewrite,
    heading => sub {
      my ($marks, $text, $slug) = @_;
      my $anchor = $first ? ($id eq 'index' ? 'mainpage' : $id) : "${id}_$slug";
      $first = 0;
      return "$marks $text {#$anchor}\n";
    });
}

sub print_header {
  my ($header) = @_;
  my $text = read_text($header);
  # On the line before the first comment, so that line numbers stay.
  $text =~ s{^(?:#pragma once|#define MYRIAD_MYRIAD_H)\n(?=///)}{/// \@file\n}m;
  print $text;
}

sub list_files {
  my %files;
  for my $page (@pages) {
    for_lines($page, line => sub {
      my ($line) = @_;
      while ($line =~ /$link/g) {
        my $file = resolve($page, $3 =~ s/#.*//r);
        $files{$file} = 1 if defined $file && -f $file && !$is_page{$file};
      }
      return '';
    });
  }
  print "$_\n" for sort keys %files;
}

my ($command, @arguments) = @ARGV;
$command //= '';
if ($command eq '--help') { print $usage }
elsif ($command eq 'check' && !@arguments) { check() }
elsif ($command eq 'check-site' && @arguments == 1) { check_site($arguments[0]) }
elsif ($command eq 'page' && @arguments == 1) { print_page($arguments[0]) }
elsif ($command eq 'header' && @arguments == 1) { print_header($arguments[0]) }
elsif ($command eq 'files' && !@arguments) { list_files() }
else { die "links.pl: unknown command '@ARGV'\n$usage" }

if (@problems) {
  print STDERR "$_\n" for @problems;
  printf STDERR "links.pl: %d dead link%s\n", scalar @problems, @problems == 1 ? '' : 's';
  exit 1;
}
