// The activities of endpointRecovery. Each calls one use case.
import type {
  EndpointName,
  EndpointRecoveryService,
  OperatorStep,
} from '../src/webhooks/endpoints/endpoint-recovery.service.ts';
import { forOperator } from './operator-request.ts';

export function createEndpointRecoveryActivities({
  recovery,
}: {
  recovery: Pick<EndpointRecoveryService, 'read' | 'perform' | 'probe' | 'operate'>;
}) {
  return {
    readEndpoint: recovery.read,
    /** Lets the probe of this epoch begin. */
    probeEndpoint: recovery.probe,
    /** Enqueues the retries of the endpoint's crowd that are due. */
    sendDueRetries: (name: EndpointName) => recovery.perform(name, 'sendRetries'),
    /** Emits a warning, because the endpoint has failed for long. */
    warnOfFailingEndpoint: (name: EndpointName) => recovery.perform(name, 'warn'),
    /** Emits an event, because the endpoint works again after a warning. */
    announceRecovery: (name: EndpointName) => recovery.perform(name, 'announceRecovery'),
    /** Deactivates the subscription, because its endpoint has failed for as many days as it allows. */
    deactivateEndpoint: (name: EndpointName) => recovery.perform(name, 'deactivate'),
    operateEndpoint: (name: EndpointName, step: OperatorStep) =>
      forOperator(null, (request) => recovery.operate(name, step, request)),
  };
}

export type EndpointRecoveryActivities = ReturnType<typeof createEndpointRecoveryActivities>;
