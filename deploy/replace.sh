#!/usr/bin/env bash
# Replaces the processes of a service of docker-compose.yml, however many run, by those of today's image, settings and
# files, one after the other: one more starts, and when it is healthy, one of the former ones ends. So never fewer serve
# than before, and never more than one more lives. It may be repeated after it has failed or was stopped.
set -euo pipefail
service="${1:?the service: api or worker}"
cd "$(dirname "$(realpath "$0")")/.."
fail() { echo "$service: $1" >&2 && exit 1; }
# Those that have ended, or never began: Compose would start them in place of new ones.
ended="$(docker compose ps --all --quiet --status exited --status created "$service")"
# shellcheck disable=SC2086  # an id a word
[ -z "$ended" ] || docker rm $ended > /dev/null
ids="$(docker compose ps --quiet "$service")"
[ -n "$ids" ] || fail 'no process runs; docker compose up -d starts it'
# shellcheck disable=SC2086  # an id a word
rows="$(docker inspect --format '{{.State.Health.Status}} {{.Name}} {{.Id}}' $ids)"
grep -q '^healthy ' <<< "$rows" || fail "no process is healthy; see docker compose logs $service"
live="$(wc -l <<< "$rows")"
# The name of the one that ends last says how many there were: a call that goes on could not count them.
last="$(grep -e '-of-[0-9]* ' <<< "$rows" || grep '^healthy ' <<< "$rows" | head -n 1)"
count="$(sed -n 's/.*-of-\([0-9]*\) .*/\1/p' <<< "$last")"
if [ -z "$count" ]; then
  count="$live"
  read -r _ name id <<< "$last"
  docker rename "$id" "${name#/}-of-$count"
fi
# What is not healthy ends first.
others="$(grep -vxF "$last" <<< "$rows" | sort --key 1,1 --reverse || true)"
for id in $(printf '%s\n%s\n' "$others" "$last" | awk '{ print $3 }'); do
  if [ "$live" -le "$count" ]; then
    live=$((count + 1))
    docker compose up -d --no-deps --no-recreate --wait --scale "$service=$live" "$service"
  fi
  docker stop "$id" > /dev/null
  docker rm "$id" > /dev/null
  live=$((live - 1))
done
