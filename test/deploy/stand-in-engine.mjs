// Stands in for `docker` where deploy/replace.sh calls it: keeps containers of one service in the file that ENGINE names,
// and scales them as Compose 2.40 was seen to. It writes down the fewest healthy ones that served at any moment.
import { readFileSync, writeFileSync } from 'node:fs';

/**
 * @typedef {{ id: string, version: string, health: string }} Container
 * @type {{ containers: Container[], version: string, made: number, fewest: number, most: number, isBad?: boolean,
 *   isStoppedAt?: string }}
 */
const engine = JSON.parse(readFileSync(process.env.ENGINE ?? '', 'utf8'));
const words = process.argv.slice(2);
const isObsolete = ({ version }) => version !== engine.version;

/** Every change of the containers is a moment in which requests come. */
function change(containers) {
  engine.containers = containers;
  engine.fewest = Math.min(engine.fewest, containers.filter(({ health }) => health === 'healthy').length);
  engine.most = Math.max(engine.most, containers.length);
  writeFileSync(process.env.ENGINE ?? '', JSON.stringify(engine));
}

function add() {
  engine.made += 1;
  const health = engine.isBad ? 'unhealthy' : 'healthy';
  const made = { id: `c${engine.made}`, version: engine.version, health };
  change([...engine.containers, made]);
}

function scale(wanted, recreates) {
  // Obsolete ones end first, all in the same moment; those that stay and are obsolete are made anew, together.
  const sorted = recreates
    ? [...engine.containers].sort((a, b) => Number(isObsolete(a)) - Number(isObsolete(b)))
    : engine.containers;
  const kept = sorted.slice(0, wanted);
  const anew = recreates ? kept.filter(isObsolete).length : 0;
  change(recreates ? kept.filter((one) => !isObsolete(one)) : kept);
  for (let n = engine.containers.length; n < wanted; n += 1) add();
  return anew;
}

if (words[0] === 'inspect')
  for (const id of words.slice(3)) {
    const { version, health } = engine.containers.find((one) => one.id === id);
    process.stdout.write(`hash-${version}/image-${version} ${health} ${id}\n`);
  }
else if (words[0] === 'rm') change(engine.containers.filter(({ id }) => !words.includes(id)));
else if (words[1] === 'ps') process.stdout.write(engine.containers.map(({ id }) => `${id}\n`).join(''));
else {
  const wanted = Number(/=(\d+)$/.exec(words[words.indexOf('--scale') + 1] ?? '')?.[1]);
  scale(wanted, !words.includes('--no-recreate'));
  const isWell = engine.containers.every(({ health }) => health === 'healthy');
  if (words.includes('--wait') && !isWell) process.exit(1);
}
