// webhookSecretRotation ends the overlap of two signing secrets. Each attempt reads in Postgres which secrets sign it,
// without this workflow.
import { proxyActivities } from '@temporalio/workflow';
import type { WebhookSecretRotationActivities } from '../activities/webhook-secret-rotation.ts';
import type { EntityInput } from '../src/platform/temporal/names.ts';
import type { SecretStanding } from '../src/webhooks/subscriptions/signing-secret.service.ts';
import { ENTITY_ACTIVITIES, entityWorkflow } from './entity.ts';
import { wordHelp, wordTime } from './operator.ts';

/** The answer to the query `state`. `until` is when the workflow next reads the secrets without a signal. */
export type SecretRotationState = Pick<SecretStanding, 'secrets' | 'overlapEndsAt'> & {
  readonly doing: 'reading' | 'waiting' | 'finishing' | 'ended';
  readonly until: string | null;
};

/** `one`: the new secret has taken over, or was replaced. `gone`: the subscription was deleted. */
export type SecretRotationResult = Pick<SecretStanding, 'secrets'>;

const activities = proxyActivities<WebhookSecretRotationActivities>(ENTITY_ACTIVITIES);

/**
 * Waits until the overlap of two signing secrets ends, and records the end. Source: Specification, "Signature".
 * @param input.id id of the subscription
 */
export function webhookSecretRotation(input: EntityInput): Promise<SecretRotationResult> {
  const name = { tenantId: input.tenantId, subscriptionId: input.id };
  return entityWorkflow<typeof name, SecretStanding, SecretRotationState, SecretRotationResult>(input, {
    name,
    read: { activity: activities.readSecretRotation, summary: 'how the secrets stand' },
    steps: {
      finish: {
        doing: 'finishing',
        activity: activities.finishSecretRotation,
        summary: 'the overlap is over',
      },
    },
    wait: ({ delayMs }, { overlapEndsAt }) => ({
      doing: 'waiting',
      delayMs,
      summary: `until the overlap ends${overlapEndsAt === null ? '' : ` ${wordTime(overlapEndsAt)}`}`,
    }),
    state: { secrets: 'overlapping', overlapEndsAt: null },
    help: wordHelp({}, 'webhook-secret-rotation'),
    details: detailsOf,
    attributes: ({ secrets }) => ({ entityState: secrets }),
    result: ({ secrets }) => ({ secrets }),
  });
}

function detailsOf({ secrets, overlapEndsAt }: SecretStanding): string {
  if (secrets === 'overlapping')
    return `Deliveries carry two signatures until ${overlapEndsAt}; the new secret takes over then.`;
  return `Ended: ${secrets === 'gone' ? 'the subscription is deleted' : 'one secret signs'}.`;
}
