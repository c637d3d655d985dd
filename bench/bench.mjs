// `npm run bench -- tokens` (or `challenges`): authentications a second of one API process, beside a floor in the same run.
// `npm run bench -- deliveries`: deliveries a second, from the publish call to the receiver; --rate 50 for their latency, --mode all;
// --receiver away: it answers 503 for 3 s; --receiver first: it refuses the first attempt of each delivery, with Retry-After: 1.
// `npm run bench -- challenge-expiry --rate 1000 --seconds 60`: what a minute of challenges costs Temporal; takes two minutes longer.
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
  },
});
const SCENARIOS = ['tokens', 'challenges', 'deliveries', 'challenge-expiry'];
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
if (scenario === 'deliveries') {
  const { measureDeliveries } = await import('./deliveries.mjs');
  process.stdout.write(`${describeDeliveries(await measureDeliveries(options))}\n`);
} else if (scenario === 'challenge-expiry') {
  const { measureChallengeExpiry } = await import('./challenge-expiry.mjs');
  process.stdout.write(
    `${describeChallenges(await measureChallengeExpiry({ ...options, rate: options.rate || 1_000 }))}\n`,
  );
} else {
  const { compare } = await import('./compare.mjs');
  const rows = await compare(options);
  process.stdout.write(
    `${scenario}, ${options.connections} connections, ${options.seconds} s × ${options.rounds} each\n`,
  );
  process.stdout.write(`${describe(rows)}\n`);
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
