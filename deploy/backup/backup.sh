#!/usr/bin/env bash
# Writes a physical backup of compose's Postgres into a folder: a whole file, or none and an exit code.
set -euo pipefail
folder="$(realpath "${1:?the folder for the backups}")"
file="$folder/countersign-$(date +%F).tar.gz"
cd "$(dirname "$0")/../.."
docker compose exec -T postgres pg_basebackup -U countersign --checkpoint=fast --wal-method=fetch -D - -Ft |
  gzip > "$file.part"
tar tzf "$file.part" backup_label > /dev/null
mv "$file.part" "$file"
