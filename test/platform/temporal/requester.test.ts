// The identity of a request is read from a history, whichever way the request came.
import { describe, expect, it } from 'vitest';
import { identityOf } from '../../../src/platform/temporal/requester.ts';

const completed = { workflowTaskCompletedEventAttributes: {} };
const act = (activityId: string) => ({ activityTaskScheduledEventAttributes: { activityId } });
const update = (identity: string) => ({
  workflowExecutionUpdateAcceptedEventAttributes: { acceptedRequest: { meta: { updateId: 'u', identity } } },
});
const signal = (identity: string, signalName = 'operatorRetry') => ({
  workflowExecutionSignaledEventAttributes: { signalName, identity },
});
const cancel = (identity: string) => ({ workflowExecutionCancelRequestedEventAttributes: { identity } });

describe('who requested a step', () => {
  it.each([
    ['an update', [completed, update('jo@ops'), act('2')], 'jo@ops'],
    ['a signal', [completed, signal('jo@ops'), completed, act('2')], 'jo@ops'],
    ['a cancellation', [completed, cancel('jo@ops'), completed, act('2')], 'jo@ops'],
    ['the newest request', [signal('jo'), completed, act('1'), completed, update('al'), act('2')], 'al'],
    ['no later request', [completed, update('jo'), act('1'), completed, update('al'), act('2')], 'jo', '1'],
    ['an update whose step comes later', [completed, update('jo'), completed, completed, act('2')], 'jo'],
    ['two requests of one identity', [signal('jo'), completed, update('jo'), act('2')], 'jo'],
    ['nobody, when two requested together', [completed, update('jo'), update('al'), act('2')], undefined],
    [
      'nobody, when a signal came with an update',
      [signal('jo'), completed, update('al'), act('2')],
      undefined,
    ],
    ['nobody, for a signal of our own', [signal('relay', 'changed'), completed, act('2')], undefined],
    ['nobody, without an identity', [completed, update(''), act('2')], undefined],
    ['nobody, after the workflow continued as new', [completed, act('2')], undefined],
    ['visible characters only', [completed, update('jo\n\u202eops'), act('2')], 'joops'],
    ['128 characters of it', [completed, update('x'.repeat(1_000)), act('2')], 'x'.repeat(128)],
  ])('%s', (_, events, expected, id = '2') => {
    expect(identityOf(events, id)).toBe(expected);
  });
});
