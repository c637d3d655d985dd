// An entry of the catalogue, and the functions that make entries. Pure.
import { z } from 'zod';
import type { JsonObject } from '../event.ts';
import { exampleOf } from './fields.ts';

/** `data` is the schema of the event's data: exact for a reserved type, otherwise a suggestion. */
export type EventType = {
  readonly type: string;
  readonly category: string;
  readonly description: string;
  readonly reserved: boolean;
  readonly data: z.ZodType;
  readonly example: JsonObject;
};

type Definition = Omit<EventType, 'category'>;

/**
 * Defines a type that the service emits.
 * @param data the exact schema of the data; of a union the example is of its first member
 */
export function emitted(
  type: string,
  description: string,
  data: z.ZodObject | z.ZodDiscriminatedUnion<[z.ZodObject, ...z.ZodObject[]]>,
): Definition {
  const { shape } = data instanceof z.ZodObject ? data : data.options[0];
  return { type, description, reserved: true, data, example: exampleOf(shape) };
}

/** Defines a type that a tenant's systems publish. Its `fields` are a suggestion and are not checked. */
export function published(type: string, description: string, fields: z.ZodRawShape): Definition {
  const data = z.looseObject(fields).partial();
  return { type, description, reserved: false, data, example: exampleOf(fields) };
}

/** Adds the category to its entries. Source: Specification, "Event types". */
export function inCategory(category: string, definitions: readonly Definition[]): EventType[] {
  return definitions.map((definition) => ({ category, ...definition }));
}
