// How long the rows of a day stay. Pure.

/** Days for which events, deliveries and attempts are kept, ended or not. Source: Specification, "Delivery". */
export const KEPT_DAYS = 30;
