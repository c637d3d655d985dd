// What a step of the deployment driver has done to requests and deliveries: figures of a window of time, and faults.

/**
 * @typedef {{ kind: string, status: number, error?: string, retryAfter?: string, at: number, ms: number,
 *   isRefused: boolean }} Asked
 * @typedef {{ asked: Asked[], accepted: Map<number, number>, arrived: { n: number, at: number }[] }} Seen
 */

/**
 * @param {Seen} seen
 * @param {{ began: number, ended: number }} window requests that began in it, and deliveries of events published in it
 */
export function figuresOf({ asked, accepted, arrived }, { began, ended }) {
  const isWithin = (at) => at >= began && at < ended;
  const requests = asked.filter(({ at }) => isWithin(at));
  const arrivals = new Map();
  for (const { n, at } of arrived) arrivals.set(n, [...(arrivals.get(n) ?? []), at]);
  const published = [...accepted].filter(([, at]) => isWithin(at));
  const waits = published.flatMap(([n, at]) => {
    const came = arrivals.get(n);
    return came === undefined ? [] : [Math.min(...came) - at];
  });
  return {
    began,
    seconds: (ended - began) / 1_000,
    requests: requests.length,
    refused: requests.filter(({ isRefused }) => isRefused),
    slowest: Math.max(0, ...requests.map(({ ms }) => ms)),
    published: published.length,
    lost: published.length - waits.length,
    repeated: published.filter(([n]) => (arrivals.get(n)?.length ?? 0) > 1).length,
    middle: quantile(waits, 0.5),
    latest: Math.max(0, ...waits),
  };
}

/** @param {ReturnType<typeof figuresOf>} figures */
export function describe(figures) {
  const { began, seconds, requests, refused, slowest, published, lost, repeated, middle, latest } = figures;
  const statuses = [...new Set(refused.map(({ status, error }) => (status === 0 ? error : String(status))))];
  const times = refused.map(({ at }) => at - began);
  const when = `${statuses.join(', ')}; begun ${inSeconds(Math.min(...times))} to ${inSeconds(Math.max(...times))}`;
  return [
    `${seconds.toFixed(1)} s`,
    `${refused.length} of ${requests} requests refused${refused.length > 0 ? ` (${when})` : ''}`,
    `slowest ${inSeconds(slowest)}`,
    `${published - lost} of ${published} events delivered, ${repeated} of them repeatedly`,
    `half within ${inSeconds(middle)}, the latest after ${inSeconds(latest)}`,
  ].join('; ');
}

/**
 * The faults of a step by its promise; none when it is kept.
 * @param {ReturnType<typeof figuresOf>} figures
 * @param {{ refusesUntil?: number, latest?: number, isPolite?: boolean, isOnce?: boolean }} promise no request that begins later is
 *   refused (none at all unless given), no delivery is later (ms), each refusal is 503 with `Retry-After`, no event
 *   is delivered twice
 */
export function faultsOf(figures, promise) {
  const { refusesUntil = 0, latest = Number.POSITIVE_INFINITY, isPolite = false, isOnce = false } = promise;
  const after = figures.refused.filter(({ at }) => at > refusesUntil);
  const rude = figures.refused.filter(({ status, retryAfter }) => status !== 503 || retryAfter === undefined);
  return [
    ...(figures.requests === 0 || figures.published === 0 ? ['there was no load'] : []),
    ...(after.length > 0 ? [`refused ${after.length} requests`] : []),
    ...(isPolite && rude.length > 0 ? [`${rude.length} refusals were no 503 with Retry-After`] : []),
    ...(figures.lost > 0 ? [`lost ${figures.lost} events`] : []),
    ...(isOnce && figures.repeated > 0 ? [`delivered ${figures.repeated} events twice`] : []),
    ...(figures.latest > latest ? [`a delivery after ${inSeconds(figures.latest)}`] : []),
  ];
}

const inSeconds = (ms) => `${(ms / 1_000).toFixed(2)} s`;

function quantile(values, part) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(part * (sorted.length - 1))] ?? 0;
}
