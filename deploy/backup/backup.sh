#!/usr/bin/env bash
# Writes a physical backup of compose's Postgres into a folder: a whole file, or none and an exit code. It then removes
# backups older than KEEP days (14), and the archived WAL that the oldest one left does not need. With --wal it copies
# the archived WAL into the folder instead. With COPY_TO, a destination of rsync, the folder is copied there.
set -euo pipefail
umask 077
export LC_ALL=C
folder="$(realpath "${1:?the folder for the backups}")"
cd "$(dirname "$(realpath "$0")")/../.."

copy() {
  [ -z "${COPY_TO:-}" ] || rsync -a "$folder/" "$COPY_TO/"
}
if [ "${2:-}" = --wal ]; then
  mkdir -p "$folder/wal"
  # A stream, because the archive may be in a volume; what is there already is not written again.
  docker compose exec -T postgres sh -euc 'cd "$ARCHIVE"; find . -maxdepth 1 -name "*.gz" -exec tar cf - {} +' |
    tar xif - -C "$folder/wal" --skip-old-files
  copy
  exit
fi

file="$folder/countersign-$(date +%F).tar.gz"
trap 'rm -f "$file.part"' EXIT
# A slot of psql's session keeps all WAL until the copy has ended, however much is written meanwhile; it goes with the
# session, so none is ever left to fill the disk.
docker compose exec -T postgres psql -U countersign -XqAt -v ON_ERROR_STOP=1 <<'END' | gzip > "$file.part"
SELECT FROM pg_create_physical_replication_slot('backup_' || pg_backend_pid(), true, true) \g /dev/null
\! pg_basebackup -U countersign --checkpoint=fast --wal-method=fetch -D - -Ft < /dev/null
\if :SHELL_ERROR
  DO $$ BEGIN RAISE 'pg_basebackup has failed'; END $$;
\endif
END
tar tzf "$file.part" backup_label > /dev/null
mv "$file.part" "$file"
find "$folder" -maxdepth 1 -name 'countersign-*.tar.gz' -mtime "+${KEEP:-14}" -delete
oldest="$(find "$folder" -maxdepth 1 -name 'countersign-*.tar.gz' | sort | head -n 1)"
first="$(tar xOzf "$oldest" backup_label | sed -n 's/^START WAL LOCATION: .* (file \(.*\))$/\1/p')"
docker compose exec -T postgres sh -euc '[ ! -d "$ARCHIVE" ] || pg_archivecleanup -x .gz "$ARCHIVE" "$0"' \
  "${first:?no backup_label in $oldest}"
for copied in "$folder"/wal/*.gz; do
  name="${copied##*/}"
  [[ ! $name =~ ^[0-9A-F]{24} || ! ${name:8:16} < ${first:8:16} ]] || rm "$copied"
done
copy
