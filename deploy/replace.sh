#!/usr/bin/env bash
# Replaces the processes of a service of docker-compose.yml, however many run, by those of today's image and settings:
# the old ones end when as many new ones are healthy. It may be repeated after it has failed or was stopped.
set -euo pipefail
service="${1:?the service: api or worker}"
cd "$(dirname "$(realpath "$0")")/.."
ids="$(docker compose ps --quiet "$service")"
[ -n "$ids" ] || { echo "$service: no process runs; docker compose up -d starts it" >&2; exit 1; }
read_rows='{{index .Config.Labels "com.docker.compose.config-hash"}}/{{.Image}} {{.State.Health.Status}} {{.Id}}'
# shellcheck disable=SC2086  # an id a word
rows="$(docker inspect --format "$read_rows" $ids)"
# Image and settings of which most processes are healthy: those that serve.
serving="$(awk '$2 == "healthy" { n[$1]++; if (n[$1] > most) { most = n[$1]; found = $1 } } END { print found }' <<< "$rows")"
[ -n "$serving" ] || { echo "$service: no process is healthy; see docker compose logs $service" >&2; exit 1; }
count="$(awk -v serving="$serving" '$1 == serving { n++ } END { print n }' <<< "$rows")"
all="$(wc -l <<< "$rows")"
# What a call before has started, and never became healthy.
for id in $(awk -v serving="$serving" '$1 != serving && $2 != "healthy" { print $3 }' <<< "$rows"); do
  docker rm --force "$id" > /dev/null
  all=$((all - 1))
done
docker compose up -d --no-deps --no-recreate --wait --scale "$service=$((all + count))" "$service"
# Without --no-recreate Compose ends those of another image or other settings, and with it the new ones.
docker compose up -d --no-deps --scale "$service=$count" "$service"
