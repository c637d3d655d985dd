#!/usr/bin/env bash
# Writes a physical backup of compose's Postgres into a folder: a whole file, or none and an exit code. Of the archived
# WAL it then removes what the oldest backup in the folder does not need.
set -euo pipefail
folder="$(realpath "${1:?the folder for the backups}")"
file="$folder/countersign-$(date +%F).tar.gz"
cd "$(dirname "$0")/../.."
docker compose exec -T postgres pg_basebackup -U countersign --checkpoint=fast --wal-method=fetch -D - -Ft |
  gzip > "$file.part"
tar tzf "$file.part" backup_label > /dev/null
mv "$file.part" "$file"
oldest="$(find "$folder" -maxdepth 1 -name 'countersign-*.tar.gz' | sort | head -n 1)"
first="$(tar xOzf "$oldest" backup_label | sed -n 's/^START WAL LOCATION: .* (file \(.*\))$/\1/p')"
docker compose exec -T postgres sh -euc '[ ! -d "$0" ] || pg_archivecleanup -x .gz "$0" "$1"' \
  /var/lib/postgresql/wal "${first:?no backup_label in $oldest}"
