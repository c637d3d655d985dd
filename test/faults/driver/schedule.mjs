// The order, kinds and times of a run's faults, out of its seed. Pure: a seed always gives the same schedule.
import { createRandom } from './random.mjs';

const ROLES = ['api1', 'api2', 'worker1', 'worker2'];
const LINKS = ROLES.flatMap((role) => [`${role}-postgres`, `${role}-temporal`]);
const WIRES = [...LINKS, 'receivers1', 'receivers2'];

/**
 * Kind → what it can hit (`hold`: an operator holds the receivers' host; `upgrade`: workers of another build take over,
 * with a tenth, half and all of the work; `promote`: what became of the primary when its
 * standby is promoted), and how many seconds it lasts.
 */
export const KINDS = {
  kill: { targets: [...ROLES, 'workers', 'apis', 'temporal', 'postgres', 'backend'], seconds: [0.5, 5] },
  restart: { targets: ROLES, seconds: [0.2, 2] },
  freeze: { targets: [...ROLES, 'temporal', 'postgres'], seconds: [1, 12] },
  cut: { targets: WIRES, seconds: [0, 0] },
  refuse: { targets: WIRES, seconds: [1, 6] },
  stall: { targets: WIRES, seconds: [1, 10] },
  delay: { targets: WIRES, seconds: [2, 8] },
  'half-close': { targets: WIRES, seconds: [0, 0] },
  terminate: { targets: ['postgres'], seconds: [0, 0] },
  'disk-full': { targets: ['postgres'], seconds: [2, 5] },
  clock: { targets: ROLES, seconds: [3, 12] },
  hold: { targets: ['receivers'], seconds: [2, 5] },
  upgrade: { targets: ['build'], seconds: [3, 6] },
  promote: { targets: ['crashed', 'stopped', 'frozen', 'cut off'], seconds: [2, 6] },
  'lose-temporal': { targets: ['temporal'], seconds: [0.5, 2] },
};
/** One in so many of the deck: what takes a person to mend, or a copy of Postgres. */
const RARE = ['lose-temporal', 'hold', 'promote', 'upgrade'];
const GROUPS = {
  workers: ['worker1', 'worker2'],
  apis: ['api1', 'api2'],
  backend: ['postgres'],
  build: ['worker1', 'worker2'],
};
for (const primary of KINDS.promote.targets) GROUPS[primary] = ['postgres'];
const SHIFTS = [-3_600_000, -90_000, 90_000, 3_600_000];

/** The parts that a fault takes out: of a link the link alone. */
export const partsOf = (target) => GROUPS[target] ?? [target];

/**
 * One fault at a time on a part.
 * @param options.seconds of load; `kinds`: those to choose from
 * @returns faults with `at` (seconds from the load's begin), `kind`, `target`, `seconds` and what else the kind needs
 */
export function planFaults({ seed, seconds, kinds = Object.keys(KINDS) }) {
  const random = createRandom(seed, 'faults');
  const faults = [];
  const free = new Map();
  let deck = [];
  for (let at = random.between(2, 4); at < seconds - 3; at += random.between(1.5, 6)) {
    if (deck.length === 0) deck = newDeck(random, kinds);
    const kind = deck.pop();
    const { targets, seconds: lasts } = KINDS[kind];
    const length = Math.min(random.between(...lasts), seconds - at - 1);
    const target = random.pick(
      targets.filter((one) => partsOf(one).every((part) => (free.get(part) ?? 0) <= at)),
    );
    if (target === undefined) continue;
    for (const part of partsOf(target)) free.set(part, at + length + 1);
    faults.push({
      at: Math.round(at * 10) / 10,
      kind,
      target,
      seconds: Math.round(length * 10) / 10,
      shift: random.pick(SHIFTS),
      side: random.pick(['client', 'upstream']),
    });
  }
  return faults;
}

function newDeck(random, kinds) {
  const often = kinds.filter((kind) => !RARE.includes(kind));
  const rare = kinds.filter((kind) => RARE.includes(kind));
  return random.shuffle([...rare, ...often, ...often]);
}
