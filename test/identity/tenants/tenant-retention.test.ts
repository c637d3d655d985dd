// How long a tenant's rows are kept: its settings within the operator's bounds.
import { describe, expect, it } from 'vitest';
import { boundsOf, checkRetention, daysOf } from '../../../src/identity/tenants/tenant-retention.ts';

const NONE = { deliveriesDays: null, eventsDays: null, auditAddressesDays: null };
const bounds = boundsOf({ retentionDays: 30 });

describe('the days that hold', () => {
  it("are the operator's for a tenant that has set nothing", () => {
    expect(daysOf(NONE, bounds)).toEqual({ deliveriesDays: 30, eventsDays: 30, auditAddressesDays: null });
    expect(daysOf(NONE, boundsOf({ retentionDays: 9, auditAddressDays: 90 }))).toEqual({
      deliveriesDays: 9,
      eventsDays: 9,
      auditAddressesDays: 90,
    });
  });

  it("are the tenant's own, until the operator keeps rows for a shorter time", () => {
    const own = { deliveriesDays: 5, eventsDays: 20, auditAddressesDays: 400 };
    expect(daysOf(own, bounds)).toEqual(own);
    expect(daysOf(own, boundsOf({ retentionDays: 7, auditAddressDays: 90 }))).toEqual({
      deliveriesDays: 5,
      eventsDays: 7,
      auditAddressesDays: 90,
    });
  });
});

describe('a change', () => {
  it('keeps what it names, and nothing else', () => {
    expect(checkRetention(NONE, { deliveriesDays: 2 }, bounds)).toEqual({ deliveriesDays: 2 });
    expect(checkRetention(NONE, { auditAddressesDays: 1 }, bounds)).toEqual({ auditAddressesDays: 1 });
    expect(checkRetention(NONE, {}, bounds)).toEqual({});
  });

  it("to the operator's value follows the operator from then on", () => {
    expect(checkRetention({ ...NONE, deliveriesDays: 3 }, { deliveriesDays: 30 }, bounds)).toEqual({
      deliveriesDays: null,
    });
  });

  it.each([
    [{ deliveriesDays: 1 }, 'body.retention.deliveries_days', 'must be 2 to 30'],
    [{ eventsDays: 31 }, 'body.retention.events_days', 'must be 2 to 30'],
    [{ auditAddressesDays: 0 }, 'body.retention.audit_addresses_days', 'must be at least 1'],
    [{ eventsDays: 7 }, 'body.retention.events_days', /at least the days of deliveries, 30/],
    [
      { deliveriesDays: 8, eventsDays: 7 },
      'body.retention.events_days',
      /at least the days of deliveries, 8/,
    ],
  ])('to %j is refused with the field and its bounds', (patch, path, message) => {
    const refuse = () => checkRetention(NONE, patch, bounds);
    expect(refuse).toThrow(
      expect.objectContaining({
        code: 'invalid_request',
        errors: [{ path, message: typeof message === 'string' ? message : expect.stringMatching(message) }],
      }),
    );
  });

  it('takes events and deliveries together, and names the bound of an operator who bounds addresses', () => {
    const both = { deliveriesDays: 3, eventsDays: 3 };
    expect(checkRetention(NONE, both, bounds)).toEqual(both);
    const narrow = boundsOf({ retentionDays: 30, auditAddressDays: 90 });
    expect(() => checkRetention(NONE, { auditAddressesDays: 91 }, narrow)).toThrow('must be 1 to 90');
  });
});
