// Small charts, as SVG. Each has its numbers in words beside it, or in its label.
import { formatDuration, formatNumber } from './format.ts';
import type { DeliveryAccount, Phases as PhaseTimes } from './types.ts';

const OUTCOMES = ['delivered', 'waiting', 'held', 'failed', 'canceled'] as const;
const WIDTH = 600;
const HEIGHT = 120;

/** Deliveries of each day by outcome, oldest first. */
export function OutcomeChart({ accounts }: { accounts: readonly DeliveryAccount[] }) {
  const days = fillDays(accounts);
  const highest = Math.max(1, ...days.map(({ accepted }) => accepted));
  const step = WIDTH / days.length;
  return (
    <figure class="chart">
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT + 16}`} role="img" aria-label="Deliveries of each day by outcome">
        {days.map((day, index) => {
          let top = HEIGHT;
          return (
            <g key={day.day}>
              <title>{describeDay(day)}</title>
              <rect class="ground" x={index * step + 2} y={0} width={step - 4} height={HEIGHT} />
              {OUTCOMES.map((outcome) => {
                const height = (day[outcome] / highest) * HEIGHT;
                top -= height;
                return (
                  <rect
                    key={outcome}
                    class={outcome}
                    x={index * step + 2}
                    y={top}
                    width={step - 4}
                    height={height}
                  />
                );
              })}
              <text x={index * step + step / 2} y={HEIGHT + 13}>
                {Number(day.day.slice(8))}
              </text>
            </g>
          );
        })}
      </svg>
      <figcaption>
        {OUTCOMES.map((outcome) => (
          <span key={outcome} class={`key ${outcome}`}>
            {outcome} {formatNumber(days.reduce((sum, day) => sum + day[outcome], 0))}
          </span>
        ))}
      </figcaption>
    </figure>
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

type Day = Pick<DeliveryAccount, 'day' | 'accepted' | (typeof OUTCOMES)[number]>;

function fillDays(accounts: readonly DeliveryAccount[]): Day[] {
  const first = Date.parse(firstDay());
  return Array.from({ length: DAYS }, (_, index) => {
    const day = new Date(first + index * DAY_MS).toISOString().slice(0, 10);
    const none = { accepted: 0, delivered: 0, waiting: 0, held: 0, failed: 0, canceled: 0 };
    return accounts.find((account) => account.day === day) ?? { day, ...none };
  });
}

function describeDay(day: Day): string {
  return `${day.day}: ${OUTCOMES.map((outcome) => `${outcome} ${day[outcome]}`).join(', ')}`;
}
