// `npm run bench -- tokens` (or `challenges`): authentications a second of one API process, beside a floor in the same run.
// `npm run bench -- deliveries`: deliveries a second, from the publish call to the receiver; --rate 50 for their latency, --mode all;
// --receiver away: it answers 503 for 3 s; --receiver first: it refuses the first attempt of each delivery, with Retry-After: 1.
// `npm run bench -- challenge-expiry --rate 1000 --seconds 60`: what a minute of challenges costs Temporal; takes two minutes longer.
// `npm run bench -- abuse`: what a quiet tenant waits while another one abuses each kind of route; takes two minutes.
// `npm run bench -- compare ../before . deliveries --rate 50 --rounds 3`: two clones in turn. --json prints figures for programs.
// Figures of one machine mean nothing elsewhere: read the ratios. Bounded in time; everything stays on loopback.
import { parseArgs } from 'node:util';
import '../scripts/require-node.mjs';
import { prepare } from '../scripts/prepare.mjs';

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: {
    seconds: { type: 'string', default: '4' },
    rounds: { type: 'string', default: '2' },
    connections: { type: 'string', default: '32' },
    subscriptions: { type: 'string', default: '0' },
    profile: { type: 'string' },
    mode: { type: 'string', default: 'retries' },
    rate: { type: 'string', default: '0' },
    workers: { type: 'string', default: '1' },
    endpoints: { type: 'string', default: '1' },
    receiver: { type: 'string', default: 'healthy' },
    json: { type: 'boolean', default: false },
  },
});
const SCENARIOS = ['tokens', 'challenges', 'deliveries', 'challenge-expiry', 'abuse'];
if (positionals[0] === 'compare') {
  await compareClones(positionals.slice(1, 3), positionals.slice(3));
  process.exit(0);
}
const [scenario = 'tokens'] = positionals;
if (!SCENARIOS.includes(scenario)) {
  process.stderr.write(`Say which: ${SCENARIOS.join(' or ')}.\n`);
  process.exit(2);
}
const options = {
  scenario,
  seconds: bounded(values.seconds, 1, 120),
  rounds: bounded(values.rounds, 1, 10),
  connections: bounded(values.connections, 1, 256),
  subscriptions: bounded(values.subscriptions, 0, 10),
  profile: values.profile,
  mode: oneOf(values.mode, ['retries', 'all']),
  rate: bounded(values.rate, 0, 10_000),
  workers: bounded(values.workers, 1, 4),
  endpoints: bounded(values.endpoints, 1, 100),
  receiver: oneOf(values.receiver, ['healthy', 'first', 'away']),
};

await prepare({ build: true });
const say = (figures, describe) =>
  process.stdout.write(`${values.json ? JSON.stringify(figures) : describe(figures)}\n`);
if (scenario === 'abuse') {
  const { measureAbuse, describeAbuse } = await import('./abuse.mjs');
  say(await measureAbuse(options), describeAbuse);
} else if (scenario === 'deliveries') {
  const { measureDeliveries } = await import('./deliveries.mjs');
  say(await measureDeliveries(options), describeDeliveries);
} else if (scenario === 'challenge-expiry') {
  const { measureChallengeExpiry } = await import('./challenge-expiry.mjs');
  say(await measureChallengeExpiry({ ...options, rate: options.rate || 1_000 }), describeChallenges);
} else {
  const { compare } = await import('./compare.mjs');
  say(await compare(options), describe);
}

