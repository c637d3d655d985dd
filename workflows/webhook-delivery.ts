// webhookDelivery handles one delivery until its end. Each send reads in Postgres whether an attempt is due, so a
// repeated or late signal changes nothing.
import {
  allHandlersFinished,
  condition,
  continueAsNew,
  defineQuery,
  defineSignal,
  defineUpdate,
  log,
  proxyActivities,
  proxyLocalActivities,
  setCurrentDetails,
  setHandler,
  upsertSearchAttributes,
  workflowInfo,
} from '@temporalio/workflow';
import type { WebhookDeliveryActivities } from '../activities/webhook-delivery.ts';
import { ATTEMPT_PRIORITY, DELIVERY_SIGNALS, SEARCH_ATTRIBUTES } from '../src/platform/temporal/names.ts';
import type { FinalStatus, LastAttempt, SendResult, Step } from '../src/webhooks/deliveries/attempt.ts';
import type { DeliveryStep } from '../src/webhooks/deliveries/delivery.service.ts';
import type {
  DeliveryInput,
  DeliveryResult,
  DeliveryState,
} from '../src/webhooks/deliveries/delivery-input.ts';
import { isSlow } from '../src/webhooks/endpoints/endpoint-speed.ts';
import { checkReason, onCancelRequest, wordHelp, wordTime } from './operator.ts';

/** A person has requested the next attempt now. */
const retryNow = defineSignal(DELIVERY_SIGNALS.retryNow);
/** The delivery was canceled in its row. */
const cancel = defineSignal(DELIVERY_SIGNALS.cancel);
/** The endpoint is open. The argument is its epoch. */
const wake = defineSignal<[number]>(DELIVERY_SIGNALS.wake);
const state = defineQuery<DeliveryState>('state');
/** An operator's updates: retry now, or cancel. The audit log keeps the reason. */
const OPERATOR_STEPS = {
  retry: defineUpdate<void, [reason?: string]>('retry'),
  cancel: defineUpdate<void, [reason?: string]>('cancel'),
} as const;
/** The same steps as signals, because a batch can only send signals. */
const OPERATOR_SIGNALS = {
  retry: defineSignal<[reason?: string]>('operatorRetry'),
  cancel: defineSignal<[reason?: string]>('operatorCancel'),
} as const;

type Update = (typeof OPERATOR_STEPS)[DeliveryStep];

/** The reason in the audit log for a cancellation in Temporal, which gives no reason. */
const CANCELED_IN_TEMPORAL = 'canceled in Temporal';

const HELP = wordHelp(
  { retry: 'sends now', cancel: '(or *Request Cancellation*) stops it for good' },
  'webhook-delivery',
);

/** The most attempts in the details. */
const MOST_SHOWN = 8;

/** In events. A longer history continues as new. */
const LONGEST_HISTORY = 1_000;

const local = proxyLocalActivities<WebhookDeliveryActivities>({
  startToCloseTimeout: '30s',
  // One try only, so that an internal failure does not occupy the workflow task. The normal activity is retried.
  retry: { maximumAttempts: 1 },
});

const forEver = { initialInterval: '1s', backoffCoefficient: 2, maximumInterval: '30s' } as const;
const remote = proxyActivities<WebhookDeliveryActivities>({ startToCloseTimeout: '20s', retry: forEver });

/**
 * Delivers one event to one subscription. Source: Specification, "Delivery" (at least once, Retry-After, retries).
 * @returns the final status; a refusal by the receiver is a result, not a failure of the workflow
 */
