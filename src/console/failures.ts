// Failed deliveries that are equal, as one: of the same subscription, with the same last answer. Pure.
import { describeAnswer } from './format.ts';
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