/** Passes all other options on, but for `--rounds`, which counts the runs of each clone here. */
async function compareClones(folders, rest) {
  if (folders.length < 2 || rest.length === 0) {
    process.stderr.write('Say which: compare <folder> <folder> <scenario> [options].\n');
    process.exit(2);
  }
  const { alternate } = await import('./alternate.mjs');
  const { rounds, json, ...passed } = values;
  const words = Object.entries(passed).flatMap(([name, value]) =>
    value ? [`--${name}`, String(value)] : [],
  );
  const rows = await alternate(folders, [...rest, '--rounds', '1', ...words], bounded(rounds, 1, 10));
  if (json) process.stdout.write(`${JSON.stringify(rows)}\n`);
  else
    for (const {
      name,
      values: [before, after],
      ratio,
    } of rows)
      process.stdout.write(`${name.padEnd(24)} ${shown(before)} → ${shown(after)}  × ${ratio.toFixed(2)}\n`);
}

function shown(values) {
  return values
    .map((value) => value.toPrecision(3))
    .join(', ')
    .padEnd(36);
}

function oneOf(text, known) {
  if (known.includes(text)) return text;
  process.stderr.write(`${text} is none of ${known.join(', ')}.\n`);
  return process.exit(2);
}

function bounded(text, least, most) {
  const value = Number(text);
  if (Number.isInteger(value) && value >= least && value <= most) return value;
  process.stderr.write(`${text} is not a whole number from ${least} to ${most}.\n`);
  return process.exit(2);
}

function describe({ floor, service }) {
  const title = `${scenario}, ${options.connections} connections, ${options.seconds} s × ${options.rounds} each`;
  const line = (name, { rate, p50, p99, failures, cpu, postgres }) =>
    [
      name.padEnd(12),
      `${rate.toFixed(0)}/s`.padStart(9),
      `p50 ${p50.toFixed(1)} p99 ${p99.toFixed(1)} ms`.padStart(24),
      `CPU ms ${cpu.toFixed(3)} + ${postgres.toFixed(3)} Postgres`.padStart(32),
      `${failures} failed`.padStart(10),
    ].join('  ');
  const ratio = (name, of) => `${name} ${(of(service) / of(floor)).toFixed(2)}`;
  return [
    title,
    line('floor', floor),
    line('countersign', service),
    `ratio to the floor: ${ratio('rate', (row) => row.rate)}, ${ratio('process CPU', (row) => row.cpu)}, ${ratio('all CPU', (row) => row.cpu + row.postgres)}`,
  ].join('\n');
}

function describeDeliveries({
  published,
  publishing,
  received,
  rate,
  p50,
  p99,
  cpu,
  transactions,
  walBytes,
}) {
  const all = Object.values(cpu).reduce((sum, part) => sum + part, 0);
  const parts = Object.entries(cpu).map(([part, ms]) => `${part} ${ms.toFixed(2)}`);
  return [
    `deliveries, mode ${options.mode}, ${options.workers} worker(s), ${options.endpoints} endpoint(s), ${options.rate || 'as many as possible'}/s`,
    `${published} published in ${publishing.toFixed(1)} s, ${received} received, ${rate.toFixed(0)}/s`,
    `p50 ${p50.toFixed(1)} p99 ${p99.toFixed(1)} ms from publication to arrival`,
    `CPU ms a delivery: ${all.toFixed(2)} (${parts.join(', ')})`,
    `Postgres a delivery: ${transactions.toFixed(1)} transactions, ${(walBytes / 1024).toFixed(1)} KB of WAL`,
  ].join('\n');
}

function describeChallenges({ issued, used, failed, rate, p50, p99, seconds, ...rest }) {
  const { minutes, workflows, events, marked, audited, lines } = rest;
  return [
    `challenge-expiry, ${options.rate || 1_000}/s asked for, ${options.connections} connections, ${options.workers} worker(s)`,
    `${issued} challenges in ${seconds.toFixed(1)} s, ${rate.toFixed(0)}/s, p50 ${p50.toFixed(1)} p99 ${p99.toFixed(1)} ms; ${used} used, ${failed} failed`,
    `${marked} marked as expired, ${audited} in ${lines} lines of the audit log`,
    `${workflows.length} workflows of challengeExpiry in ${minutes} minutes (one for each, and the next), the longest with ${events} events`,
    ...workflows,
  ].join('\n');
}