export async function webhookDelivery(input: DeliveryInput): Promise<DeliveryResult> {
  const { deliveryId, generation, trace } = input;
  let { n, last, waiting } = input;
  let inTask = input.local;
  let slow = input.slow === true;
  let woken = input.woken ?? -1;
  let grant = input.grant;
  let nudged = false;
  let canceling = false;
  let doing: DeliveryState['doing'] = 'sending';
  let until: string | null = null;
  // The attempt of the search attributes that are already set: by the start, or before the workflow continued as new.
  let shown = last?.n;

  // What operators see of the latest attempts. A time is missing after the workflow continued as new.
  let tried: readonly (LastAttempt & { readonly at?: number })[] = last === undefined ? [] : [last];

  const tell = (text: string): void =>
    setCurrentDetails([text, HELP, ...(tried.length === 0 ? [] : [tableOf(tried)])].join('\n\n'));
  const cause = (): string => (last === undefined ? '' : ` · after ${last.outcome}`);

  const nudge = () => {
    nudged = true;
  };
  setHandler(retryNow, nudge);
  setHandler(cancel, nudge);
  setHandler(wake, (epoch) => {
    if (typeof epoch === 'number') woken = Math.max(woken, epoch);
  });
  setHandler(state, () => ({ nextAttempt: n, doing, until, lastOutcome: last?.outcome ?? null }));

  const operate = async (step: DeliveryStep, reason?: string): Promise<void> => {
    await remote.operateDelivery.executeWithOptions({ summary: `${step} by an operator` }, [
      { tenantId: input.tenantId, id: deliveryId, generation },
      step,
      reason ?? null,
    ]);
    nudge();
  };
  /** Runs a step of a batch or a cancellation. Their caller reads no answer, so a refusal is only logged. */
  const tryTo = async (step: DeliveryStep, reason?: string): Promise<void> => {
    try {
      checkReason(reason);
      await operate(step, reason);
    } catch (error) {
      log.warn('what an operator asked for was refused', { step, error });
    }
  };
  for (const [step, update] of Object.entries(OPERATOR_STEPS) as [DeliveryStep, Update][]) {
    setHandler(update, (reason) => operate(step, reason), { validator: checkReason });
    setHandler(OPERATOR_SIGNALS[step], (reason) => tryTo(step, reason));
  }
  onCancelRequest(async () => {
    canceling = true;
    setCurrentDetails(
      'Cancellation was requested: the delivery is being canceled. An attempt under way ends first.',
    );
    await tryTo('cancel', CANCELED_IN_TEMPORAL);
    canceling = false;
  });

  const wait = async (step: Step): Promise<void> => {
    if (step.kind === 'held') {
      doing = 'held';
      tell(
        `**Held**: attempt ${n} waits until ${input.host} takes deliveries again, see the workflow \`endpoint/${input.subscriptionId}\`.`,
      );
      await condition(() => nudged || woken >= step.epoch);
      grant = woken >= step.epoch ? woken : undefined;
    } else if (step.kind === 'wait' && step.delayMs > 0) {
      doing = 'waiting';
      until = new Date(Date.now() + step.delayMs).toISOString();
      tell(`**Waits**: attempt ${n} is due at ${wordTime(until)} UTC${cause()}.`);
      const summary = `attempt ${n} at ${wordTime(until)}${cause()}`;
      await condition(() => nudged, step.delayMs, { summary });
      until = null;
    }
  };

  const send = async (): Promise<SendResult> => {
    doing = 'sending';
    tell(`**Sends**: attempt ${n} is under way.`);
    const request = { deliveryId, generation, n, grant, trace };
    grant = undefined;
    const summary = `attempt ${n}${cause()}`;
    if (inTask) {
      inTask = false;
      try {
        return await local.sendDelivery.executeWithOptions({ summary }, [request]);
      } catch (error) {
        log.warn('the attempt in the workflow task failed by our own fault; trying as an activity', {
          error,
        });
      }
    }
    return remote.sendDelivery.executeWithOptions({ ...sendOptions(input, n, slow), summary }, [request]);
  };

  /** Writes the search attributes when there is another attempt, or a `failure`: only that one is a status in a view. */
  const show = (failure?: 'failed'): void => {
    const attempts = last?.n ?? 0;
    if (!input.indexed || (failure === undefined && shown === attempts)) return;
    shown = attempts;
    upsertSearchAttributes([
      ...(failure === undefined ? [] : [{ key: SEARCH_ATTRIBUTES.deliveryStatus, value: failure }]),
      ...(last === undefined ? [] : [{ key: SEARCH_ATTRIBUTES.lastOutcome, value: last.outcome }]),
      { key: SEARCH_ATTRIBUTES.attemptCount, value: attempts },
    ]);
  };

  const finish = (status: FinalStatus): DeliveryResult => {
    doing = 'ended';
    const parts = [
      `**Ended**: ${status}; last outcome: ${last?.outcome ?? 'none'}.`,
      ...(status === 'delivered'
        ? []
        : [`It is sent once more by \`countersign operator delivery retry ${deliveryId}\`.`]),
      ...(tried.length === 0 ? [] : [tableOf(tried)]),
    ];
    setCurrentDetails(parts.join('\n\n'));
    // Of the others the result says enough.
    if (status === 'failed') show(status);
    return { status, attempts: last?.n ?? 0, outcome: last?.outcome ?? null };
  };

  const isAlone = (): boolean => allHandlersFinished() && !canceling;

  for (;;) {
    if (waiting !== undefined) await wait(waiting);
    // Signals before this point are dropped, because the send reads their changes.
    nudged = false;
    woken = -1;
    let settled = await send();
    if (settled.kind === 'unrecorded') {
      doing = 'recording';
      tell(`**Records**: attempt ${settled.report.n} was made; its record waits for the database.`);
      const { report } = settled;
      const summary = `the record of attempt ${report.n}`;
      const recorded = await remote.recordAttempt.executeWithOptions({ summary }, [report]);
      settled = { kind: 'settled', ...recorded, slow: isSlow(report.durationMs) };
    }
    if (settled.last !== undefined && settled.last.n !== last?.n)
      tried = [...tried, { ...settled.last, at: Date.now() }].slice(-MOST_SHOWN);
    last = settled.last ?? last;
    slow = settled.slow ?? slow;
    n = Math.max(n, (last?.n ?? 0) + 1);
    waiting = settled.step;
    if (waiting.kind === 'ended') {
      if (!isAlone()) await condition(isAlone);
      return finish(waiting.status);
    }
    show();
    const info = workflowInfo();
    if (info.historyLength >= LONGEST_HISTORY || info.continueAsNewSuggested) {
      if (!isAlone()) await condition(isAlone);
      const now: Step = { kind: 'wait', delayMs: 0 };
      return continueAsNew<typeof webhookDelivery>({
        ...input,
        local: false,
        slow,
        n,
        last,
        woken,
        waiting: nudged ? now : waiting,
      });
    }
  }
}

/** The latest attempts as a table in Markdown, the newest first: the Temporal UI cuts off what is below. */
function tableOf(attempts: readonly (LastAttempt & { readonly at?: number })[]): string {
  const rows = [...attempts]
    .reverse()
    .map(({ n, outcome, at }) => `| ${n} | ${at === undefined ? '' : wordTime(at)} | ${outcome} |`);
  return ['| attempt | ended (UTC) | outcome |', '|---|---|---|', ...rows].join('\n');
}

function sendOptions(
  { attemptsQueue, slowQueue, generation, tenantId }: DeliveryInput,
  n: number,
  slow: boolean,
) {
  const { first, retry, replay } = ATTEMPT_PRIORITY;
  return {
    taskQueue: slow ? slowQueue : attemptsQueue,
    // A send takes up to 15 s. Before and after it the database is read and written.
    startToCloseTimeout: '60s',
    heartbeatTimeout: '6s',
    retry: forEver,
    priority: { priorityKey: generation > 0 ? replay : n > 1 ? retry : first, fairnessKey: tenantId },
  } as const;
}
