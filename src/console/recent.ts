// What the newest deliveries say: failures that are equal as one, how many arrived, and how soon. Pure.
import { describeAnswer, formatDuration } from './format.ts';
import type { Delivery } from './types.ts';

export interface FailureGroup {
  readonly subscription: string;
  readonly answer: string;
  readonly count: number;
  readonly first: string;
  readonly last: string;
}

type Failed = Pick<
  Delivery,
  'subscription_id' | 'last_status_code' | 'last_error' | 'attempt_count' | 'created_at'
>;

/** @param failed the newest first @returns groups, that with the newest delivery first */
export function groupFailures(failed: readonly Failed[]): readonly FailureGroup[] {
  const groups = new Map<string, FailureGroup>();
  for (const delivery of failed) {
    const { subscription_id: subscription, created_at: at } = delivery;
    const answer = describeAnswer(delivery);
    const key = `${subscription} ${answer}`;
    const group = groups.get(key) ?? { subscription, answer, count: 0, first: at, last: at };
    groups.set(key, { ...group, count: group.count + 1, first: at });
  }
  return [...groups.values()];
}

type Ended = Pick<Delivery, 'status' | 'created_at' | 'completed_at'>;

/** @returns the share of ended deliveries that arrived, and in what time half and 95 % of those did */
export function measureRecent(deliveries: readonly Ended[]) {
  const ended = deliveries.filter(({ status }) => status === 'delivered' || status === 'failed');
  const times = ended
    .filter(({ status }) => status === 'delivered')
    .map(({ created_at, completed_at }) => Date.parse(completed_at ?? created_at) - Date.parse(created_at))
    .sort((a, b) => a - b);
  const within = (share: number): string => {
    const time = times[Math.ceil(times.length * share) - 1];
    return time === undefined ? '–' : formatDuration(time);
  };
  const percent = Math.floor((times.length / ended.length) * 1_000) / 10;
  return { arrived: ended.length === 0 ? '–' : `${percent} %`, half: within(0.5), most: within(0.95) };
}
