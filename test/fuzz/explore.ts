// `npm run test:fuzz`: fuzzes each target for some seconds. What reaches new branches is kept with `--keep`.
import { appendFileSync } from 'node:fs';
import { inspect } from 'node:util';
import { expect, it } from 'vitest';
import { keepInput } from './corpus.ts';
import { fuzz } from './fuzzer.ts';
import { TARGETS } from './targets.ts';

const seconds = Number(process.env.FUZZ_SECONDS);
const seed = Number(process.env.FUZZ_SEED ?? Date.now() % 2 ** 32);
const wanted = process.env.FUZZ_TARGET;
const targets = TARGETS.filter(({ name }) => wanted === undefined || name === wanted);

it('has targets', () => expect(targets, `no target is named ${wanted}`).not.toEqual([]));

it.each(targets)('$name', { timeout: (seconds + 60) * 1_000 }, async (target) => {
  const { executions, branches, found, broke } = await fuzz(target, { seconds, seed });
  const line = `${target.name}: seed ${seed}, ${executions} executions, ${branches} branches, ${found.length} new inputs`;
  appendFileSync(process.stdout.fd, `${line}\n`);
  if (process.env.FUZZ_KEEP !== undefined) for (const bytes of found) keepInput(target.name, 'found', bytes);
  if (broke === undefined) return;
  const path = keepInput(target.name, 'broke', broke.bytes);
  throw new Error(
    `${inspect(Buffer.from(broke.bytes).toString('latin1'))} breaks ${target.name}, kept as ${path}`,
    {
      cause: broke.error,
    },
  );
});
