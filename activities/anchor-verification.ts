// The activities of anchorVerification: each calls one use case.
import type {
  AnchorCheckService,
  AnchorStanding,
  CheckedAnchor,
} from '../src/identity/anchors/anchor-check.service.ts';
import { refuseForGood } from './operator-refusal.ts';

/** @returns the activities of anchorVerification, each safe to repeat */
export function createAnchorVerificationActivities({
  anchorChecks,
}: {
  anchorChecks: Pick<AnchorCheckService, 'look' | 'check' | 'fail' | 'requestByOperator'>;
}) {
  return {
    /** Reads how the anchor stands. */
    readAnchor: (anchor: CheckedAnchor): Promise<AnchorStanding> => anchorChecks.look(anchor),

    /** Checks for the proof at its place if that is due, and records the outcome. */
    lookForProof: (anchor: CheckedAnchor): Promise<AnchorStanding> => anchorChecks.check(anchor),

    /** The time of a pending anchor is over: records that it has failed. */
    failAnchor: (anchor: CheckedAnchor): Promise<AnchorStanding> => anchorChecks.fail(anchor),

    /** An operator asks for a check now. A refusal is final: it is not tried again. */
    requestLook: (anchor: CheckedAnchor, reason: string | null): Promise<void> =>
      refuseForGood(() => anchorChecks.requestByOperator(anchor, reason ?? undefined)),
  };
}

export type AnchorVerificationActivities = ReturnType<typeof createAnchorVerificationActivities>;
