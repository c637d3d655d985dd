// Small charts, as SVG. Each has its numbers in words beside it, or in its label.
import { formatDuration, formatNumber } from './format.ts';
import { pageAddress } from './router.ts';
import type { DeliveryAccount, Phases as PhaseTimes } from './types.ts';

/** What a day's deliveries became, without those that failed, which have a scale of their own. */
const OUTCOMES = [
  ['delivered', ({ delivered }) => delivered, 'delivered'],
  ['waiting', ({ waiting, held }) => waiting + held, 'not ended when counted'],
  ['canceled', ({ canceled }) => canceled, 'canceled'],
] as const satisfies readonly (readonly [look: string, of: (day: Day) => number, words: string])[];
const WIDTH = 600;
const HEIGHT = 120;
const FAILED_HEIGHT = 30;
const GAP = 6;

/** Deliveries of each day by outcome, oldest first; below them those that failed. A day leads to its list. */
export function OutcomeChart({ accounts }: { accounts: readonly DeliveryAccount[] }) {
  const days = fillDays(accounts);
  const step = WIDTH / days.length;
  const height = HEIGHT + GAP + FAILED_HEIGHT;
  return (
    <figure class="chart">
      <svg viewBox={`0 0 ${WIDTH} ${height + 16}`}>
        <title>Deliveries of each day by outcome</title>
        {days.map((day, index) => (
          <a key={day.day} href={pageAddress(listOf(day))} aria-label={describeDay(day)}>
            <title>{describeDay(day)}</title>
            <Bars of={day} days={days} x={index * step + 2} width={step - 4} />
            <text x={index * step + step / 2} y={height + 13}>
              {Number(day.day.slice(8))}
            </text>
          </a>
        ))}
      </svg>
      <figcaption>
        {OUTCOMES.map(([look, of, words]) => (
          <span key={look} class={`key ${look}`}>
            {words} {formatNumber(sum(days, of))}
          </span>
        ))}
        <span class="key failed">failed {formatNumber(sum(days, ({ failed }) => failed))}, below</span>
      </figcaption>
    </figure>
  );
}

function Bars({ of, days, x, width }: { of: Day; days: readonly Day[]; x: number; width: number }) {
  const highest = Math.max(1, ...days.map(({ accepted, failed }) => accepted - failed));
  const most = Math.max(1, ...days.map(({ failed }) => failed));
  const failed = (of.failed / most) * FAILED_HEIGHT;
  let top = HEIGHT;
  return (
    <>
      <rect class="ground" x={x} y={0} width={width} height={HEIGHT} />
      {OUTCOMES.map(([look, countOf]) => {
        const height = (countOf(of) / highest) * HEIGHT;
        top -= height;
        return <rect key={look} class={look} x={x} y={top} width={width} height={height} />;
      })}
      <rect class="ground" x={x} y={HEIGHT + GAP} width={width} height={FAILED_HEIGHT} />
      <rect class="failed" x={x} y={HEIGHT + GAP} width={width} height={failed} />
    </>
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

/** @returns the day of the first bar, as the API takes it */
export function firstDay(): string {
  return new Date(Date.now() - (DAYS - 1) * DAY_MS).toISOString().slice(0, 10);
}

type Day = Pick<DeliveryAccount, 'day' | 'accepted' | (typeof ENDS)[number]>;
const ENDS = ['delivered', 'waiting', 'held', 'failed', 'canceled'] as const;

function fillDays(accounts: readonly DeliveryAccount[]): Day[] {
  const first = Date.parse(firstDay());
  return Array.from({ length: DAYS }, (_, index) => {
    const day = new Date(first + index * DAY_MS).toISOString().slice(0, 10);
    const none = { accepted: 0, delivered: 0, waiting: 0, held: 0, failed: 0, canceled: 0 };
    return accounts.find((account) => account.day === day) ?? { day, ...none };
  });
}

function sum(days: readonly Day[], of: (day: Day) => number): number {
  return days.reduce((all, day) => all + of(day), 0);
}

/** @returns the list of the deliveries of this day of UTC, of the failed ones where there are any */
function listOf({ day, failed }: Day): string {
  const since = new Date(day);
  const until = new Date(since.getTime() + DAY_MS);
  const status = failed > 0 ? 'status=failed&' : '';
  return `deliveries?${status}since=${since.toISOString()}&until=${until.toISOString()}`;
}

function describeDay(day: Day): string {
  return `${day.day}: ${ENDS.map((end) => `${end} ${formatNumber(day[end])}`).join(', ')}`;
}
