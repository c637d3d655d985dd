// The overlap of two signing secrets. It owns the waiting only: each attempt decides by the row and the database's clock which secrets
// sign it, so a workflow that is late changes nothing.
import {
  condition,
  continueAsNew,
  defineQuery,
  proxyActivities,
  setCurrentDetails,
  setHandler,
  upsertSearchAttributes,
} from '@temporalio/workflow';
import type { WebhookSecretRotationActivities } from '../activities/webhook-secret-rotation.ts';
import { type EntityInput, SEARCH_ATTRIBUTES } from '../src/platform/temporal/names.ts';
import type { SecretStanding } from '../src/webhooks/subscriptions/signing-secret.service.ts';
import { changed, ENTITY_ACTIVITIES, isHistoryLong } from './entity.ts';

/** How it stands; `until` is when the workflow looks again by itself. */
export type SecretRotationState = Pick<SecretStanding, 'secrets' | 'overlapEndsAt'> & {
  readonly doing: 'reading' | 'waiting' | 'finishing' | 'ended';
  readonly until: string | null;
};

/** `one`: the new secret has taken over, or was replaced itself. `gone`: the subscription was deleted. */
export type SecretRotationResult = Pick<SecretStanding, 'secrets'>;

const state = defineQuery<SecretRotationState>('state');

const activities = proxyActivities<WebhookSecretRotationActivities>(ENTITY_ACTIVITIES);

/**
 * Sees a signing secret off: waits until its overlap with the next one ends, and has that written down. Source: Specification,
 * "Signature".
 * @param input.id of the subscription
 */
export async function webhookSecretRotation(input: EntityInput): Promise<SecretRotationResult> {
  const name = { tenantId: input.tenantId, subscriptionId: input.id };
  let standing: SecretStanding | undefined;
  let told = false;
  let doing: SecretRotationState['doing'] = 'reading';
  let until: string | null = null;
  let shown = '';

  setHandler(changed, () => {
    told = true;
  });
  setHandler(state, () => ({
    secrets: standing?.secrets ?? 'overlapping',
    overlapEndsAt: standing?.overlapEndsAt ?? null,
    doing,
    until,
  }));

  const show = (now: SecretStanding): void => {
    setCurrentDetails(
      now.secrets === 'overlapping'
        ? `Deliveries carry two signatures until ${now.overlapEndsAt}; the new secret takes over then.`
        : `Ended: ${now.secrets === 'gone' ? 'the subscription is deleted' : 'one secret signs'}.`,
    );
    if (!input.indexed || shown === now.secrets) return;
    shown = now.secrets;
    upsertSearchAttributes([{ key: SEARCH_ATTRIBUTES.entityState, value: now.secrets }]);
  };

  for (;;) {
    doing = 'reading';
    // From here on only what is signaled later counts: the reading sees everything that was there before.
    told = false;
    let now = await activities.readSecretRotation.executeWithOptions({ summary: 'how the secrets stand' }, [
      name,
    ]);
    if (now.step.kind === 'finish') {
      doing = 'finishing';
      now = await activities.finishSecretRotation.executeWithOptions({ summary: 'the overlap is over' }, [
        name,
      ]);
    }
    standing = now;
    show(now);
    if (now.step.kind === 'wait') {
      const { delayMs } = now.step;
      doing = 'waiting';
      until = new Date(Date.now() + delayMs).toISOString();
      await condition(() => told, delayMs, { summary: 'until the overlap ends' });
      until = null;
    } else if (now.step.kind === 'end' && !told) {
      doing = 'ended';
      return { secrets: now.secrets };
    }
    if (isHistoryLong()) return continueAsNew<typeof webhookSecretRotation>(input);
  }
}
