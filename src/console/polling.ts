// When a page asks again: as often as it likes while something happens or somebody is there, and once in ten seconds
// for all of a tab that is idle. A hidden tab asks for nothing.

/** How long after a key, a click or a change a tab is not idle. */
const LIVE_MS = 15_000;
const IDLE_MS = 10_000;
const TICK_MS = 500;

interface Turn {
  /** Asks, and returns after how many milliseconds to ask again; 0: never. */
  readonly ask: () => Promise<number>;
  dueAt: number;
  isAsking: boolean;
}

const turns = new Set<Turn>();
let touchedAt = Date.now();
let askedAt = 0;

/** Says that something has happened: for a while the page asks as often as it likes. */
export function touch(): void {
  touchedAt = Date.now();
}

for (const name of ['pointerdown', 'keydown', 'visibilitychange']) addEventListener(name, touch, true);
setInterval(tick, TICK_MS);

/** Asks now, and again as `ask` returns. @returns what ends that */
export function poll(ask: Turn['ask']): () => void {
  const turn = { ask, dueAt: 0, isAsking: false };
  turns.add(turn);
  if (document.visibilityState === 'visible') void take(turn);
  return () => turns.delete(turn);
}

async function take(turn: Turn): Promise<void> {
  turn.isAsking = true;
  askedAt = Date.now();
  const nextMs = await turn.ask();
  turn.isAsking = false;
  turn.dueAt = Date.now() + nextMs;
  if (nextMs === 0) turns.delete(turn);
}

function tick(): void {
  const now = Date.now();
  if (document.visibilityState !== 'visible') return;
  const due = [...turns].filter((turn) => !turn.isAsking && turn.dueAt <= now);
  if (now - touchedAt < LIVE_MS) for (const turn of due) void take(turn);
  else if (now - askedAt >= IDLE_MS) {
    const [first] = due.sort((one, other) => one.dueAt - other.dueAt);
    if (first !== undefined) void take(first);
  }
}
