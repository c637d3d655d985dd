// For how many days the rows of a tenant are kept: its own settings, within the operator's bounds. Pure.
import { invalidField } from '../../platform/errors/service-error.ts';
import type { Given } from '../../platform/given.ts';

/** `most` is what holds for a tenant without a setting of its own; null: for ever. */
export type Bound<Most = number | null> = { readonly least: number; readonly most: Most };

export type RetentionBounds = {
  readonly deliveriesDays: Bound<number>;
  readonly eventsDays: Bound<number>;
  readonly auditAddressesDays: Bound;
};

export const RETENTION_FIELDS = ['deliveriesDays', 'eventsDays', 'auditAddressesDays'] as const;

/** The settings of a tenant; null: the operator's value. */
export type RetentionSettings = { readonly [Field in (typeof RETENTION_FIELDS)[number]]: number | null };

/** The days that hold; null: for ever. */
export type RetentionDays = { readonly [Field in keyof RetentionBounds]: RetentionBounds[Field]['most'] };

/**
 * Whole days beside the present one: guards read the feed back for the longest life of a token, a day, and the hours of
 * a day are counted from its deliveries.
 */
export const LEAST_DAYS = 2;

/** @param operator the settings RETENTION_DAYS and AUDIT_ADDRESS_DAYS */
export function boundsOf(operator: {
  readonly retentionDays: number;
  readonly auditAddressDays?: number | undefined;
}): RetentionBounds {
  const rows = { least: LEAST_DAYS, most: operator.retentionDays };
  const addresses = { least: 1, most: operator.auditAddressDays ?? null };
  return { deliveriesDays: rows, eventsDays: rows, auditAddressesDays: addresses };
}

/** Returns the days that hold for a tenant: a setting above the operator's value counts as that. */
export function daysOf(settings: RetentionSettings, bounds: RetentionBounds): RetentionDays {
  const { deliveriesDays, eventsDays, auditAddressesDays: addresses } = bounds;
  return {
    deliveriesDays: Math.min(settings.deliveriesDays ?? deliveriesDays.most, deliveriesDays.most),
    eventsDays: Math.min(settings.eventsDays ?? eventsDays.most, eventsDays.most),
    auditAddressesDays: leastOf(settings.auditAddressesDays, addresses.most),
  };
}

/**
 * Returns the settings to store of those that a tenant sent. The operator's value is stored as null, so that it follows
 * the operator: a client may send back what an answer showed.
 * @param nameOf how an error names a field; by default as a body has it
 * @throws ServiceError `invalid_request` that names a field outside its bounds, or events that go before deliveries
 */
export function checkRetention<Patch extends Given<RetentionSettings>>(
  before: RetentionSettings,
  patch: Patch,
  bounds: RetentionBounds,
  nameOf = (field: keyof RetentionSettings): string => `body.retention.${spell(field, '_')}`,
): Patch {
  const stored: Partial<Record<keyof RetentionSettings, number | null>> = {};
  for (const field of RETENTION_FIELDS) {
    const days = patch[field];
    if (days === undefined) continue;
    const { least, most } = bounds[field];
    if (days !== null && (days < least || days > (most ?? days)))
      throw invalidField(
        nameOf(field),
        most === null ? `must be at least ${least}` : `must be ${least} to ${most}`,
      );
    stored[field] = days === most ? null : days;
  }
  if (Object.keys(stored).length === 0) return patch;
  const { deliveriesDays, eventsDays } = daysOf({ ...before, ...stored }, bounds);
  if (eventsDays < deliveriesDays)
    throw invalidField(
      nameOf('eventsDays'),
      `must be at least the days of deliveries, ${deliveriesDays}: a delivery needs its event`,
    );
  return { ...patch, ...stored };
}

/** The name of a field on the wire, or of its option. */
export const spell = (field: keyof RetentionSettings, separator: '-' | '_'): string =>
  field.replace(/[A-Z]/g, (letter) => `${separator}${letter.toLowerCase()}`);

function leastOf(one: number | null, other: number | null): number | null {
  return one === null || other === null ? (one ?? other) : Math.min(one, other);
}
