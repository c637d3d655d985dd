// How long the rows of a day stay. Pure.

/** Days for which events, deliveries and attempts are kept, ended or not. Source: Specification, "Delivery". */
export const KEPT_DAYS = 30;

/** SQL of the time from which rows are kept. @param days of whole UTC days beside the present one: `$1` */
export const keptFrom = (days: string) =>
  `((now() AT TIME ZONE 'UTC')::date - ${days}::int)::timestamp AT TIME ZONE 'UTC'`;
