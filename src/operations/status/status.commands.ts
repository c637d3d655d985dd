// `countersign status`: how the service stands, on one screen. Ends with 1 when something needs a person.
import type { Command } from 'commander';
import { useServices } from '../../platform/command-services.ts';
import { relativeTime, roughLength } from '../../platform/command-times.ts';
import { wordErrors } from '../../webhooks/endpoints/host-hold.ts';
import { countStates, type Standing as EndpointStanding } from '../../webhooks/standing/standing.ts';
import type { ObjectiveStanding } from '../objectives/objective.service.ts';
import type { StatusService } from './status.service.ts';
import { findTroubles, placeOf, type Standing } from './status.ts';

/** The most groups of failed deliveries that one screen has. */
const MOST_GROUPS = 5;

type Open = () => Promise<{ status: Pick<StatusService, 'read'>; close: () => Promise<void> }>;

/** Fills in `status`. */
export function registerStatusCommand(
  command: Command,
  { open, print, fail }: { open: Open; print: (line: string) => void; fail: (code: number) => void },
): void {
  command.option('--json', 'print the object only').action(async (options: { json?: true }) => {
    await useServices(open, async (services) => {
      const standing = await services.status.read();
      const troubles = findTroubles(standing);
      if (options.json) print(JSON.stringify(present(standing, troubles)));
      else for (const line of describe(standing, troubles, Date.now())) print(line);
      if (troubles.length > 0) fail(1);
    });
  });
}

function describe(standing: Standing, troubles: readonly string[], now: number): string[] {
  const { version, processes, temporal, backlog, failingHosts, endpoints, objectives, lastMended } = standing;
  const failed = endpoints?.failedIn24Hours;
  const line = (name: string, text: string) => `${name.padEnd(12)}${text}`;
  const count = (value: number | null, words: string) =>
    value === null ? `? ${words}` : `${value} ${words}`;
  const living = (processes ?? []).map(
    ({ role, count, since }) => `${count} ${role} (the oldest since ${relativeTime(since.getTime(), now)})`,
  );
  return [
    line('Version', version),
    line('Processes', living.join(', ') || 'none that lives'),
    line('Temporal', temporal),
    line(
      'Backlog',
      backlog === null
        ? '?'
        : `${backlog.rows} rows; oldest due ${roughLength(backlog.oldestDue)}, oldest command ${roughLength(backlog.oldestCommand)}`,
    ),
    line('Endpoints', endpoints === null ? '?' : describeStates(endpoints.states)),
    ...(endpoints === null ? [] : [line('', endpoints.summary)]),
    ...(failingHosts ?? []).map(({ host, endpoints, errors }) =>
      line('', `${host}: ${endpoints} failing (${wordErrors(errors)})`),
    ),
    line('Failed', `${count(failed?.deliveries ?? null, 'deliveries')} for good in 24 h`),
    ...(failed?.largest ?? [])
      .slice(0, MOST_GROUPS)
      .map((group) => line('', `${group.answer} ${group.deliveries}: ${nameOf(group)}`)),
    ...(objectives ?? []).map((each, n) => line(n === 0 ? 'Objectives' : '', describeObjective(each))),
    line(
      'Doctor',
      lastMended === null
        ? 'no run with --fix on record'
        : `mended ${relativeTime(lastMended.getTime(), now)}`,
    ),
    '',
    ...(troubles.length === 0 ? ['Nothing needs a person.'] : troubles.map((trouble) => `✗ ${trouble}`)),
  ];
}

/** Such as `4,000 open, 7 down`; what there is none of is left out, but for `down` and `held`. */
function describeStates(states: EndpointStanding['states']): string {
  const counts = Object.entries(countStates(states));
  const shown = counts.filter(([state, of]) => of > 0 || state === 'down' || state === 'held');
  return shown.map(([state, of]) => `${of.toLocaleString('en')} ${state}`).join(', ');
}

const nameOf = ({ url, subscriptionId }: { readonly url: string | null; readonly subscriptionId: string }) =>
  url === null ? subscriptionId : placeOf(url);

/** Such as `tokens: 99.981 % of 52,031 within 1 s (promised: 99.9 %), 81 % of the budget left in 30 days`. */
function describeObjective({
  objective,
  promised,
  seconds,
  total,
  share,
  budgetLeft,
}: ObjectiveStanding): string {
  const name = objective.replace('_', ' ');
  if (share === null || budgetLeft === null) return `${name}: nothing counted in 30 days`;
  // Rounded down: 100 % is said only of all.
  const percent = (value: number, digits: number) =>
    `${Math.floor(value * 100 * 10 ** digits) / 10 ** digits} %`;
  return `${name}: ${percent(share, 3)} of ${total.toLocaleString('en')} within ${seconds} s (promised: ${promised * 100} %), ${percent(budgetLeft, 0)} of the budget left in 30 days`;
}

function present({ backlog, ...standing }: Standing, troubles: readonly string[]) {
  return {
    well: troubles.length === 0,
    troubles,
    version: standing.version,
    processes: standing.processes?.map(({ role, count, since }) => ({ role, count, since })) ?? null,
    temporal: standing.temporal,
    backlog: backlog && {
      rows: backlog.rows,
      oldest_due_seconds: backlog.oldestDue,
      oldest_command_seconds: backlog.oldestCommand,
    },
    invariants: standing.invariants.map(({ name, severity, breach }) => ({
      ...{ name, severity, breaches: breach?.count ?? null, oldest_at: breach?.oldest ?? null },
    })),
    endpoints: {
      ...(standing.endpoints && {
        severity: standing.endpoints.severity,
        summary: standing.endpoints.summary,
        ...countStates(standing.endpoints.states),
        waiting_deliveries: standing.endpoints.waiting,
      }),
      failing_hosts:
        standing.failingHosts?.map(({ host, endpoints, errors }) => ({ host, endpoints, errors })) ?? null,
    },
    objectives_of_30_days:
      standing.objectives?.map(({ objective, promised, seconds, good, total, share, budgetLeft }) => ({
        ...{ objective, promised, seconds, good, total, share },
        budget_left: budgetLeft,
      })) ?? null,
    failed_in_24_hours: standing.endpoints && {
      deliveries: standing.endpoints.failedIn24Hours.deliveries,
      groups: standing.endpoints.failedIn24Hours.largest.slice(0, MOST_GROUPS).map((group) => ({
        ...{ endpoint: nameOf(group), answer: group.answer, deliveries: group.deliveries },
      })),
    },
    last_mended_at: standing.lastMended,
  };
}
