// The activities of anchorVerification. Thin: each is one use case, which Postgres decides anew, so that repeating one does no harm.
import type {
  AnchorCheckService,
  AnchorStanding,
  CheckedAnchor,
} from '../src/identity/anchors/anchor-check.service.ts';
import { refuseForGood } from './operator-refusal.ts';

/** @returns one function an activity of anchorVerification, each safe to repeat */
export function createAnchorVerificationActivities({
  anchorChecks,
}: {
  anchorChecks: Pick<AnchorCheckService, 'look' | 'check' | 'fail' | 'requestByOperator'>;
}) {
  return {
    /** Reads how the anchor stands. */
    readAnchor: (anchor: CheckedAnchor): Promise<AnchorStanding> => anchorChecks.look(anchor),

    /** Looks for the proof at its place if that is due, and writes down what it has found. */
    lookForProof: (anchor: CheckedAnchor): Promise<AnchorStanding> => anchorChecks.check(anchor),

    /** The time of a pending anchor is over: writes down that it has failed. */
    failAnchor: (anchor: CheckedAnchor): Promise<AnchorStanding> => anchorChecks.fail(anchor),

    /** An operator asks for a look now. A refusal is final, not to be tried again. */
    requestLook: (anchor: CheckedAnchor, reason: string | null): Promise<void> =>
      refuseForGood(() => anchorChecks.requestByOperator(anchor, reason ?? undefined)),
  };
}

export type AnchorVerificationActivities = ReturnType<typeof createAnchorVerificationActivities>;
