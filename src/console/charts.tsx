// Small charts, as SVG. Each has its numbers in words beside it, or in its label.
import type { TargetedKeyboardEvent } from 'preact';
import { formatDuration, formatNumber } from './format.ts';
import { pageAddress } from './router.ts';
import type { DeliveryAccount, DeliveryHours, Phases as PhaseTimes } from './types.ts';

/** The deliveries of an hour or a day, by what became of them; `href` is their list. */
export interface Bar {
  readonly key: string;
  readonly label: string;
  readonly words: string;
  readonly href: string;
  readonly delivered: number;
  readonly unfinished: number;
  readonly canceled: number;
  readonly failed: number;
}

/** What deliveries became, without those that failed, which have a scale of their own. */
const OUTCOMES = [
  ['delivered', 'delivered', 'delivered'],
  ['unfinished', 'waiting', 'not ended when counted'],
  ['canceled', 'canceled', 'canceled'],
] as const satisfies readonly (readonly [of: keyof Bar, look: string, words: string])[];
const WIDTH = 600;
const HEIGHT = 120;
const FAILED_HEIGHT = 30;
const GAP = 6;

/** From bar to bar by the arrow keys: Tab has one stop in a chart, the newest bar. */
function moveFocus({ key, currentTarget }: TargetedKeyboardEvent<SVGSVGElement>): void {
  const step = key === 'ArrowRight' ? 1 : key === 'ArrowLeft' ? -1 : 0;
  const bars = [...currentTarget.querySelectorAll('a')];
  if (step !== 0) bars[bars.findIndex((bar) => bar === document.activeElement) + step]?.focus();
}

/** Deliveries by outcome, the oldest first; below them those that failed. A bar leads to its list. */
export function OutcomeChart({ title, bars }: { title: string; bars: readonly Bar[] }) {
  const step = WIDTH / bars.length;
  const height = HEIGHT + GAP + FAILED_HEIGHT;
  return (
    <figure class="chart">
      <svg viewBox={`0 0 ${WIDTH} ${height + 16}`} onKeyDown={moveFocus}>
        <title>{title}</title>
        {bars.map((bar, index) => (
          <a
            key={bar.key}
            href={pageAddress(bar.href)}
            aria-label={bar.words}
            tabindex={index === bars.length - 1 ? 0 : -1}
          >
            <title>{bar.words}</title>
            <Stack of={bar} bars={bars} x={index * step + 2} width={step - 4} />
            <text x={index * step + step / 2} y={height + 13}>
              {bar.label}
            </text>
          </a>
        ))}
      </svg>
      <figcaption>
        {OUTCOMES.map(([, look, words]) => (
          <span key={look} class={`key ${look}`}>
            {words}
          </span>
        ))}
        <span class="key failed">failed, below</span>
      </figcaption>
    </figure>
  );
}

function Stack({ of, bars, x, width }: { of: Bar; bars: readonly Bar[]; x: number; width: number }) {
  const total = (bar: Bar): number => bar.delivered + bar.unfinished + bar.canceled;
  const highest = Math.max(1, ...bars.map(total));
  const most = Math.max(1, ...bars.map(({ failed }) => failed));
  const failed = (of.failed / most) * FAILED_HEIGHT;
  let top = HEIGHT;
  return (
    <>
      <rect class="ground" x={x} y={0} width={width} height={HEIGHT} />
      {OUTCOMES.map(([name, look]) => {
        const height = (of[name] / highest) * HEIGHT;
        top -= height;
        return <rect key={look} class={look} x={x} y={top} width={width} height={height} />;
      })}
      <rect class="ground" x={x} y={HEIGHT + GAP} width={width} height={FAILED_HEIGHT} />
      <rect class="failed" x={x} y={HEIGHT + GAP} width={width} height={failed} />
    </>
  );
}

