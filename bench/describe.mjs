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

export function soak({ minutes, growth }) {
  const last = minutes.at(-1);
  const parts = Object.entries(growth).map(
    ([part, ratio]) => `${part} ${last.memory[part]} MiB, × ${two(ratio)}`,
  );
  return `soak, ${minutes.length} minutes; resident at the end, and the last third to the second: ${parts.join('; ')}`;
}

export function guard(figures) {
  return Object.entries(figures)
    .map(
      ([name, { ratios, most }]) =>
        `CPU of a ${name}, ratio to the floor: ${ratios.map(two).join(', ')}; at most ${two(most)}`,
    )
    .join('\n');
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
