// Figures as lines for a terminal.

export function requests(title, { floor, service, ratio }, { connections, seconds, rounds }) {
  const line = (name, { rate, p50, p99, failures, cpu, postgres }) =>
    [
      name.padEnd(12),
      `${rate.toFixed(0)}/s`.padStart(9),
      `p50 ${p50.toFixed(1)} p99 ${p99.toFixed(1)} ms`.padStart(24),
      `CPU ms ${cpu.toFixed(3)} + ${postgres.toFixed(3)} Postgres`.padStart(32),
      `${failures} failed`.padStart(10),
    ].join('  ');
  return [
    `${title}, ${connections} connections, ${seconds} s × ${rounds} each`,
    line('floor', floor),
    line('countersign', service),
    `ratio to the floor: rate ${two(ratio.rate)}, process CPU ${two(ratio.cpu)}, all CPU ${two(ratio.all)}`,
  ].join('\n');
}

export function deliveries({ floor, service, ratio }, { scenario, workers, endpoints, rate }) {
  const lines = [
    `deliveries, ${scenario}, ${workers} worker(s), ${endpoints} endpoint(s), ${rate || 'as many as possible'}/s`,
    ...window('countersign', service),
  ];
  if (service.transactions !== undefined)
    lines.push(
      `  Postgres a delivery: ${service.transactions.toFixed(1)} transactions, ${(service.walBytes / 1024).toFixed(1)} KB of WAL`,
    );
  if (floor !== undefined)
    lines.push(
      ...window('floor', floor),
      `ratio to the floor: rate ${two(ratio.rate)}, all CPU ${two(ratio.cpu)}`,
    );
  return lines.join('\n');
}

function window(name, { published, received, rate, p50, p99, publish, cpu }) {
  const { all, ...rest } = cpu;
  const parts = Object.entries(rest).map(([part, ms]) => `${part} ${two(ms)}`);
  return [
    `${name}: ${published} published, ${received} received, ${rate.toFixed(0)}/s`,
    `  p50 ${p50.toFixed(1)} p99 ${p99.toFixed(1)} ms from publication to arrival; publish call ${publish.p50.toFixed(1)}, ${publish.p99.toFixed(1)} ms`,
    `  CPU ms a delivery: ${two(all)} (${parts.join(', ')})`,
  ];
}

export function noisy({ alone, beside, noisy: other }, { deliveries: count }) {
  const line = (name, { published, received, p50, p99 }) =>
    `${name}: ${received} of ${published}, p50 ${p50.toFixed(1)} p99 ${p99.toFixed(1)} ms`;
  return [
    `deliveries, noisy: one a second beside ${count} for an endpoint that takes 5 s`,
    line('alone', alone),
    line('beside', beside),
    `of the neighbour ${other.received} of ${other.published} ended meanwhile`,
  ].join('\n');
}

export function crash({ published, open, lost, duplicates, attempts, restarted, last }) {
  return [
    `deliveries, crash: ${published} accepted, ${open} attempts under way when API and workers were killed`,
    `lost ${lost}, delivered twice ${duplicates}, ${attempts} attempts in all`,
    `the API was ready after ${restarted.toFixed(1)} s, the last delivery arrived after ${last.toFixed(1)} s`,
  ].join('\n');
}

export function challengeExpiry(figures, { rate: asked, connections, workers }) {
  const { issued, used, failed, rate, p50, p99, seconds } = figures;
  const { minutes, workflows, events, marked, audited, lines } = figures;
  return [
    `challenge-expiry, ${asked}/s asked for, ${connections} connections, ${workers} worker(s)`,
    `${issued} challenges in ${seconds.toFixed(1)} s, ${rate.toFixed(0)}/s, p50 ${p50.toFixed(1)} p99 ${p99.toFixed(1)} ms; ${used} used, ${failed} failed`,
    `${marked} marked as expired, ${audited} in ${lines} lines of the audit log`,
    `${workflows.length} workflows of challengeExpiry in ${minutes} minutes (one for each, and the next), the longest with ${events} events`,
    ...workflows,
  ].join('\n');
}

export function guard(figures) {
  return Object.entries(figures)
    .map(
      ([name, { ratios, most }]) =>
        `CPU of a ${name}, ratio to the floor: ${ratios.map(two).join(', ')}; at most ${two(most)}`,
    )
    .join('\n');
}

/**
 * A table in Markdown: a line for each figure, and what it is in each size; in brackets as a ratio to the first size.
 */
export function sizes({ sizes: all, spread, bytes }) {
  const figures = [
    ['tokens: CPU, ratio to the floor', (size) => size.tokens.ratio.all],
    ['tokens: ms of CPU', ({ tokens: { service } }) => service.cpu + service.postgres],
    ['tokens a second', (size) => size.tokens.service.rate],
    ['deliveries: CPU, ratio to the floor', (size) => size.deliveries.ratio.cpu],
    ['deliveries: ms of CPU (all)', (size) => size.deliveries.service.cpu.all],
    ['deliveries: ms of CPU (Postgres)', (size) => size.deliveries.service.cpu.postgres],
    ['deliveries a second', (size) => size.deliveries.service.rate],
    ['at 50/s: p50, ms', (size) => size.even.p50],
    ['at 50/s: p99, ms', (size) => size.even.p99],
    ['at 50/s: ms of CPU', (size) => size.even.cpu.all],
    ['at 50/s: ms of CPU (Postgres)', (size) => size.even.cpu.postgres],
    ['at 50/s: publish call p50, ms', (size) => size.even.publish.p50],
    ['WAL a delivery, KB', (size) => size.deliveries.service.walBytes / 1024],
  ];
  const row = (cells) => `| ${cells.join(' | ')} |`;
  const rows = figures.map(([name, of]) => {
    const values = all.map(of);
    return row([name, ...values.map((value) => `${three(value)} (${two(value / values[0])})`)]);
  });
  const disk = Object.entries(bytes).map(
    ([table, { rows: own, indexes }]) => `${table} ${own.toFixed(0)} + ${indexes.toFixed(0)}`,
  );
  return [
    row(['', ...all.map(({ title }) => title)]),
    row(['---', ...all.map(() => '---')]),
    ...rows,
    '',
    `bytes on disk a delivery, rows + indexes: ${disk.join(', ')}`,
    `tokens of all tenants in turn: ${spread.service.rate.toFixed(0)}/s, CPU ${two(spread.ratio.all)} of the floor, ${spread.service.failures} failed`,
  ].join('\n');
}

/** Median, least and most of each figure of several runs. */
export function runs(title, figures) {
  const width = Math.max(...Object.keys(figures).map((name) => name.length));
  const rows = Object.entries(figures).map(
    ([name, { median, least, most }]) =>
      `  ${name.padEnd(width)}  ${three(median).padStart(8)}  (${three(least)}–${three(most)})`,
  );
  return [title, ...rows].join('\n');
}

/** Two sides of each figure, and the ratio of the second to the first. */
export function comparison(rows) {
  const shown = (values) => values.map(three).join(', ').padEnd(36);
  return rows
    .map(
      ({ name, values: [before, after], ratio }) =>
        `${name.padEnd(28)} ${shown(before)} → ${shown(after)}  × ${two(ratio)}`,
    )
    .join('\n');
}

const two = (value) => value.toFixed(2);
const three = (value) => String(Number(value.toPrecision(3)));