/** Two numbers of each of the last hours, as small bars: what went well, and above it what did not. */
export function Sparkline({
  words,
  good,
  bad,
}: {
  words: string;
  good: readonly number[];
  bad: readonly number[];
}) {
  const highest = Math.max(1, ...good.map((n, hour) => n + (bad[hour] ?? 0)));
  return (
    <svg class="sparkline chart" viewBox={`0 0 ${good.length * 4} 18`} role="img" aria-label={words}>
      <title>{words}</title>
      {good.map((n, hour) => {
        // A single delivery is seen beside thousands.
        const heightOf = (value: number): number => (value === 0 ? 0 : Math.max(1, (value / highest) * 18));
        const well = heightOf(n);
        const badly = heightOf(bad[hour] ?? 0);
        return (
          <g key={hour}>
            <rect class="ground" x={hour * 4} width="3" height="18" />
            <rect class="delivered" x={hour * 4} y={18 - well} width="3" height={well} />
            <rect class="failed" x={hour * 4} y={Math.max(0, 18 - well - badly)} width="3" height={badly} />
          </g>
        );
      })}
    </svg>
  );
}

/** Where the time of an attempt went. */
export function Phases({ of }: { of: PhaseTimes }) {
  const parts = [
    ['DNS', of.dns_ms],
    ['connect', of.connect_ms],
    ['TLS', of.tls_ms],
    ['first byte', of.first_byte_ms],
  ] as const;
  const known = parts.filter((part): part is [(typeof part)[0], number] => part[1] !== null);
  if (known.length === 0) return null;
  const words = known.map(([name, ms]) => `${name} ${formatDuration(ms)}`).join(' · ');
  const total = Math.max(
    of.total_ms,
    known.reduce((sum, [, ms]) => sum + ms, 0),
    0.001,
  );
  let left = 0;
  return (
    <div class="phases">
      <svg viewBox="0 0 200 6" width="200" height="6" preserveAspectRatio="none" aria-hidden="true">
        <rect class="ground" width="200" height="6" />
        {known.map(([name, ms]) => {
          const width = (ms / total) * 200;
          left += width;
          return (
            <rect
              key={name}
              class={`phase-${name.replace(' ', '-')}`}
              x={left - width}
              width={width}
              height="6"
            />
          );
        })}
      </svg>
      <span>{words}</span>
    </div>
  );
}

const DAYS = 14;
const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;

/** @returns the day of the first bar, as the API takes it */
export function firstDay(): string {
  return new Date(Date.now() - (DAYS - 1) * DAY_MS).toISOString().slice(0, 10);
}

/** @returns a bar for each of the last 14 days of UTC, those without an account too */
export function barsOfDays(accounts: readonly DeliveryAccount[]): Bar[] {
  const first = Date.parse(firstDay());
  return Array.from({ length: DAYS }, (_, index) => {
    const since = new Date(first + index * DAY_MS);
    const day = since.toISOString().slice(0, 10);
    const account = accounts.find((one) => one.day === day);
    const { delivered = 0, waiting = 0, held = 0, failed = 0, canceled = 0 } = account ?? {};
    const counts = { delivered, unfinished: waiting + held, canceled, failed };
    return { key: day, label: String(since.getUTCDate()), ...describeBar(day, since, DAY_MS, counts) };
  });
}

/** @returns a bar for each hour, in the reader's own zone */
export function barsOfHours({ hours, data: [sum] }: DeliveryHours): Bar[] {
  return hours.map((hour, index) => {
    const since = new Date(hour);
    const at = (numbers: readonly number[] | undefined): number => numbers?.[index] ?? 0;
    const counts = {
      delivered: at(sum?.delivered),
      unfinished: at(sum?.unfinished),
      canceled: at(sum?.canceled),
      failed: at(sum?.failed),
    };
    const words = describeBar(`${since.getHours()}:00`, since, HOUR_MS, counts);
    // On a small screen there is room for every third one.
    return { key: hour, label: since.getHours() % 3 === 0 ? `${since.getHours()}` : '', ...words };
  });
}

function describeBar(
  name: string,
  since: Date,
  length: number,
  counts: Pick<Bar, 'delivered' | 'unfinished' | 'canceled' | 'failed'>,
): Omit<Bar, 'key' | 'label'> {
  const words = Object.entries(counts).map(([end, n]) => `${end} ${formatNumber(n)}`);
  const until = new Date(since.getTime() + length);
  const status = counts.failed > 0 ? 'status=failed&' : '';
  return {
    ...counts,
    words: `${name}: ${words.join(', ')}`,
    href: `deliveries?${status}since=${since.toISOString()}&until=${until.toISOString()}`,
  };
}
