// `npm run test:faults`: harms a whole stack by the schedule of a seed while it is loaded, and compares what the
// service did with a ledger of its own. CONTRIBUTING.md explains it.
import '../../scripts/require-node.mjs';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { prepare } from '../../scripts/prepare.mjs';

const HELP = `npm run test:faults -- [options]
  --seed <n>        of the schedule; any when absent, and printed
  --seeds <n>       so many runs, with seeds that follow each other (1)
  --minutes <n>     of load in each run (2)
  --faults <kinds>  only these, separated by commas
  --restore         Postgres is taken back to a copy after twice the minutes
  --restores <n>    so often Postgres is lost after the minutes, and restored to a minute; no other faults without --faults
  --deployed        with the Temporal server of docker-compose.yml, built by Go, and its store in Postgres
  --planted         instead: plants defects, one at a time, which must be found; --only <n>: this one
  --pace <ms>       between two requests of a client (120)
`;

const { values: given } = parseArgs({
  options: {
    seed: { type: 'string' },
    seeds: { type: 'string', default: '1' },
    minutes: { type: 'string', default: '2' },
    faults: { type: 'string' },
    restore: { type: 'boolean' },
    restores: { type: 'string', default: '0' },
    deployed: { type: 'boolean' },
    planted: { type: 'boolean' },
    only: { type: 'string' },
    pace: { type: 'string', default: '120' },
    help: { type: 'boolean' },
  },
});
/** A kill of a process has to meet the moment between the claim of a row and its attempt. */
const MOST_RUNS = 6;
const say = (line) => process.stderr.write(`${new Date().toISOString().slice(11, 19)} ${line}\n`);
const first = Number(given.seed ?? Math.floor(Math.random() * 1_000_000));

if (given.help) {
  process.stdout.write(HELP);
} else {
  await prepare({ build: true });
  if (given.planted) await findPlanted();
  else await runSeeds();
}

async function runSeeds() {
  const { runSeed } = await import('./driver/run.mjs');
  const { obtainDeployedTemporal } = await import('./driver/deployed-temporal.mjs');
  const { minutes, restore, restores } = given;
  const deployed = given.deployed ? await obtainDeployedTemporal({ say }) : undefined;
  const flags = `${restore ? ' --restore' : ''}${restores === '0' ? '' : ` --restores ${restores}`}${deployed ? ' --deployed' : ''}`;
  for (let seed = first; seed < first + Number(given.seeds); seed += 1) {
    const again = `--seed ${seed} --minutes ${minutes}${flags}`;
    say(`seed ${seed}; the same schedule again: npm run test:faults -- ${again}`);
    const { ledger, table } = await runSeed({
      ...{ seed, restore, deployed, say },
      seconds: Math.round(Number(minutes) * 60),
      pace: Number(given.pace),
      restores: Number(restores),
      main: resolve('dist/src/main.js'),
      kinds: given.faults?.split(','),
    });
    process.stdout.write(`${table}\n\n`);
    if (ledger.violations.length > 0) process.exitCode = 1;
  }
}

/** Short runs for each defect, until one finds it. A defect that none finds is a fault of the driver. */
async function findPlanted() {
  const { runSeed } = await import('./driver/run.mjs');
  const { DEFECTS, withDefect } = await import('./driver/planted.mjs');
  const { tally } = await import('./driver/check-deliveries.mjs');
  const chosen = Object.entries(DEFECTS).filter(
    (_, index) => given.only === undefined || Number(given.only) === index + 1,
  );
  for (const [name, defect] of chosen) {
    say(`planted: ${name}`);
    const { seed, violations } = await withDefect(defect, async (main) => {
      for (let seed = first; ; seed += 1) {
        const { faults: kinds, restores } = defect;
        const run = { main, say, seed, kinds, restores, seconds: 20, pace: 60, patience: 60 };
        const { violations } = (await runSeed(run)).ledger;
        if (violations.length > 0 || seed === first + MOST_RUNS - 1) return { seed, violations };
      }
    });
    const found = violations.length > 0;
    const rules = tally(violations.map(({ rule }) => rule));
    process.stdout.write(
      `${found ? 'found    ' : 'NOT FOUND'} ${name} (seeds ${first} to ${seed}): ${JSON.stringify(rules)}\n`,
    );
    if (!found) process.exitCode = 1;
  }
}
