// What a new tenant does first, each step ticked by itself.
import { get } from '../api.ts';
import { useList, useLoaded } from '../hooks.ts';
import type { Agent, Delivery, Page, WorkloadIssuer } from '../types.ts';
import { Part, Status, To } from '../ui.tsx';

const EVERY_MS = 60_000;

/** Shows nothing once all steps are done. @param subscriptions how many there are */
export function FirstSteps({ subscriptions }: { subscriptions: number | undefined }) {
  const agents = useList<Agent>('agents', { limit: 50 }, EVERY_MS);
  const workloads = useFirst<WorkloadIssuer>('workload-issuers');
  const delivered = useFirst<Delivery>('deliveries', { status: 'delivered' });
  if (subscriptions === undefined || agents.data === undefined || delivered === undefined) return null;
  // A page of agents without a key among them is no new tenant's; a workload needs none.
  const hasKey = agents.more !== undefined || agents.data.some(({ registration }) => registration.verified);
  const steps = [
    ['agents', 'Register an agent', agents.data.length > 0],
    ['agents', 'Let it register its key', hasKey || workloads === true],
    ['subscriptions', 'Subscribe to events', subscriptions > 0],
    ['events', 'Publish an event, and see it delivered', delivered],
  ] as const;
  if (steps.every(([, , isDone]) => isDone)) return null;
  return (
    <Part title="First steps">
      <ol class="steps">
        {steps.map(([page, words, isDone]) => (
          <li key={words}>
            <Status of={isDone ? 'completed' : 'published'} word={isDone ? 'done' : 'to do'} />
            <To page={page}>{words}</To>
          </li>
        ))}
      </ol>
    </Part>
  );
}

/** Whether a list has a row; undefined while that is not known. */
function useFirst<T>(path: string, query: Readonly<Record<string, string>> = {}): boolean | undefined {
  const load = () => get<Page<T>>(path, { ...query, limit: 1 });
  return useLoaded(`first ${path}`, load, EVERY_MS).data?.data.some(() => true);
}
