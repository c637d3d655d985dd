// The activities of endpointRecovery. Thin: each is one use case, which Postgres decides anew, so that repeating one does no harm.
import type {
  EndpointName,
  EndpointStanding,
  OperatorStep,
  RecoveryService,
} from '../src/webhooks/endpoints/endpoint-recovery.service.ts';
import { refuseForGood } from './operator-refusal.ts';

/** @returns one function an activity of endpointRecovery, each safe to repeat */
export function createEndpointRecoveryActivities({
  recovery,
}: {
  recovery: Pick<RecoveryService, 'read' | 'perform' | 'probe' | 'operate'>;
}) {
  return {
    /** Reads how the endpoint stands. */
    readEndpoint: (name: EndpointName): Promise<EndpointStanding> => recovery.read(name),

    /** The time has come for the probe that was due at this epoch of the endpoint. */
    probeEndpoint: (name: EndpointName, epoch: number): Promise<EndpointStanding> =>
      recovery.probe(name, epoch),

    /** The endpoint has failed for so long that people are told. */
    warnOfFailingEndpoint: (name: EndpointName): Promise<EndpointStanding> => recovery.perform(name, 'warn'),

    /** The endpoint works again, and people had been warned. */
    announceRecovery: (name: EndpointName): Promise<EndpointStanding> =>
      recovery.perform(name, 'announceRecovery'),

    /** The endpoint has failed for as many days as its subscription allows. */
    deactivateEndpoint: (name: EndpointName): Promise<EndpointStanding> =>
      recovery.perform(name, 'deactivate'),

    /** An operator acts. A refusal is final, not to be tried again. */
    operateEndpoint: (name: EndpointName, step: OperatorStep): Promise<EndpointStanding> =>
      refuseForGood(() => recovery.operate(name, step)),
  };
}

export type EndpointRecoveryActivities = ReturnType<typeof createEndpointRecoveryActivities>;
