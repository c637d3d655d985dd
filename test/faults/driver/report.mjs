// What a run shows: one table a seed, and what was violated.
import { group, tally } from './check-deliveries.mjs';
import { describePromotions } from './promotions.mjs';
import { describeRestores } from './restore.mjs';
import { describeUpgrades } from './upgrade.mjs';

/** Violations of one rule that are shown. */
const MOST_SHOWN = 5;

export function describeRun({
  seed,
  ledger,
  deliveries,
  recovery,
  linear,
  seconds,
  promotions,
  objectives,
  upgrades,
  restored,
}) {
  const publications = [...ledger.publications.values()];
  const carried = ledger.faults.filter(({ skipped, failed }) => !skipped && !failed);
  const rows = [
    ['seed, seconds', `${seed}, ${seconds}`],
    ['events', list(tally(publications.map(({ outcome }) => outcome)))],
    ['answers', list(ledger.answers)],
    ['deliveries', list(deliveries.deliveries)],
    ['attempts, duplicates', `${deliveries.attempts}, ${deliveries.duplicates}`],
    ['tokens, changes', `${ledger.tokens.size}, ${ledger.changes.size}`],
    ['faults', `${carried.length}: ${list(tally(carried.map(({ kind }) => kind)))}`],
    ['recovery', list(recovery)],
    ['linearizable', linear.skipped ? `skipped: ${linear.skipped}` : describeLinear(linear)],
    ['objectives', describeObjectives(objectives)],
    ['violations', String(ledger.violations.length)],
  ];
  const width = Math.max(...rows.map(([name]) => name.length));
  const table = rows.map(([name, value]) => `| ${name.padEnd(width)} | ${value}`);
  return [
    ...table,
    ...describeViolations(ledger.violations),
    ...describePromotions(promotions),
    ...describeUpgrades(upgrades),
    ...describeRestores(restored),
  ].join('\n');
}

function describeViolations(violations) {
  return [...group(violations, 'rule')].flatMap(([rule, all]) => [
    `✗ ${rule}: ${all.length}`,
    ...all.slice(0, MOST_SHOWN).map(({ detail }) => `    ${detail}`),
  ]);
}

const describeObjectives = (objectives) =>
  objectives
    .map(({ objective, good, total, share }) => `${objective} ${good} of ${total} (${percent(share)})`)
    .join(', ');

const percent = (share) => (share === null ? 'nothing' : `${(share * 100).toFixed(2)} %`);

const describeLinear = ({ objects, operations }) =>
  Object.keys(objects)
    .map((kind) => `${kind} ${objects[kind]} (${operations[kind]} operations)`)
    .join(', ');

const list = (counts) =>
  Object.entries(counts)
    .map(([name, count]) => `${name} ${count}`)
    .join(', ');
