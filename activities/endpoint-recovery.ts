// The activities of endpointRecovery: each calls one use case.
import type {
  EndpointName,
  EndpointRecoveryService,
  EndpointStanding,
  OperatorStep,
} from '../src/webhooks/endpoints/endpoint-recovery.service.ts';
import { refuseForGood } from './operator-refusal.ts';

/** @returns the activities of endpointRecovery, each safe to repeat */
export function createEndpointRecoveryActivities({
  recovery,
}: {
  recovery: Pick<EndpointRecoveryService, 'read' | 'perform' | 'probe' | 'operate'>;
}) {
  return {
    /** Reads how the endpoint stands. */
    readEndpoint: (name: EndpointName): Promise<EndpointStanding> => recovery.read(name),

    /** Allows the probe that was due at this epoch of the endpoint. */
    probeEndpoint: (name: EndpointName, epoch: number): Promise<EndpointStanding> =>
      recovery.probe(name, epoch),

    /** The endpoint has failed for long: emits a warning. */
    warnOfFailingEndpoint: (name: EndpointName): Promise<EndpointStanding> => recovery.perform(name, 'warn'),

    /** The endpoint works again after a warning: emits an event. */
    announceRecovery: (name: EndpointName): Promise<EndpointStanding> =>
      recovery.perform(name, 'announceRecovery'),

    /** The endpoint has failed for as many days as its subscription allows: deactivates it. */
    deactivateEndpoint: (name: EndpointName): Promise<EndpointStanding> =>
      recovery.perform(name, 'deactivate'),

    /** An operator acts. A refusal is final: it is not tried again. */
    operateEndpoint: (name: EndpointName, step: OperatorStep): Promise<EndpointStanding> =>
      refuseForGood(() => recovery.operate(name, step)),
  };
}

export type EndpointRecoveryActivities = ReturnType<typeof createEndpointRecoveryActivities>;
