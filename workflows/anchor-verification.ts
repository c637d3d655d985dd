// An anchor from its creation to its end. It owns the waiting only: whether a look is due, and what it means, is decided in Postgres.
import {
  allHandlersFinished,
  condition,
  continueAsNew,
  defineQuery,
  defineUpdate,
  proxyActivities,
  setHandler,
  upsertSearchAttributes,
} from '@temporalio/workflow';
import type { AnchorVerificationActivities } from '../activities/anchor-verification.ts';
import type { AnchorStanding } from '../src/identity/anchors/anchor-check.service.ts';
import { type EntityInput, SEARCH_ATTRIBUTES } from '../src/platform/temporal/names.ts';
import { changed, checkReason, ENTITY_ACTIVITIES, isHistoryLong, showDetails } from './entity.ts';

/** How it stands; `until` is when the workflow goes on by itself. */
export type AnchorVerificationState = Omit<AnchorStanding, 'step'> & {
  readonly doing: 'reading' | 'looking' | 'failing' | 'waiting' | 'ended';
  readonly until: string | null;
};

/** `gone`: the agent was deleted. */
export type AnchorVerificationResult = Pick<AnchorStanding, 'status' | 'lastOutcome'>;

/** An operator has the proof looked for now, and is told how the anchor stands then; the reason goes into the audit log. */
const lookNow = defineUpdate<AnchorVerificationState, [reason?: string]>('lookNow');
const state = defineQuery<AnchorVerificationState>('state');

const activities = proxyActivities<AnchorVerificationActivities>(ENTITY_ACTIVITIES);

const LOOK = 'for the proof at its place';

const UNREAD: Omit<AnchorStanding, 'step'> = {
  status: 'pending',
  lastOutcome: null,
  lastCheckedAt: null,
  lastFoundAt: null,
  missingSince: null,
  expiresAt: null,
};

/**
 * Looks after an anchor: looks for its proof until it is there or its time is over, and once a day from then on. Source: Specification,
 * "Anchor and delegation".
 * @param input.id of the anchor
 * @returns how the anchor ended
 */
export async function anchorVerification(input: EntityInput): Promise<AnchorVerificationResult> {
  const name = { tenantId: input.tenantId, id: input.id };
  // A look waits for a stranger's server: it goes where it keeps no workflow's own steps waiting.
  const { lookForProof } = proxyActivities<AnchorVerificationActivities>({
    ...ENTITY_ACTIVITIES,
    ...(input.slowQueue === undefined ? {} : { taskQueue: input.slowQueue }),
  });
  let standing: AnchorStanding | undefined;
  let told = false;
  let doing: AnchorVerificationState['doing'] = 'reading';
  let until: string | null = null;
  let shown: { state?: string; outcome?: string | null } = {};

  const present = (): AnchorVerificationState => {
    const { step: _step, ...facts } = standing ?? { step: undefined, ...UNREAD };
    return { ...facts, doing, until };
  };
  setHandler(changed, () => {
    told = true;
  });
  setHandler(state, present);
  setHandler(
    lookNow,
    async (reason?: string) => {
      await activities.requestLook.executeWithOptions({ summary: 'by an operator' }, [name, reason ?? null]);
      standing = await lookForProof.executeWithOptions({ summary: LOOK }, [name]);
      told = true;
      return present();
    },
    {
      validator: (reason?: string) => {
        checkReason(reason);
        if (standing?.step.kind === 'end') throw new Error('The anchor has ended.');
      },
    },
  );

  const show = (now: AnchorStanding): void => {
    showDetails(input, detailsOf(now));
    if (!input.indexed) return;
    const label = now.missingSince === null || now.status !== 'verified' ? now.status : 'missing';
    if (shown.state === label && shown.outcome === now.lastOutcome) return;
    shown = { state: label, outcome: now.lastOutcome };
    upsertSearchAttributes([
      { key: SEARCH_ATTRIBUTES.entityState, value: label },
      ...(now.lastOutcome === null ? [] : [{ key: SEARCH_ATTRIBUTES.lastOutcome, value: now.lastOutcome }]),
    ]);
  };

  for (;;) {
    doing = 'reading';
    // From here on only what is signaled later counts: the reading sees everything that was there before.
    told = false;
    let now = await activities.readAnchor.executeWithOptions({ summary: 'how the anchor stands' }, [name]);
    if (now.step.kind === 'look') {
      doing = 'looking';
      now = await lookForProof.executeWithOptions({ summary: LOOK }, [name]);
    }
    if (now.step.kind === 'fail') {
      doing = 'failing';
      now = await activities.failAnchor.executeWithOptions({ summary: 'its time is over' }, [name]);
    }
    standing = now;
    show(now);
    if (now.step.kind === 'wait') {
      const { delayMs } = now.step;
      doing = 'waiting';
      until = new Date(Date.now() + delayMs).toISOString();
      await condition(() => told, Math.max(1, delayMs), { summary: summaryOf(now) });
      until = null;
    } else if (now.step.kind === 'end') {
      doing = 'ended';
      await condition(allHandlersFinished);
      if (!told) return { status: now.status, lastOutcome: now.lastOutcome };
    }
    if (isHistoryLong()) {
      await condition(allHandlersFinished);
      return continueAsNew<typeof anchorVerification>(input);
    }
  }
}

function summaryOf({ status, missingSince }: AnchorStanding): string {
  if (status === 'pending') return 'until the next look for the proof';
  return missingSince === null ? 'until the daily look' : 'until the next look for the missing proof';
}

function detailsOf({
  status,
  step,
  lastOutcome,
  lastFoundAt,
  missingSince,
  expiresAt,
}: AnchorStanding): string {
  if (step.kind === 'end') return `Ended: the anchor is ${status}. Latest look: ${lastOutcome ?? 'none'}.`;
  if (status === 'pending')
    return `The proof has not been found yet (latest look: ${lastOutcome ?? 'none'}); it is looked for until ${expiresAt}.`;
  if (missingSince === null)
    return `Verified; the proof was found at ${lastFoundAt}, and is looked for once a day.`;
  return `Verified, but the proof is missing since ${missingSince} (${lastOutcome}); revoked after three days of that.`;
}
