// The words of `npm run bench`: scenarios, options, and the help that names them all.
import { parseArgs } from 'node:util';

export const ALGORITHMS = ['ed25519', 'es256', 'es256k', 'bip340'];

export const HELP = `npm run bench -- <scenario> [options]

Requests, each beside a bare server that does the same cryptography with the least statements:
  tokens             client credentials; --subscriptions 2: with so many subscriptions to everything;
                     --tenants 10000: of so many tenants in turn; --client key: with private_key_jwt and DPoP
  refresh            rotation of refresh tokens
  introspection      of access tokens
  exchange           of an application's token and an agent's for a delegated one
  challenges         challenge and verification; --algorithm ${ALGORITHMS.join('|')} (all four in turn)

Deliveries, from the publish call to the receiver:
  deliveries         --scenario healthy  beside a floor of two statements a delivery
                                flaky    each delivery's first attempt is refused with 503 and Retry-After: 1
                                away     the receiver answers 503 for 3 s
                                noisy    a tenant with --deliveries 5000 for a slow endpoint, beside one with one a second
  soak               memory of --minutes 60, with a healthy receiver, one that refuses first attempts and one that is gone
  abuse              what a quiet tenant waits while another one abuses each kind of route; takes two minutes
                --kinds 'key set,tokens'  these kinds alone (bench/abuse-kinds.mjs)
                --apart  the other one has a process of its own: the floor of the ratios

Of both:
  guard              fails when a token or a delivery costs a third more than it should, as a ratio to the floor
  compare <a> <b> <scenario>   two clones in turn, --rounds times each

Options:
  --seconds 4        of load in a round (noisy: 30)
  --rounds 2         of floor and service in turn, in one run
  --connections 32   of the load
  --rate 0           a second; 0: as many as possible
  --workers 1        worker processes
  --endpoints 1      of the receiver
  --profile <folder> CPU profiles of the service's processes
  --json [file]      figures for programs, on the last line or in a file

Figures of one machine mean nothing elsewhere: read the ratios. CPU is from the operating system. All stays on loopback.
`;

/** What is measured; `compare` runs one of them. */
export const NAMES = [
  'tokens',
  'refresh',
  'introspection',
  'exchange',
  'challenges',
  'deliveries',
  'soak',
  'abuse',
  'guard',
];

export const DELIVERY_SCENARIOS = ['healthy', 'flaky', 'away', 'noisy'];

const NOISY = { seconds: '30', deliveries: '5000' };
const DEFAULTS = {
  seconds: '4',
  rounds: '2',
  connections: '32',
  subscriptions: '0',
  tenants: '0',
  client: 'secret',
  scenario: 'healthy',
  rate: '0',
  workers: '1',
  endpoints: '1',
  minutes: '60',
};

/**
 * @returns {{ names: string[], given: Record<string, any> }} `names` (what is no option), and `given`: the options that
 *   were said, as text
 */
export function readWords() {
  const { positionals, values } = parseArgs({
    allowPositionals: true,
    options: {
      ...Object.fromEntries(Object.keys(DEFAULTS).map((name) => [name, { type: 'string' }])),
      algorithm: { type: 'string' },
      deliveries: { type: 'string' },
      kinds: { type: 'string' },
      profile: { type: 'string' },
      apart: { type: 'boolean' },
      json: { type: 'boolean' },
      help: { type: 'boolean', short: 'h' },
    },
  });
  return { names: positionals, given: values };
}

/** @returns the options of a run, with the defaults of its scenario, as numbers where they are numbers */
export function readOptions(given) {
  const text = { ...DEFAULTS, ...(given.scenario === 'noisy' && NOISY), ...given };
  return {
    seconds: bounded(text.seconds, 1, 120),
    rounds: bounded(text.rounds, 1, 10),
    connections: bounded(text.connections, 1, 256),
    subscriptions: bounded(text.subscriptions, 0, 10),
    tenants: bounded(text.tenants, 0, 100_000),
    client: oneOf(text.client, ['secret', 'key']),
    algorithm: text.algorithm === undefined ? undefined : oneOf(text.algorithm, ALGORITHMS),
    scenario: oneOf(text.scenario, DELIVERY_SCENARIOS),
    rate: bounded(text.rate, 0, 10_000),
    workers: bounded(text.workers, 1, 4),
    endpoints: bounded(text.endpoints, 1, 100),
    minutes: bounded(text.minutes, 1, 1_440),
    deliveries: bounded(text.deliveries ?? '0', 0, 100_000_000),
    kinds: text.kinds?.split(','),
    apart: text.apart === true,
    profile: text.profile,
  };
}

/** Ends with a line about what was said wrong. */
export function refuse(line) {
  process.stderr.write(`${line}\n`);
  return process.exit(2);
}

function oneOf(text, known) {
  return known.includes(text) ? text : refuse(`${text} is none of ${known.join(', ')}.`);
}

function bounded(text, least, most) {
  const value = Number(text);
  if (Number.isInteger(value) && value >= least && value <= most) return value;
  return refuse(`${text} is not a whole number from ${least} to ${most}.`);
}
