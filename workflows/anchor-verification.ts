// anchorVerification checks an anchor's proof from the anchor's creation to its end.
import { defineUpdate, proxyActivities } from '@temporalio/workflow';
import type { AnchorVerificationActivities } from '../activities/anchor-verification.ts';
import type { AnchorStanding } from '../src/identity/anchors/anchor-check.service.ts';
import type { EntityInput } from '../src/platform/temporal/names.ts';
import { ENTITY_ACTIVITIES, entityWorkflow, forReason } from './entity.ts';
import { wordHelp, wordTime } from './operator.ts';

/** The answer to the query `state`. `until` is when the workflow next reads the anchor without a signal. */
export type AnchorVerificationState = Omit<AnchorStanding, 'step'> & {
  readonly doing: 'reading' | 'looking' | 'failing' | 'waiting' | 'ended';
  readonly until: string | null;
};

/** The final state; `gone` when the agent was deleted. */
export type AnchorVerificationResult = Pick<AnchorStanding, 'status' | 'lastOutcome'>;

/** An operator's update: checks the proof now and returns the state afterwards. The audit log keeps the reason. */
const lookNow = defineUpdate<AnchorVerificationState, [reason?: string]>('lookNow');

const activities = proxyActivities<AnchorVerificationActivities>(ENTITY_ACTIVITIES);

const CHECK = 'for the proof at its place';

/**
 * Checks an anchor's proof until the proof is found or the anchor's time ends. A verified anchor is checked again each
 * day. Source: Specification, "Anchor and delegation".
 * @param input.id id of the anchor
 */
export function anchorVerification(input: EntityInput): Promise<AnchorVerificationResult> {
  const name = { tenantId: input.tenantId, id: input.id };
  // A check waits for an external server. On the slow task queue it does not delay activities of other workflows.
  const { lookForProof } = proxyActivities<AnchorVerificationActivities>({
    ...ENTITY_ACTIVITIES,
    ...(input.slowQueue === undefined ? {} : { taskQueue: input.slowQueue }),
  });
  return entityWorkflow<typeof name, AnchorStanding, AnchorVerificationState, AnchorVerificationResult>(
    input,
    {
      name,
      read: { activity: activities.readAnchor, summary: 'how the anchor stands' },
      steps: {
        look: { doing: 'looking', activity: lookForProof, summary: CHECK, once: true },
        fail: { doing: 'failing', activity: activities.failAnchor, summary: 'its time is over' },
      },
      wait: ({ delayMs }, now) => ({ doing: 'waiting', delayMs, summary: summaryOf(now, delayMs) }),
      state: {
        status: 'pending',
        lastOutcome: null,
        lastCheckedAt: null,
        lastFoundAt: null,
        missingSince: null,
        expiresAt: null,
      },
      help: wordHelp({ lookNow: 'checks the proof now' }, 'anchor-verification'),
      details: detailsOf,
      attributes: ({ status, missingSince, lastOutcome }) => ({
        entityState: status === 'verified' && missingSince !== null ? 'missing' : status,
        lastOutcome,
      }),
      updates: (on) => {
        const request = forReason(name, activities.requestLook, (standing: AnchorStanding | undefined) => {
          if (standing?.step.kind === 'end') throw new Error('The anchor has ended.');
        });
        on(lookNow, {
          ...request,
          perform: async (reason?: string) => {
            await request.perform(reason);
            return lookForProof.executeWithOptions({ summary: CHECK }, [name]);
          },
        });
      },
      result: ({ status, lastOutcome }) => ({ status, lastOutcome }),
    },
  );
}

function summaryOf({ status, missingSince, lastOutcome }: AnchorStanding, delayMs: number): string {
  const cause = lastOutcome === null ? '' : ` · after ${lastOutcome}`;
  const look = `look at ${wordTime(Date.now() + delayMs)}`;
  if (status === 'pending') return `next ${look}${cause}`;
  return missingSince === null ? `daily ${look}` : `${look} for the missing proof${cause}`;
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
