// Chances that a seed decides: the same seed gives the same sequence on every machine.

/** @returns a generator of its own for a part of the run, so that one part's draws do not move another's */
export function createRandom(seed, part = '') {
  let state = [...`${seed}/${part}`].reduce((sum, letter) => mix(sum + letter.charCodeAt(0)), 0x9e3779b9);
  /** At least 0 and below 1. */
  const next = () => {
    state = (state + 0x6d2b79f5) | 0;
    return (mix(state) >>> 0) / 2 ** 32;
  };
  const between = (least, most) => least + next() * (most - least);
  const below = (count) => Math.floor(next() * count);
  return {
    next,
    between,
    below,
    chance: (share) => next() < share,
    pick: (list) => list[below(list.length)],
    shuffle: (list) => {
      const left = [...list];
      return list.map(() => left.splice(below(left.length), 1)[0]);
    },
  };
}

function mix(value) {
  let mixed = Math.imul(value ^ (value >>> 15), 1 | value);
  mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
  return mixed ^ (mixed >>> 14);
}
