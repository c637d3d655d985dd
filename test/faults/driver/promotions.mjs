// How long clients saw 503 after each promotion of a standby, and how long no event was accepted.
const MOST_SECONDS = 15;

/** @returns a row for each promotion that was carried out; one whose 503 lasts too long is a violation */
export function checkPromotions(ledger) {
  const carried = ledger.faults.filter(({ promoted }) => promoted !== undefined);
  return carried.map((fault, index) => {
    const { began, promoted } = fault;
    const end = carried[index + 1]?.from ?? Number.POSITIVE_INFINITY;
    const refused = ledger.unavailable.filter((at) => at >= began && at < end);
    const accepted = [...ledger.publications.values()]
      .filter(({ sent, outcome }) => outcome === 'accepted' && sent >= began)
      .map(({ answered }) => answered);
    const seconds = Math.max(0, ...refused.map((at) => at - began)) / 1_000;
    const isAlone = !ledger.faults.some(
      ({ kind, skipped, from, to = end }) =>
        kind !== 'promote' && !skipped && to > began && from < began + MOST_SECONDS * 1_000,
    );
    if (isAlone && seconds > MOST_SECONDS)
      ledger.violate(
        'promotion',
        `clients got 503 for ${seconds.toFixed(1)} s after a primary was ${fault.target}`,
      );
    return {
      primary: fault.target,
      promoted: (promoted - began) / 1_000,
      accepted: (Math.min(...accepted) - began) / 1_000,
      refused: refused.length,
      seconds,
    };
  });
}

/** @returns a line for each promotion */
export function describePromotions(rows) {
  if (rows.length === 0) return [];
  const head = '| primary | promoted after | accepts again after | answers of 503 | the last after |';
  const body = rows.map(
    ({ primary, promoted, accepted, refused, seconds }) =>
      `| ${primary} | ${promoted.toFixed(1)} s | ${accepted.toFixed(1)} s | ${refused} | ${seconds.toFixed(1)} s |`,
  );
  return ['', head, '|---|---|---|---|---|', ...body];
}
