// What a new tenant does first, each step ticked by itself.
import { useList } from '../hooks.ts';
import type { Agent, Delivery, Subscription } from '../types.ts';
import { Part, Status, To } from '../ui.tsx';

const EVERY_MS = 60_000;

interface FirstStepsProps {
  readonly subscriptions: readonly Subscription[] | undefined;
  readonly deliveries: readonly Delivery[] | undefined;
}

/** Shows nothing once all steps are done. @param deliveries the newest of the tenant */
export function FirstSteps({ subscriptions, deliveries }: FirstStepsProps) {
  const agents = useList<Agent>('agents', { limit: 50 }, EVERY_MS);
  if (subscriptions === undefined || agents.data === undefined || deliveries === undefined) return null;
  const steps = [
    ['agents', 'Register an agent', agents.data.length > 0],
    ['agents', 'Let it register its key', agents.data.some(({ registration }) => registration.verified)],
    ['subscriptions', 'Subscribe to events', subscriptions.length > 0],
    [
      'events',
      'Publish an event, and see it delivered',
      deliveries.some(({ status }) => status === 'delivered'),
    ],
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
