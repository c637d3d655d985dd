// Stands in for `docker` where deploy/replace.sh calls it: keeps containers of one service in the file that ENGINE names,
// and scales them as Compose 2.40 was seen to. It writes down the fewest healthy ones that served at any moment.
import { readFileSync, writeFileSync } from 'node:fs';

/**
 * @typedef {{ id: string, name: string, version: string, health: string, hasEnded?: boolean }} Container
 * @type {{ containers: Container[], version: string, made: number, fewest: number, most: number, isBad?: boolean,
 *   breaksAt?: number, calls: number }}
 */
const engine = JSON.parse(readFileSync(process.env.ENGINE ?? '', 'utf8'));
const words = process.argv.slice(2);
const running = () => engine.containers.filter(({ hasEnded }) => !hasEnded);

/** Every change of the containers is a moment in which requests come. */
function change(containers) {
  engine.containers = containers;
  engine.fewest = Math.min(engine.fewest, running().filter(({ health }) => health === 'healthy').length);
  engine.most = Math.max(engine.most, running().length);
}

const update = (wanted, more) =>
  change(engine.containers.map((one) => (one.id === wanted ? { ...one, ...more } : one)));

function add() {
  engine.made += 1;
  const health = engine.isBad ? 'unhealthy' : 'healthy';
  const [id, name] = [`c${engine.made}`, `/one-api-${engine.made}`];
  change([...engine.containers, { id, name, version: engine.version, health }]);
}

/** Those that have ended start again, whatever they are; those that are too many or obsolete end together. */
function scale(wanted, recreates) {
  change(engine.containers.map(({ hasEnded: _, ...one }) => one));
  const isObsolete = ({ version }) => recreates && version !== engine.version;
  const sorted = [...engine.containers].sort((a, b) => Number(isObsolete(a)) - Number(isObsolete(b)));
  change(sorted.slice(0, wanted).filter((one) => !isObsolete(one)));
  while (engine.containers.length < wanted) add();
}

function call() {
  if (words[0] === 'inspect')
    for (const wanted of words.slice(3)) {
      const { id, name, health, version } = engine.containers.find((one) => one.id === wanted) ?? {};
      const said = { '.State.Health.Status': health, '.Name': name, '.Id': id, '.Image': version };
      process.stdout.write(`${words[2].replace(/\{\{(.+?)\}\}/g, (_, field) => said[field] ?? version)}\n`);
    }
  else if (words[0] === 'rename') update(words[1], { name: `/${words[2]}` });
  else if (words[0] === 'stop') update(words[1], { hasEnded: true });
  else if (words[0] === 'rm') change(engine.containers.filter(({ id }) => id !== words.at(-1)));
  else if (words[1] === 'ps') {
    const found = engine.containers.filter(({ hasEnded = false }) => hasEnded === words.includes('exited'));
    process.stdout.write(found.map(({ id }) => `${id}\n`).join(''));
  } else {
    scale(
      Number(/=(\d+)$/.exec(words[words.indexOf('--scale') + 1] ?? '')?.[1]),
      !words.includes('--no-recreate'),
    );
    const isWell = running().every(({ health }) => health === 'healthy');
    if (words.includes('--wait') && !isWell) process.exitCode = 1;
  }
}

// Where a test interrupts the program, the call has been made.
engine.calls += 1;
call();
if (engine.calls === engine.breaksAt) process.exitCode = 130;
writeFileSync(process.env.ENGINE ?? '', JSON.stringify(engine));
