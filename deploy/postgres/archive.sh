#!/bin/sh
# The archive_command of Postgres, with the path and the name of a file of its WAL: the file is kept, compressed and
# flushed with its name, in the folder ARCHIVE. One that is there with other bytes is refused.
set -eu
folder="${ARCHIVE:-/var/lib/postgresql/wal}"
kept="$folder/$2.gz"
mkdir -p "$folder"
if [ -f "$kept" ]; then
  gunzip -c "$kept" | cmp -s - "$1"
  exit
fi
gzip -1 -c "$1" > "$kept.part"
sync "$kept.part"
mv "$kept.part" "$kept"
sync "$folder"
