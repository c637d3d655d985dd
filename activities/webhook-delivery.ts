// The activities of webhookDelivery. Each calls one use case. An attempt sends heartbeats and can be aborted.
// docs/decisions/0007-attempts.md
import { Context } from '@temporalio/activity';
import type { AttemptService } from '../src/webhooks/deliveries/attempt.service.ts';
import type {
  AttemptReport,
  AttemptRequest,
  RecordResult,
  SendResult,
} from '../src/webhooks/deliveries/attempt.ts';
import type { AttemptRecordService } from '../src/webhooks/deliveries/attempt-record.service.ts';
import type {
  DeliveryService,
  DeliveryStep,
  OperatedDelivery,
} from '../src/webhooks/deliveries/delivery.service.ts';
import { forOperator } from './operator-request.ts';

/** In milliseconds. The heartbeat time-out is three times as long. */
const HEARTBEAT = 2_000;

/** @returns activities of which only a POST can happen twice, and only when its process died during the POST */
export function createWebhookDeliveryActivities({
  attempts,
  attemptRecords,
  deliveries,
}: {
  attempts: Pick<AttemptService, 'send'>;
  attemptRecords: Pick<AttemptRecordService, 'record'>;
  deliveries: Pick<DeliveryService, 'operate'>;
}) {
  return {
    /** Makes and records an attempt, or returns the reason why no attempt is due. */
    sendDelivery: async (request: AttemptRequest): Promise<SendResult> => {
      const { info, heartbeat, cancellationSignal } = Context.current();
      const timer = info.isLocal ? undefined : setInterval(heartbeat, HEARTBEAT);
      try {
        return await attempts.send(request, { workflow: true, signal: cancellationSignal });
      } finally {
        clearInterval(timer);
      }
    },

    /** Records an attempt that was made while the database was unreachable. */
    recordAttempt: (report: AttemptReport): Promise<RecordResult> =>
      attemptRecords.record(report, { workflow: true }),

    operateDelivery: (name: OperatedDelivery, step: DeliveryStep, reason: string | null): Promise<void> =>
      forOperator(reason, (request) => deliveries.operate(name, step, request)),
  };
}

export type WebhookDeliveryActivities = ReturnType<typeof createWebhookDeliveryActivities>;
